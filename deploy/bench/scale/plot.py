# SPDX-License-Identifier: BSD-2-Clause
"""Figures 4 and 5: points are measured, lines are the queueing model fitted to them."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deploy.bench.scale.fit import models
from deploy.bench.scale.measure import Point
from deploy.bench.scale.table import NOTES, UNIT, shared_delays
from deploy.results import kinds
from deploy.results.figure import MARKERS, plain_axes, publish, subplots
from topology.model.fit import Fit

Fits = Mapping[tuple[str, float], Fit]


def plot_scale(points: Sequence[Point], fits: Fits, mode: str, output: Path) -> None:
    """The first lock over all its delays; beside it all locks at delays that they share, where there are several."""
    locks = list(dict.fromkeys(point.lock for point in points))
    first = max(locks, key=lambda lock: len({point.delay for point in points if point.lock == lock}))
    panels: list[tuple[str, dict[str, list[Point]]]] = []
    mine = [point for point in points if point.lock == first]
    if len({point.delay for point in mine}) > 1 or len(locks) == 1:
        by_delay = {f"delay {d:g}": [p for p in mine if p.delay == d] for d in sorted({p.delay for p in mine})}
        panels.append((f"{first}, by delay (Figure 4)", by_delay))
    for delay in shared_delays(points):
        by_lock = {lock: [p for p in points if p.lock == lock and p.delay == delay] for lock in locks}
        panels.append((f"delay {delay:g}, by lock (Figure 5)", by_lock))
    figure, grid = subplots(1, len(panels), figsize=(6.6 * len(panels), 5.0), squeeze=False)
    served = models(fits)
    for axes, (title, series) in zip(grid[0], panels):
        lines = {p.lock for values in series.values() for p in values} & set(served)
        services = ", ".join(f"{served[lock].form.service:.0f} ({lock})" for lock in locks if lock in lines)
        axes.set_title(title + (f"\nlines: model with service {services}" if services else ""), size=9)
        for number, (label, values) in enumerate(series.items()):
            _curve(axes, values, fits, label, number)
        plain_axes(axes, (point.cores for point in points), f"kernel entries in {UNIT:,} cycles")
        axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    emulated = kinds.of_clock(points[0].clock, points[0].emulated, " ")
    note = "Elphinstone et al. 2016, section 5.1.2. " + " ".join(f"{mode}. {NOTES[points[0].clock]}".split())
    publish(figure, output, f"Independent ping-pong on every core{emulated}",
            textwrap.fill(note, width=int(21 * figure.get_figwidth())), 0.13)


def _value(point: Point) -> float:
    return UNIT * point.throughput


def _curve(axes: Any, points: Sequence[Point], fits: Fits, label: str, number: int) -> None:
    colour, marker = f"C{number % 10}", MARKERS[number % len(MARKERS)]
    ordered = sorted(points, key=lambda point: point.cores)
    cores = [point.cores for point in ordered]
    clusters, delay = ordered[0].clusters, ordered[0].delay
    fit, model = fits.get((ordered[0].lock, delay)), models(fits).get(ordered[0].lock)
    axes.plot(cores, [_value(point) for point in ordered], marker, color=colour, markersize=4, label=label)
    if starved := [point for point in ordered if point.starved]:
        places = [point.cores for point in starved], [_value(point) for point in starved]
        axes.plot(*places, "x", color="black", markersize=8, label=f"{label}: cores starved")
    if fit:
        sizes = range(1, max(cores) // clusters + 1)
        line = [model.throughput(delay, n) if model else fit.throughput(n) for n in sizes]
        axes.plot([n * clusters for n in sizes], [UNIT * clusters * x for x in line], color=colour, linewidth=1)
    elif ordered[0].lock == "none":  # one core only: the best that n of them could do
        most = axes.get_xlim()[1]
        axes.plot([0, most], [0, _value(ordered[0]) / cores[0] * most], ":", color=colour, linewidth=1)
    else:
        axes.plot(cores, [_value(point) for point in ordered], "--", color=colour, linewidth=0.7)
