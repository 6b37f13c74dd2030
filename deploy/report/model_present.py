# SPDX-License-Identifier: BSD-2-Clause
"""The queueing models' answers as tables and curves; throughput is entries in 1,000 cycles."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.report.model_results import Bounds, parameters
from deploy.results.figure import plain_axes, publish, subplots
from deploy.results.tables import plain_table
from topology.model import repairman, ticket
from topology.model.fit import Fit, Parameter
from topology.model.plan import Advice
from topology.model.regimes import ClosedForm, collapses

UNIT = 1000  # cycles; throughput is shown per so many


def _table(title: str, *columns: str) -> Table:
    return plain_table(title, columns)


def predictions(form: ClosedForm, delays: Sequence[float], cores: Sequence[int], bounds: Bounds) -> Table:
    """A row for each number of cores, a column for each delay; where the curves bend stands below."""
    transfer = f", {form.transfer:g} for each reload" if collapses(form.lock) else ""
    title = f"{form.lock}: kernel entries in {UNIT:,} cycles; service {form.service:g} cycles{transfer} ({form.model})"
    table = _table(title, "cores", *[f"delay {delay:g}" for delay in delays])
    for n in cores:
        table.add_row(str(n), *[f"{UNIT * form.steady(delay, n).throughput:.3f}" for delay in delays])
    table.add_section()
    if collapses(form.lock):
        peaks = [ticket.collapse(form.service, form.transfer, delay, max(cores)) for delay in delays]
        table.add_row("most at", *[str(peak.cores) if peak else f"over {max(cores)}" for peak in peaks])
        return table
    for service in sorted({form.service, *(bounds or ())}):
        table.add_row(f"knee at {service:g}", *[f"{repairman.knee(service, delay):.1f}" for delay in delays])
    return table


def fits(fitted: Sequence[Fit]) -> Table:
    names = list(dict.fromkeys(name for fit in fitted for name in parameters(fit)))
    columns = [f"{name}, cycles" for name in names]
    every = {fit.curve.kind for fit in fitted}
    common = every.pop() if len(every) == 1 else ""
    table = _table(f"Least squares on throughput{f', {common}' if common else ''}", "lock", "told delay", "points",
                   *columns, "R²", "worst point")
    for fit in fitted:
        nominal = "-" if fit.curve.nominal_delay is None else f"{fit.curve.nominal_delay:g}"
        values = [_parameter(parameters(fit).get(name)) for name in names]
        r_squared = "-" if math.isnan(fit.r_squared) else f"{fit.r_squared:.4f}"
        emulated = f"\n{fit.curve.kind}" if fit.curve.kind and not common else ""
        points = f"{len(fit.curve.points)} of {fit.curve.sizes} sizes"
        table.add_row(fit.curve.lock + emulated, nominal, points, *values, r_squared, f"{fit.worst:.1%}")
    return table


def _parameter(parameter: Parameter | None) -> str:
    if parameter is None:
        return "-"
    error = "" if math.isnan(parameter.error) else f" ± {parameter.error:,.1f}"
    return f"{parameter.value:,.1f}{error}"


def simulations(lock: str, entries: Sequence[Mapping[str, Any]]) -> Table:
    """Simulated beside closed form."""
    counted = "fallback_ratio" in entries[0]["metrics"]
    extra = ("conflicts", "aborts", "fallbacks") if counted else ()
    title = f"{lock}: simulated kernel entries in {UNIT:,} cycles, with 95 % confidence; service in cycles"
    title += "; conflicts, lock aborts and fallbacks of an entry" if counted else ""
    table = _table(title, "delay", "cores", "simulated", "service", "closed", "ratio", *extra)
    table.padding = (0, 0) if counted else (0, 1)  # all nine columns fit 80
    last = None
    for item in entries:
        m = item["metrics"]
        if last not in (None, m["delay_cycles"]):
            table.add_section()
        last = m["delay_cycles"]
        done, closed = m["throughput_per_cycle"], m["closed_form_per_cycle"]
        counts = [
            f"{m[name]:.4f}" for name in ("conflicts_per_entry", "lock_aborts_per_entry", "fallback_ratio") if counted
        ]
        simulated = f"{UNIT * done:.3f} ± {UNIT * m['throughput_half_width_per_cycle']:.3f}"
        table.add_row(f"{m['delay_cycles']:g}", str(item["cores"]), simulated, f"{m['service_cycles']:.1f}",
                      f"{UNIT * closed:.3f}", f"{done / closed:.3f}", *counts)
    return table


def plan_curve(advice: Advice, limit: float) -> Table:
    table = _table("One kernel over N cores, socket after socket", "cores", "shared cache",
                   f"entries in {UNIT:,} cycles", "lost to the lock", "limit")
    for point in advice.curve:
        table.add_row(str(point.cores), "no" if point.crosses else "yes", f"{UNIT * point.throughput:.3f}",
                      f"{point.loss:.2%}", "" if point.loss <= limit else "over",
                      style="bold" if point.cores == advice.largest else None)
    return table


BOUNDED = (500.0, 4000.0)  # the delays of Elphinstone's Figure 4(b)


def _curve(form: ClosedForm, delay: float, cores: Sequence[int]) -> list[float]:
    return [UNIT * form.steady(delay, n).throughput for n in cores]


def _finish(figure: Any, panels: Sequence[Any], title: str, output: Path) -> None:
    for axes in panels:
        axes.set_xlabel("cores")
        plain_axes(axes, label="kernel entries in 1,000 cycles")
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    publish(figure, output, title, "", 0, 0.97)


def plot_predictions(
    form: ClosedForm, delays: Sequence[float], cores: Sequence[int], bounds: Bounds, output: Path
) -> None:
    """Elphinstone's Figure 4: the curves, and beside them the bounds of two sockets."""
    figure, grid = subplots(1, 2 if bounds else 1, figsize=(14 if bounds else 7, 4.6), squeeze=False)
    panels = list(grid[0])
    for delay in delays:
        panels[0].plot(
            cores, _curve(form, delay, cores), label=f"delay {delay:g}", marker="." if len(cores) < 3 else None
        )
    panels[0].set_title(f"service {form.service:g} cycles")
    if bounds:
        chosen = [delay for delay in delays if delay in BOUNDED] or [delays[0], delays[len(delays) // 2]]
        for number, delay in enumerate(dict.fromkeys(chosen)):
            upper, lower = (_curve(ClosedForm(form.lock, s, form.transfer), delay, cores) for s in bounds)
            panels[1].fill_between(cores, lower, upper, color=f"C{number}", alpha=0.25)
            for values, service, style in ((upper, bounds[0], "-"), (lower, bounds[1], "--")):
                panels[1].plot(cores, values, style, color=f"C{number}", label=f"delay {delay:g}, service {service:g}")
        panels[1].set_title(f"two sockets: service between {bounds[0]:g} and {bounds[1]:g} cycles")
    _finish(figure, panels, f"{form.lock}: {form.model} model", output)


def plot_fits(fits: Sequence[Fit], output: Path) -> None:
    """Points are measured, lines are the model."""
    figure, axes = subplots(figsize=(8, 4.6))
    for number, fit in enumerate(fits):
        sizes, measured = zip(*sorted(fit.curve.points))
        cores = range(1, max(sizes) + 1)
        axes.plot(sizes, [UNIT * x for x in measured], "o", color=f"C{number}", markersize=4)
        label = f"{fit.curve.name}: service {fit.service.value:.0f}"
        axes.plot(cores, [UNIT * fit.throughput(n) for n in cores], color=f"C{number}", label=label)
    kinds = " and ".join(dict.fromkeys(fit.curve.kind for fit in fits if fit.curve.kind))
    _finish(figure, [axes], f"Measured and fitted{f' ({kinds})' if kinds else ''}", output)


def plot_plan(advice: Advice, limit: float, title: str, output: Path) -> None:
    figure, axes = subplots(figsize=(8, 4.6))
    sizes = [point.cores for point in advice.curve]
    axes.plot(sizes, [UNIT * p.throughput for p in advice.curve], marker=".", label="with the lock")
    ideal = [UNIT * p.throughput / (1 - p.loss) for p in advice.curve]
    axes.plot(sizes, ideal, ":", color="#555555", label="nobody waits")
    axes.plot(sizes, [x * (1 - limit) for x in ideal], "--", color="#d97925", label=f"{100 * limit:g} % of it lost")
    axes.axvline(advice.largest, color="#5a9e4b", linewidth=1, label=f"largest cluster: {advice.largest}")
    _finish(figure, [axes], title, output)
