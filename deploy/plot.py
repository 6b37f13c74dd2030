# SPDX-License-Identifier: BSD-2-Clause
"""A comparison as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topology import demand

demand.module("matplotlib", "plots")
import matplotlib  # noqa: E402

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402  (the backend must be chosen first)

from deploy.picture import save  # noqa: E402
from deploy.results import DISTORTED, Result  # noqa: E402

_COLOURS = ("#1b6ca8", "#d97925", "#5a9e4b", "#8a5a9e")
_PANELS = (
    ("cpu_utilisation", "CPU utilisation", 100.0, "%"),
    ("p99_us", "p99 latency", 1.0, "µs"),
    ("kernel_entries_per_s", "kernel entries", 1e-3, "thousand/s"),
    ("lock_conflict_ratio", "lock conflicts", 100.0, "% of acquisitions"),
)


def _throughput(axes: Any, results: Sequence[Result]) -> None:
    """Stacked by core, so that one sees whether all cores do their part."""
    for x, result in enumerate(results):
        bottom = 0.0
        for i, core in enumerate(c for c in result.per_core if c["ops_per_s"]):
            height = core["ops_per_s"] / 1000
            axes.bar(x, height, bottom=bottom, width=0.6, color=_COLOURS[i % len(_COLOURS)], edgecolor="white")
            axes.text(x, bottom + height / 2, f"core {core['core']}", ha="center", va="center", color="white", size=8)
            bottom += height
        axes.text(x, bottom, f"{result.metrics['ops_per_s']:,.0f}", ha="center", va="bottom", size=9)
    axes.set_title("operations")
    axes.set_ylabel("thousand/s")


def _bars(axes: Any, results: Sequence[Result], metric: str, title: str, scale: float, unit: str) -> None:
    values = [result.metrics[metric] * scale for result in results]
    bars = axes.bar(range(len(values)), values, width=0.6, color=_COLOURS[0])
    axes.bar_label(bars, fmt="{:,.3g}", size=9)
    axes.set_title(title)
    axes.set_ylabel(unit)


def plot(results: Sequence[Result], mode: str, output: Path) -> None:
    """One panel for each figure, one bar for each layout and workload."""
    width = 0.9 + 1.05 * len(results)  # inches of a panel
    shown = [panel for panel in _PANELS if not (panel[0] in DISTORTED and any(r.turns for r in results))]
    figure, panels = pyplot.subplots(1, 1 + len(shown), figsize=(width * (1 + len(shown)), 4.2))
    names = [f"{r.layout}\n{r.workload.upper()}" for r in results]
    _throughput(panels[0], results)
    for axes, panel in zip(panels[1:], shown):
        _bars(axes, results, *panel)
    for axes in panels:
        axes.set_xticks(range(len(names)), names)
        axes.margins(y=0.12)
        axes.spines[["top", "right"]].set_visible(False)
    first = results[0]
    emulated = "emulated: compare ratios only\n" if first.emulated and not first.modelled else ""
    figure.suptitle(f"Redis under YCSB, {first.cores} cores, lock {' and '.join(dict.fromkeys(r.lock for r in results))}", x=0.01, ha="left", weight="bold")
    figure.text(0.01, 0.01, f"{emulated}{mode}", size=7, color="#555555")
    figure.tight_layout(rect=(0, 0.06, 1, 0.97))
    save(figure, output)
