# SPDX-License-Identifier: BSD-2-Clause
"""A comparison as a picture that can be printed: bars that differ in grey, too, and the interval of the ratio over
images as a whisker."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deploy.compare import tornado
from deploy.compare.images import Spread
from deploy.compare.interval import Interval
from deploy.compare.prices import Bar
from deploy.compare.tables import pairs, ratios
from deploy.results.figure import save, subplots
from deploy.results.kinds import bracketed
from deploy.results.result import DISTORTED, Result

# By layout, in the order of the results. The first two are far apart in grey; hatches tell the others apart.
COLOURS = ("#1f4e79", "#f2b27a", "#7a9a56", "#b9a3c9")
HATCHES = ("", "//", "..", "xx")
_PANELS = (
    ("p99_us", "p99 latency", 1.0, "µs"),
    ("kernel_entries_per_op", "kernel entries", 1.0, "an operation"),
    ("lock_conflict_ratio", "lock found taken", 100.0, "% of acquisitions"),
    ("instructions_per_op", "instructions", 1e-3, "thousand an operation"),
)
Spreads = Mapping[str, Spread]  # of a ratio over images, by metric


def number(value: float) -> str:
    """Whole from a hundred on, else with three digits; never with an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def scaled(most: float) -> tuple[float, str]:
    """Returns the factor by which values up to `most` are drawn, and the word before their unit that says so."""
    return (1e-6, "million ") if most >= 1e6 else (1e-3, "thousand ") if most >= 1e4 else (1.0, "")


def _values(results: Sequence[Result], metric: str, counting: bool = True) -> list[float] | None:
    """None: a result has no such figure, or not one that is true of a machine."""
    figures = [(r.observed.to_json() if r.observed and counting else {}).get(metric, r.metrics.get(metric))
               for r in results]
    if any(value is None for value in figures) or metric in DISTORTED and any(r.round_robin for r in results):
        return None
    return [float(value) for value in figures if value is not None]


def bars_of(axes: Any, results: Sequence[Result], values: Sequence[float], title: str, unit: str) -> None:
    layouts = list(dict.fromkeys(r.layout for r in results))
    for x, (result, value) in enumerate(zip(results, values)):
        place = layouts.index(result.layout) % len(COLOURS)
        axes.bar(x, value, width=0.62, color=COLOURS[place], hatch=HATCHES[place], edgecolor="black", linewidth=0.6)
        axes.annotate(number(value), (x, value), (0, 2), textcoords="offset points", ha="center", va="bottom", size=8)
    axes.set_title(title, size=9)
    axes.set_ylabel(unit, size=8)
    axes.set_ylim(0, 1.15 * (max(values) or 1))


def _cores(axes: Any, results: Sequence[Result], scale: float, unit: str) -> None:
    """A dot for each core with clients: whether all do their part."""
    most = 1.0
    for x, result in enumerate(results):
        values = [core["ops_per_s"] * scale for core in result.per_core if core["ops_per_s"]]
        spread = [x + 0.3 * (2 * (n + 0.5) / len(values) - 1) for n in range(len(values))]
        axes.plot(spread, values, "o", markersize=2.5, mfc="none", mec="black", mew=0.6)
        most = max(most, *values)
    axes.set_title("of each core", size=9)
    axes.set_ylabel(unit, size=8)
    axes.set_ylim(0, 1.15 * most)


def _ratios(axes: Any, compared: Sequence[tuple[Result, Result]], spreads: Sequence[Spreads]) -> None:
    """The ratio of operations per second, with its interval where several images were measured."""
    for y, (first, second) in enumerate(compared):
        alone = Spread(ratios(first, second)["ops_per_s"], None, None)
        spread = (spreads[y] if y < len(spreads) else {}).get("ops_per_s", alone)
        ratio, interval = spread.median, spread.interval or Interval(spread.median, spread.median)
        low, high = min(interval.low, ratio), max(interval.high, ratio)
        axes.errorbar(ratio, y, xerr=[[ratio - low], [high - ratio]] if high > low else None, fmt="o", color="black",
                      capsize=4, linewidth=1.2)
        label = f"{ratio:.2f}" + (f" ({low:.2f} to {high:.2f})" if high > low else "")
        axes.annotate(label, (ratio, y), (0, 6), textcoords="offset points", ha="center", size=8)
    axes.axvline(1, color="black", linewidth=0.7, linestyle=":")
    names = (
        [f"{a.layout} ÷\n{b.layout}" + (f", {a.workload.upper()}"
                                        if len({r.workload for pair in compared for r in pair}) > 1 else "")
                                        for a, b in compared]
    )
    axes.set_yticks(range(len(compared)), names, size=8)
    axes.set_ylim(-0.6, len(compared) - 0.4)
    axes.invert_yaxis()
    axes.margins(x=0.35)
    axes.set_title("operations per second, ratio", size=9)


def plot(results: Sequence[Result], mode: str, output: Path, spreads: Sequence[Spreads] = (),
         bars: Sequence[Bar] = ()) -> None:
    """`spreads`: of the ratios of pairs(results) over images, where there are some. `bars`: which prices move the first
    ratio."""
    scale, times = scaled(max(r.metrics["ops_per_s"] for r in results))
    unit = f"{times.strip() or '1'}/s"
    known = [(values, title, by, unit_of) for metric, title, by, unit_of in _PANELS
             if (values := _values(results, metric))]
    compared = pairs(results)
    widths = [*([2.6] if compared else []), *([2.8] if bars else []),
              *[0.9 + 0.55 * len(results)] * (2 + len(known))]
    figure, panels = subplots(1, len(widths), figsize=(0.5 + sum(widths), 3.4), gridspec_kw={"width_ratios": widths})
    named = iter(panels)
    if compared:
        _ratios(next(named), compared, spreads)
    if bars:
        tornado.draw(next(named), bars)
    upright = list(named)
    bars_of(upright[0], results, [r.metrics["ops_per_s"] * scale for r in results], "operations", unit)
    _cores(upright[1], results, 1e-3, "thousand/s")
    for axes, (values, title, by, unit_of) in zip(upright[2:], known):
        bars_of(axes, results, [value * by for value in values], title, unit_of)
    several = len({r.workload for r in results}) > 1
    names = [r.layout.replace("-", "-\n") + (f"\n{r.workload.upper()}" if several else "") for r in results]
    for axes in upright:
        axes.set_xticks(range(len(names)), names, size=7)
        axes.set_xlim(-0.6, len(names) - 0.4)
    for axes in panels:
        axes.tick_params(axis="both", labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    first = results[0]
    kind = bracketed(first.emulated, first.modelled["machine"] if first.modelled else None, " ")
    locks = " and ".join(dict.fromkeys(r.lock for r in results))
    figure.suptitle(f"{first.served_by} under YCSB {first.workload.upper() if not several else ''}, "
                    f"{first.cores} cores, lock {locks}{kind}".replace(" ,", ","),
                    x=0.01, ha="left", weight="bold", size=10)  # fmt: skip
    ranged = "Whisker: 95 % over images. " * any(spread.interval for one in spreads for spread in one.values())
    figure.text(0.01, 0.01, textwrap.fill(f"{ranged}{mode}", int(20 * figure.get_figwidth())), size=6, color="#444444")
    figure.tight_layout(rect=(0, 0.07, 1, 0.97), w_pad=0.6)
    save(figure, output)
