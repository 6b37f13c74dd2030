# SPDX-License-Identifier: BSD-2-Clause
"""Results of the queueing models, in the shape that every results file has."""

import math
from collections.abc import Iterable
from typing import Any

from deploy.results import result
from topology.model import repairman
from topology.model.closed import Steady
from topology.model.fit import Fit, Parameter
from topology.model.plan import Advice
from topology.model.regimes import ClosedForm, collapses
from topology.model.simulation.outcome import Outcome

Bounds = tuple[float, float] | None


def document(command: str, entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return result.document(command, result.without_machine("a model: nothing was measured here"), [], entries)


def entry(lock: str, model: str, cores: int, metrics: dict[str, Any]) -> dict[str, Any]:
    """One kernel on `cores` cores."""
    return {"layout": "spanning", "lock": lock, "system": "skerry", "model": model, "clusters": 1, "cores": cores,
            "metrics": metrics, "per_core": []}


def prediction(form: ClosedForm, delay: float, steady: Steady, bounds: Bounds) -> dict[str, Any]:
    metrics = {
        "delay_cycles": delay,
        "service_cycles": form.service,
        "throughput_per_cycle": steady.throughput,
        "lock_utilisation": steady.utilisation,
        "queue_length": steady.queue_length,
        "wait_cycles": steady.wait,
        "speedup": steady.speedup,
    }
    if collapses(form.lock):
        metrics["transfer_cycles"] = form.transfer
    else:
        metrics["knee_cores"] = repairman.knee(form.service, delay)
    if bounds:
        for name, service in zip(("upper", "lower"), bounds):
            bound = ClosedForm(form.lock, service, form.transfer).steady(delay, steady.cores)
            metrics[f"throughput_{name}_bound_per_cycle"] = bound.throughput
    return entry(form.lock, form.model, steady.cores, metrics)


def fitted(fit: Fit) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    for name, parameter in parameters(fit).items():
        metrics[f"{name}_cycles"] = parameter.value
        metrics[f"{name}_error_cycles"] = _or_none(parameter.error)
    metrics |= {
        "nominal_delay_cycles": fit.curve.nominal_delay,
        "r_squared": _or_none(fit.r_squared),
        "worst_deviation": fit.worst,
        "points": len(fit.curve.points),
    }
    fields = entry(fit.curve.lock, fit.form.model, max(cores for cores, _ in fit.curve.points), metrics)
    return fields | ({"emulated": True} if fit.curve.emulated else {})


def parameters(fit: Fit) -> dict[str, Parameter]:
    every = {"service": fit.service, "delay": fit.delay, "transfer": fit.transfer}
    return {name: parameter for name, parameter in every.items() if parameter}


def simulated(lock: str, delay: float, outcome: Outcome, closed: float) -> dict[str, Any]:
    """`closed`: what the closed form says to the same question."""
    counted = outcome.counts["commits"] + outcome.counts["fallbacks"]
    metrics = {
        "delay_cycles": delay,
        "service_cycles": outcome.service,
        "throughput_per_cycle": outcome.throughput.mean,
        "throughput_half_width_per_cycle": outcome.throughput.half_width,
        "closed_form_per_cycle": closed,
    }
    if counted:
        metrics["conflicts_per_entry"] = outcome.counts["aborts_conflict"] / counted
        metrics["lock_aborts_per_entry"] = outcome.counts["aborts_lock"] / counted
        metrics["fallback_ratio"] = outcome.counts["fallbacks"] / counted
    return entry(lock, "simulation", outcome.cores, metrics)


def planned(lock: str, model: str, delay: float, service: float, limit: float, advice: Advice) -> list[dict[str, Any]]:
    """One result for each cluster size of the curve; the advice stands beside them."""
    asked = {"delay_cycles": delay, "service_cycles": service}
    return [
        entry(lock, model, point.cores, asked | {"throughput_per_cycle": point.throughput, "loss": point.loss})
        | {"crosses_cache": point.crosses, "within_limit": point.loss <= limit}
        for point in advice.curve
    ]


def _or_none(value: float) -> float | None:
    """JSON has no nan."""
    return None if math.isnan(value) or math.isinf(value) else value
