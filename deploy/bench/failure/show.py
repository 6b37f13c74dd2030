# SPDX-License-Identifier: BSD-2-Clause
"""One end of a cluster, to be looked at: the load's curve as it happens, in block characters or as lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.live import Live
from rich.text import Text

from deploy.base.terminal import Output
from deploy.bench.failure.load import SLOT_NS
from deploy.bench.failure.scene import Fate, Kill, Scene, on_stage
from deploy.machine.run import Run
from deploy.results.survival import Survivor

WIDTH = 80
LABEL = 9  # columns of the scale to the left
HEIGHT = 5  # lines of a panel
_BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass
class Panel:
    """One cluster's rates, one for each step of time."""

    title: str
    rates: list[float] = field(default_factory=list)


def bars(rates: Sequence[float], most: float, columns: int, height: int = HEIGHT) -> list[str]:
    """The last `columns` rates, the topmost line first; a rate above 0 is seen, however small."""
    levels = len(_BLOCKS) - 1
    shown = rates[-columns:]
    eighths = [min(height * levels, max(1, round(rate / most * height * levels))) if rate > 0 and most > 0 else 0
               for rate in shown]
    return [
        "".join(_BLOCKS[min(levels, max(0, one - line * levels))] for one in eighths).ljust(columns)
        for line in reversed(range(height))
    ]  # fmt: skip


def draw(panels: Sequence[Panel], step: float, words: Sequence[str], width: int = WIDTH) -> list[str]:
    """Lines of `width` columns at most: each panel on the same scale, the time below, the last `words` at the end."""
    columns = max(10, width - LABEL - 1)
    most = max((rate for panel in panels for rate in panel.rates[-columns:]), default=0.0)
    steps = max((len(panel.rates) for panel in panels), default=0)
    drawn: list[str] = []
    for panel in panels:
        now = panel.rates[-1] if panel.rates else 0.0
        drawn.append(f"{panel.title}: {now:,.0f} requests/s"[:width])
        for number, line in enumerate(bars(panel.rates, most, columns)):
            scale = _short(most) if number == 0 else "0" if number == HEIGHT - 1 else ""
            drawn.append(f"{scale:>{LABEL - 1}} |{line}".rstrip())
    drawn.append(_axis(steps, step, columns)[:width])
    return drawn + [word[:width] for word in words]


def _short(rate: float) -> str:
    """In fewer columns than LABEL."""
    return f"{rate:,.0f}" if rate < 999_999 else f"{rate:.1e}"


def _axis(steps: int, step: float, columns: int) -> str:
    first = max(0, steps - columns) * step
    last = f"{steps * step:.0f} s"
    begin = f"{first:.0f} s"
    room = min(columns, max(steps, len(begin) + 1 + len(last))) - len(begin) - len(last)
    return " " * (LABEL + 1) + begin + " " * max(1, room) + last


STEP_SLOTS = 2  # steps of the load's time line in a column of the curve
STEP = STEP_SLOTS * SLOT_NS / 1e9
_FRAMES = 8  # a second
_WORDS = 4   # lines of what happened, below the curve


class Show:
    def __init__(self, scene: Scene, output: Output) -> None:
        self.scene, self._output = scene, output
        self._begun = time.monotonic()
        self._said: list[str] = []
        self._plain = True

    def say(self, text: str) -> None:
        line = f"{time.monotonic() - self._begun:5.1f} s  {text[:1].upper()}{text[1:]}."
        self._said.append(line)
        if self._plain:
            self._output.line(line)

    def panels(self) -> list[Panel]:
        """Whole steps only: the last one has not come to its end."""
        by_cluster: dict[int, list[float]] = {}
        for name, load in self.scene.loads.items():
            counts = load.survivor().counts
            rates = [sum(counts[at : at + STEP_SLOTS]) / STEP for at in range(0, len(counts) - STEP_SLOTS, STEP_SLOTS)]
            cluster = self.scene.cluster_of(name)
            before = by_cluster.get(cluster)
            by_cluster[cluster] = rates if before is None else [a + b for a, b in zip(before, rates)]
        return [Panel(f"Cluster {number}", rates) for number, rates in sorted(by_cluster.items())]

    def frame(self, width: int = WIDTH) -> Text:
        return Text("\n".join(draw(self.panels(), STEP, self._said[-_WORDS:], min(WIDTH, width))), no_wrap=True)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """The curve is drawn until the block is left; without a terminal there is a line each second."""
        console = self._output.out
        if console.is_terminal and not self._output.quiet:
            self._plain = False
            with Live(get_renderable=lambda: self.frame(console.width), console=console, refresh_per_second=_FRAMES,
                      vertical_overflow="crop"):
                yield
            return
        over = threading.Event()
        lines = threading.Thread(target=self._lines, args=(over,), daemon=True)
        if not self._output.quiet:
            lines.start()
        try:
            yield
        finally:
            over.set()
            if lines.is_alive():
                lines.join()

    def _lines(self, over: threading.Event) -> None:
        each = round(1 / STEP)
        while not over.wait(1.0):
            rates = [f"cluster {p.title.split()[-1]}: {sum(p.rates[-each:]) / each:6,.0f} requests/s"
                     for p in self.panels()]
            self._output.line(f"{time.monotonic() - self._begun:5.1f} s  {'   '.join(rates)}")


def play(run: Run, kill: Kill, after: float, output: Output) -> tuple[Fate, list[Survivor]]:
    """`after`: seconds of load when all serve again."""
    with on_stage(run, kill.number) as scene:
        show = Show(scene, output)
        with show.shown():
            fate = scene.kill(kill, show.say)
            end = time.monotonic() + after
            run.wait_for(lambda: time.monotonic() >= end, "the end")
            scene.check()
        return fate, [load.survivor() for load in scene.loads.values()]


def sentences(fate: Fate) -> Sequence[str]:
    """Returns a summary for viewers of the curve."""
    fence = "" if fate.fence_ms is None else f", fenced within {fate.fence_ms} ms"
    errors = "no error" if not fate.survivor_errors else f"{fate.survivor_errors} errors"
    return (
        f"Cluster {fate.kill.cluster}: its loss was told after {fate.detect_ms / 1e3:.2f} s ({fate.reason}){fence}, "
        f"a new life reported {fate.after_ms} ms later; all its Redis answered {fate.pong_ms / 1e3:.2f} s after the "
        f"order.",
        f"The others: {fate.survivor_requests:,} requests during that time, {errors}, longest answer "
        f"{fate.survivor_longest_ms:.0f} ms; in the calm before it {fate.usual_longest_ms:.0f} ms.",
    )
