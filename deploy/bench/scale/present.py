# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench scale` as tables and plots: all delays under one lock (Figure 4), all locks at one delay (Figure 5)."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.bench.scale.fit import Model, models
from deploy.bench.scale.measure import FIGURE_4, FIGURE_5, Key, Point, figure_5_delays, key_of
from deploy.emulator import lockstep
from deploy.results import kinds
from deploy.results.figure import MARKERS, plain_axes, publish, subplots
from deploy.results.tables import add_rows, plain_table
from topology.model import repairman
from topology.model.fit import Fit, Parameter

UNIT = 1000  # cycles
Fits = Mapping[tuple[str, float], Fit]
Ranges = Mapping[Key, tuple[float, float]]

NOTES = {
    "step": (
        f"Emulated: every core executes one instruction a cycle, in the kernel none more than {lockstep.QUANTUM} "
        f"ahead of\n"
        "another. So this shows cores that queue for the lock, by the instructions for which it is held. It does not\n"
        "show what moving cache lines costs: no collapse of a ticket lock, no second socket, no transactions.\n"
        "Compare figures of one run with each other, and with no real machine's."
    ),
    "modelled": "Cycles of the modelled machine. What the model leaves out: docs/modelled.md.",
    "tsc": "Cycles of the TSC; one virtual core on each of the host's.",
}
STARVED = (
    "starved: so many cores came through no round trip while the others did. The figure is the others' throughput; "
    "fits leave it out."
)
RANGED = "Below a figure, in brackets: its range when what lines cost that move between cores is halved and doubled."


def tables(points: Sequence[Point], fits: Fits, ranged: Ranges | None = None) -> list[Table]:
    """Returns the tables for which there are points."""
    locks = list(dict.fromkeys(point.lock for point in points))
    delays = sorted({point.delay for point in points})
    made = []
    for lock in locks:
        mine = [point for point in points if point.lock == lock]
        if len(delays) == 1 and len(locks) > 1 or {point.delay for point in mine} != set(delays):
            continue
        made.append(_delays(mine, fits, ranged or {}))
    for delay in shared_delays(points):
        made.append(_locks([point for point in points if point.delay == delay], fits, ranged or {}))
    notes = [*([RANGED] if ranged else []), *([STARVED] if any(point.starved for point in points) else [])]
    made[-1].caption = "\n".join([NOTES[points[0].clock], *notes, _figures(points)])
    made[-1].caption_justify = "left"
    return made


def shared_delays(points: Sequence[Point]) -> list[float]:
    """Figure 5's, of those that all locks have; none where there is but one lock."""
    locks = {point.lock for point in points}
    shared = (d for d in {p.delay for p in points} if {p.lock for p in points if p.delay == d} == locks)
    return figure_5_delays(shared) if len(locks) > 1 else []


def _figures(points: Sequence[Point]) -> str:
    text = f"Stands for {FIGURE_4}" + (f" {FIGURE_5}" if shared_delays(points) else "")
    return textwrap.fill(text, 112)


def _table(points: Sequence[Point], title: str, columns: Sequence[str]) -> Table:
    emulated = kinds.of_clock(points[0].clock, points[0].emulated)
    layout = points[0].layout if points[0].clusters == 1 else f"{points[0].layout}, {points[0].clusters} clusters"
    return plain_table(f"{title}: kernel entries in {UNIT:,} cycles, all cores together; {layout}{emulated}",
                       ("cores", *columns))


def _cell(point: Point, ranged: Ranges) -> str:
    value = f"{UNIT * point.throughput:.3f}" + (f"  starved: {len(point.starved)}" if point.starved else "")
    if bounds := ranged.get(key_of(point)):
        value += f"\n({UNIT * bounds[0]:.3f} to {UNIT * bounds[1]:.3f})"
    return f"{value}  {point.conflicts:.1%} conflicts" if point.counted else value


def _delays(points: Sequence[Point], fits: Fits, ranged: Ranges) -> Table:
    lock = points[0].lock
    delays = sorted({point.delay for point in points})
    table = add_rows(_table(points, lock, [f"delay {delay:g}" for delay in delays]),
                     {(point.cores, point.delay): point for point in points}, delays, lambda p: _cell(p, ranged))
    fitted = [fits.get((lock, delay)) for delay in delays]
    _fit_rows(table, fitted)
    _model_rows(table, fitted, models(fits).get(lock))
    return table


def _locks(points: Sequence[Point], fits: Fits, ranged: Ranges) -> Table:
    delay = points[0].delay
    locks = list(dict.fromkeys(point.lock for point in points))
    table = add_rows(_table(points, f"Delay {delay:g}", locks),
                     {(point.cores, point.lock): point for point in points}, locks, lambda p: _cell(p, ranged))
    _fit_rows(table, [fits.get((lock, delay)) for lock in locks])
    return table


def _fit_rows(table: Table, fitted: Sequence[Fit | None]) -> None:
    """Each curve fitted by itself."""
    if not any(fitted):
        return
    table.add_section()
    table.add_row("service fitted", *[_parameter(fit.service if fit else None) for fit in fitted], style="dim")
    table.add_row("delay fitted", *[_parameter(fit.delay if fit else None) for fit in fitted], style="dim")
    table.add_row("R²", *[f"{fit.r_squared:.4f}" if fit else "-" for fit in fitted], style="dim")


def _model_rows(table: Table, fitted: Sequence[Fit | None], model: Model | None) -> None:
    """All curves of a lock with one service time, as the paper predicts all from that of 2,000 cycles."""
    if model is None:
        return
    delays = [(fit.curve.nominal_delay or 0.0) + model.outside if fit else None for fit in fitted]
    knees = [repairman.knee(model.form.service, delay) if delay is not None else None for delay in delays]
    title = f"with service {model.form.service:,.0f}, of delay {model.fitted_at:g}"
    table.add_section()
    table.add_row(f"{title}: worst point", *[f"{model.worst(f.curve):.1%}" if f else "-" for f in fitted], style="dim")
    table.add_row("knee, cores of a kernel", *[f"{knee:.1f}" if knee is not None else "-" for knee in knees],
                  style="dim")


def _parameter(parameter: Parameter | None) -> str:
    if parameter is None:
        return "-"
    return "not determined" if parameter.is_loose else f"{parameter.value:,.0f} ± {parameter.error:,.0f}"


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
