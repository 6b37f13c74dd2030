# SPDX-License-Identifier: BSD-2-Clause
"""How clients fared that survive the loss of their server (`[ycsb] survive`): gaps, what stayed unanswered, a time
line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.base.errors import Failure
from deploy.machine.events import Event, EventStream
from deploy.results.figure import save, subplots

COLUMNS = 60  # columns of a line of text
_LEVELS = " ▁▂▃▄▅▆▇█"
_COLOURS = ("#1b6ca8", "#d97925", "#5a9e4b", "#8a5a9e")


@dataclass(frozen=True)
class Survivor:
    """One client. Times in nanoseconds, on one clock for all clients of a machine."""

    client: str
    server: str
    start_ns: int
    slot_ns: int
    counts: tuple[int, ...]  # answers in each slot
    gaps: tuple[tuple[int, int], ...]  # from the last answer before a loss to the first one after it
    reads: int  # unanswered
    updates: int  # unanswered: carried out or not
    lives: int  # the server's lives; 1: it was not started again
    forgotten: int  # reads that found a record missing or in part, in a later life

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.slot_ns * len(self.counts)

    def to_json(self) -> dict[str, Any]:
        return vars(self)

    def __str__(self) -> str:
        if not self.gaps:
            return f"{self.client}: {self.server} was never lost"
        longest = max(end - start for start, end in self.gaps) / 1e9
        times = "once" if len(self.gaps) == 1 else f"{len(self.gaps)} times"
        born = (
            "" if self.lives == 1 else f", started again {self.lives - 1} times"
            if self.lives > 2 else ", started again"
        )
        losses = f"; {self.forgotten} reads found records that it had lost" if self.forgotten else ""
        return (
            f"{self.client}: {self.server} was lost {times}, for {longest:.3f} s at most{born}; "
            f"without an answer: {self.reads} reads, {self.updates} updates{losses}"
        )


def collect(events: EventStream) -> list[Survivor]:
    """Returns the survivors by name; raises Failure where a part did not arrive."""
    summaries: dict[str, Event] = {}
    parts: dict[str, dict[int, list[int]]] = {}
    gaps: dict[str, list[tuple[int, int]]] = {}
    servers: dict[str, str] = {}
    for event in events.of("result"):
        app, data = event["app"], event["data"]
        kind = data.get("event")
        if kind == "gap":
            gaps.setdefault(app, []).append((int(data["start_ns"]), int(data["end_ns"])))
        elif kind == "timeline":
            parts.setdefault(app, {})[data["part"]] = data["counts"]
        elif kind == "survival":
            summaries[app] = data
        elif kind == "ycsb":
            servers[app] = str(data["server"])
    return [_survivor(app, data, parts.get(app, {}), gaps.get(app, []), servers.get(app, "?"))
            for app, data in sorted(summaries.items())]


def _survivor(app: str, data: Any, parts: dict[int, list[int]], gaps: list[tuple[int, int]], server: str) -> Survivor:
    expected = int(data["timeline_parts"])
    if sorted(parts) != list(range(1, expected + 1)):
        raise Failure(f"{app}: of {expected} parts of its time line {len(parts)} arrived")
    if len(gaps) != data["gaps"]:
        raise Failure(f"{app}: of {data['gaps']} gaps {len(gaps)} arrived")
    counts = tuple(count for part in range(1, expected + 1) for count in parts[part])
    numbers = {key: int(data[key]) for key in ("start_ns", "slot_ns", "reads", "updates", "lives", "forgotten")}
    return Survivor(client=app, server=server, counts=counts, gaps=tuple(gaps), **numbers)


def line(of: Survivor, start_ns: int, end_ns: int) -> str:
    """Answers over a time, a character for each of COLUMNS parts: the fullest part is █, an empty one a space."""
    width = max(1, (end_ns - start_ns) / COLUMNS)
    columns = [0.0] * COLUMNS
    for number, count in enumerate(of.counts):
        at = of.start_ns + number * of.slot_ns - start_ns
        first, last = at / width, (at + of.slot_ns) / width
        for column in range(int(first), min(COLUMNS, int(last) + 1)):
            columns[column] += count * max(0.0, min(last, column + 1) - max(first, column)) / (last - first)
    most = max(columns) or 1.0
    steps = len(_LEVELS) - 1
    return "".join(_LEVELS[min(steps, max(1, round(column / most * steps)) if column else 0)] for column in columns)


def lines(survivors: Sequence[Survivor]) -> list[str]:
    """Returns a sentence and a time line for each, for a terminal."""
    if not survivors:
        return []
    start, end = min(s.start_ns for s in survivors), max(s.end_ns for s in survivors)
    texts = [f"Answers over {(end - start) / 1e9:.2f} s:"]
    for one in survivors:
        texts += [f"|{line(one, start, end)}|", f"  {one}"]
    return texts


def plot(survivors: Sequence[Survivor], output: Path, clock: str = "the machine's clock") -> None:
    """Operations a second over time, a panel for each client, gaps shaded. `clock`: whose time they tell."""
    start = min(s.start_ns for s in survivors)
    figure, panels = subplots(len(survivors), 1, figsize=(8, 1 + 1.6 * len(survivors)), sharex=True, squeeze=False)
    for axes, one, colour in zip(panels[:, 0], survivors, _COLOURS * len(survivors)):
        times = [(one.start_ns - start + i * one.slot_ns) / 1e9 for i in range(len(one.counts) + 1)]
        axes.stairs([count / one.slot_ns * 1e9 for count in one.counts], times, fill=True, color=colour)
        for begin, end in one.gaps:
            axes.axvspan((begin - start) / 1e9, (end - start) / 1e9, color="#cccccc", alpha=0.6)
            axes.text((begin + end - 2 * start) / 2e9, 0.9, f"{(end - begin) / 1e9:.2f} s",
                      transform=axes.get_xaxis_transform(), ha="center", size=8)
        axes.set_title(f"{one.client}, server {one.server}", size=9, loc="left")
        axes.set_ylabel("operations/s", size=8)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1, 0].set_xlabel(f"seconds of {clock}")
    figure.tight_layout()
    save(figure, output)
