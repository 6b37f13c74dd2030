# SPDX-License-Identifier: BSD-2-Clause
"""The suite as a picture: a whisker for each row, its kind by the marker."""

from collections.abc import Sequence
from pathlib import Path

from deploy.compare.suite import Outcome
from deploy.compare.suite_rows import LABELS
from deploy.results.figure import MARKERS, publish, subplots

GREYS = ("#1f4e79", "#c9732b", "#7a9a56", "#777777")


def plot(outcomes: Sequence[Outcome], output: Path, mode: str) -> None:
    """Ratios on a logarithmic axis: twice as much is as far from 1 as half as much."""
    figure, axes = subplots(figsize=(7.2, 1.4 + 0.27 * len(outcomes)))
    for place, label in enumerate(LABELS):
        rows = [(y, one.spread) for y, one in enumerate(outcomes) if one.row.label == label]
        if not rows:
            continue
        axes.errorbar([s.median for _, s in rows], [y for y, _ in rows], xerr=[*zip(*(s.whiskers for _, s in rows))], fmt=MARKERS[place], capsize=3,
                      color=GREYS[place], label=label, linewidth=1)
    first, second = outcomes[0].pair.first.name, outcomes[0].pair.second.name
    axes.axvline(1, color="black", linewidth=0.7, linestyle=":")
    axes.set_yticks(range(len(outcomes)), [one.row.name for one in outcomes], size=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = [0.5, 0.7, 1, 1.4, 2, 3]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, loc="best")
    publish(figure, output, f"{first} ÷ {second}", f"Whisker: 95 % over images. {mode}", bottom=0.05)
