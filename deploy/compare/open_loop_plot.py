# SPDX-License-Identifier: BSD-2-Clause
"""Latency over offered load of both layouts in one picture that can be printed in grey."""

import textwrap
from pathlib import Path
from typing import Any

from deploy.compare.open_loop import KEPT, Curve, OpenLoop
from deploy.compare.plot import COLOURS
from deploy.results.figure import MARKERS, plain_axes, publish, subplots, ticker

LINES = (("p50_us", ":"), ("p99_us", "-"), ("p999_us", "--"))


def plot(measured: OpenLoop, mode: str, output: Path) -> None:
    figure, (left, right) = subplots(1, 2, figsize=(9.0, 3.8), gridspec_kw={"width_ratios": [2.2, 1]})
    scale, unit = (1e6, "million/s") if measured.most >= 1e6 else (1e3, "thousand/s")
    for place, curve in enumerate(measured.curves):
        _latencies(left, curve, place, scale)
        right.plot([point.offered / scale for point in curve.points], [point.rate / scale for point in curve.points],
                   marker=MARKERS[place], color=COLOURS[place], mec="black", mew=0.5, label=curve.layout)
    left.axhline(measured.bound, color="black", linewidth=0.7, linestyle=(0, (1, 3)))
    left.annotate(f"{measured.bound:,.0f} µs", (0.01, measured.bound), (0, 2), xycoords=("axes fraction", "data"),
                  textcoords="offset points", size=7)
    left.set_yscale("log")
    left.yaxis.set_major_formatter(ticker().FuncFormatter(lambda value, _: f"{value:,.0f}"))
    left.yaxis.set_minor_formatter(ticker().NullFormatter())
    left.set_ylabel("latency from the arrival, µs")
    left.spines[["top", "right"]].set_visible(False)
    left.legend(fontsize=7, frameon=False)
    offered = [point.offered / scale for point in measured.curves[0].points]
    right.plot(offered, offered, color="black", linewidth=0.7, linestyle=":", label="offered")
    plain_axes(right, label=f"done, {unit}")
    right.legend(fontsize=7, frameon=False)
    for axes in (left, right):
        axes.set_xlabel(f"offered, {unit}")
        axes.set_xlim(left=0)
    note = f"Whisker: p99 of another image (95 %). Empty: saturated, less than {KEPT:.0%} of the offered rate is done."
    publish(figure, output, f"Redis under {measured.title}", textwrap.fill(f"{note} {mode}", 180), bottom=0.05)


def _latencies(axes: Any, curve: Curve, place: int, scale: float) -> None:
    offered = [point.offered / scale for point in curve.points]
    for metric, style in LINES:
        values = [point.quantiles[metric] for point in curve.points]
        name = {"p50_us": "p50", "p99_us": "p99", "p999_us": "p99.9"}[metric]
        axes.plot(offered, values, linestyle=style, color=COLOURS[place], label=f"{curve.layout}, {name}")
    for at, point in zip(offered, curve.points):
        axes.errorbar(at, point.p99.median, yerr=[[end] for end in point.p99.whiskers], marker=MARKERS[place], mec="black", mew=0.5, capsize=3, linewidth=0.9,
                      color=COLOURS[place], mfc="white" if point.saturated else COLOURS[place])
