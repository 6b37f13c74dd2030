# SPDX-License-Identifier: BSD-2-Clause
"""Which groups of prices move a ratio, as a panel of the comparison's picture: a bar for each, the longest on top."""

from collections.abc import Sequence
from math import floor, log10
from typing import Any

from deploy.compare.prices import Bar

LOW, HIGH = "#f2b27a", "#1f4e79"  # far apart in grey


def draw(axes: Any, bars: Sequence[Bar]) -> None:
    """Each bar reaches from the ratio's factor at the low end of a group's prices to that at the high end."""
    for place, bar in enumerate(bars):
        for factor, colour in ((bar.low, LOW), (bar.high, HIGH)):
            axes.barh(place, factor - 1, left=1, height=0.7, color=colour, edgecolor="black", linewidth=0.4)
    axes.axvline(1, color="black", linewidth=0.7)
    axes.set_yticks(range(len(bars)), [bar.group for bar in bars])
    axes.invert_yaxis()
    longest = max(bar.size - 1 for bar in bars)
    axes.set_xlim(1 - 1.08 * longest, 1 + 1.08 * longest)
    unit = 10.0 ** floor(log10(longest))
    mark = unit * floor(longest / unit)
    axes.set_xticks([1 - mark, 1, 1 + mark])
    axes.set_title("low (light), high prices", size=9)
    axes.set_xlabel("times the ratio", size=8)
