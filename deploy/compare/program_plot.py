# SPDX-License-Identifier: BSD-2-Clause
"""Metrics of programs under several layouts as a picture: each ratio with its intervals, which prices move the first,
and the values."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deploy.compare import tornado
from deploy.compare.plot import bars_of, scaled
from deploy.compare.programs import Beside, Layout
from deploy.machine.program_output import LOWER
from deploy.results.figure import save, subplots
from deploy.results.kinds import bracketed

METRICS = 6  # the most whose values are drawn


def _ratios(axes: Any, compared: Sequence[Beside]) -> None:
    """A row for each metric of each pair: its interval over images is a whisker, that over prices a broad grey bar."""
    rows = [(f"{metric}\n{pair.first.name} ÷\n{pair.second.name}", spread, pair.prices(metric))
            for pair in compared for metric, spread in pair.spreads.items()]
    for y, (_, spread, prices) in enumerate(rows):
        if prices:
            axes.barh(y, prices.high - prices.low, left=prices.low, height=0.34, color="#cccccc")
        low, high = spread.whiskers
        ends = [[low], [high]] if low or high else None
        axes.errorbar(spread.median, y, xerr=ends, fmt="o", color="black", capsize=4, linewidth=1.2)
        axes.annotate(f"{spread.median:.2f}", (spread.median, y), (0, 9), textcoords="offset points", ha="center",
                      size=8)
    axes.axvline(1, color="black", linewidth=0.7, linestyle=":")
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], size=7)
    axes.set_ylim(-0.6, max(1, len(rows)) - 0.4)
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_title("times as good", size=9)


def _note(compared: Sequence[Beside], mode: str) -> str:
    images = any(spread.interval for pair in compared for spread in pair.spreads.values())
    prices = any(pair.studies for pair in compared)
    return f"{'Whisker: 95 % over images. ' * images}{'Grey: 95 % over prices. ' * prices}{mode}"


def plot(layouts: Sequence[Layout], compared: Sequence[Beside], mode: str, output: Path) -> None:
    """Draws all ratios and up to METRICS metrics; values are medians over images."""
    metrics = list(layouts[0].metrics.values())[:METRICS]
    results = [layout.medians for layout in layouts]
    bars = compared[0].bars if compared else []
    rows = sum(len(pair.spreads) for pair in compared)
    widths = [*([2.6] if rows else []), *([2.8] if bars else []), *[0.9 + 0.55 * len(layouts)] * len(metrics)]
    figure, panels = subplots(1, len(widths), squeeze=False, gridspec_kw={"width_ratios": widths},
                              figsize=(max(4.0, 0.5 + sum(widths)), max(3.4, 1.4 + 0.5 * rows)))
    axes_of = iter(panels[0])
    if rows:
        _ratios(next(axes_of), compared)
    if bars:
        tornado.draw(next(axes_of), bars)
    names = [layout.name.replace("-", "-\n").replace(" ", "\n") for layout in layouts]
    for axes, metric in zip(axes_of, metrics):
        values = [result.metrics[metric.name] for result in results]
        scale, times = scaled(max(values))
        unit = f"{times}{metric.unit}{', less is better' * (metric.better == LOWER)}"
        bars_of(axes, results, [value * scale for value in values], metric.name, unit)
        axes.set_xticks(range(len(names)), names, size=7)
        axes.set_xlim(-0.6, len(names) - 0.4)
    for axes in panels[0]:
        axes.tick_params(axis="both", labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    first = results[0]
    kind = bracketed(first.emulated, first.modelled["machine"] if first.modelled else None, " ")
    locks = " and ".join(dict.fromkeys(result.lock for result in results))
    figure.suptitle(f"{first.workload}, {first.cores} cores, lock {locks}{kind}", x=0.01, ha="left", weight="bold",
                    size=10)
    width = int(20 * figure.get_figwidth())
    figure.text(0.01, 0.01, textwrap.fill(_note(compared, mode), width), size=6, color="#444444")
    figure.tight_layout(rect=(0, 0.07, 1, 0.97), w_pad=0.6)
    save(figure, output)
