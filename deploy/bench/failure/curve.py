# SPDX-License-Identifier: BSD-2-Clause
"""Operations a second as a curve that grows in a terminal: a panel for each cluster, in block characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
