# SPDX-License-Identifier: BSD-2-Clause
"""The queueing models' answers as tables."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from deploy.report.model_results import Bounds, parameters
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
        table.add_row(
            f"{m['delay_cycles']:g}",
            str(item["cores"]),
            f"{UNIT * done:.3f} ± {UNIT * m['throughput_half_width_per_cycle']:.3f}",
            f"{m['service_cycles']:.1f}",
            f"{UNIT * closed:.3f}",
            f"{done / closed:.3f}",
            *counts,
        )
    return table


def plan_curve(advice: Advice, limit: float) -> Table:
    table = _table(
        "One kernel over N cores, socket after socket",
        "cores",
        "shared cache",
        f"entries in {UNIT:,} cycles",
        "lost to the lock",
        "limit",
    )
    for point in advice.curve:
        table.add_row(
            str(point.cores),
            "no" if point.crosses else "yes",
            f"{UNIT * point.throughput:.3f}",
            f"{point.loss:.2%}",
            "" if point.loss <= limit else "over",
            style="bold" if point.cores == advice.largest else None,
        )
    return table
