# SPDX-License-Identifier: BSD-2-Clause
"""Service and delay that explain a measured curve best: least squares on throughput (Elphinstone 2016, 5.1.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from topology import demand
from topology.errors import InputError
from topology.model import regimes
from topology.model.measured import Curve
from topology.model.regimes import ClosedForm

LOOSE = 0.25  # a standard error above this share of the value: the data do not say it


@dataclass(frozen=True)
class Parameter:
    value: float
    error: float  # standard error; nan where there are no points to spare

    @property
    def is_loose(self) -> bool:
        return self.error > LOOSE * self.value


@dataclass(frozen=True)
class Fit:
    curve: Curve
    service: Parameter
    delay: Parameter
    transfer: Parameter | None  # of locks whose hand-over takes longer the more wait
    r_squared: float  # nan when every measured throughput is the same
    worst: float  # largest relative deviation of a point

    @property
    def form(self) -> ClosedForm:
        return _form(self.curve.lock, [p.value for p in (self.service, self.delay, self.transfer) if p])

    def throughput(self, cores: int) -> float:
        return self.form.steady(self.delay.value, cores).throughput


def needed(curve: Curve) -> int:
    """Different core counts without which a fit says nothing: one more than there are parameters."""
    return 4 if regimes.collapses(curve.lock) else 3


def can_fit(curve: Curve) -> bool:
    return curve.lock in regimes.NAMES and curve.sizes >= needed(curve)


def why_not(curve: Curve) -> str:
    if curve.lock not in regimes.NAMES:
        return f"{curve.name}: {regimes.WHY_NOT.get(curve.lock, 'a lock that no model knows')}"
    return f"{curve.name}: {curve.sizes} different core counts, {needed(curve)} are needed"


def fit(curve: Curve) -> Fit:
    if not can_fit(curve):
        raise InputError("fit", why_not(curve))
    demand.module("scipy", "science")
    from scipy.optimize import least_squares  # half a second to load

    sizes = [cores for cores, _ in curve.points]
    measured = [throughput for _, throughput in curve.points]
    top = max(measured)

    def residuals(logs: Sequence[float]) -> list[float]:
        values = [math.exp(x) for x in logs]
        form = _form(curve.lock, values)
        modelled = {n: form.steady(values[1], n).throughput for n in set(sizes)}
        return [(modelled[n] - x) / top for n, x in zip(sizes, measured)]

    # Logarithms keep every parameter above 0. Beyond the limits a parameter has no influence that could be seen.
    start = [math.log(value) for value in _guess(curve)]
    limits = [x - 25 for x in start], [x + 25 for x in start]
    solution = least_squares(residuals, start, bounds=limits, xtol=1e-14, ftol=1e-14, gtol=1e-14, x_scale="jac")
    values = [math.exp(x) for x in solution.x]
    parameters = [Parameter(v, v * e) for v, e in zip(values, _errors(solution.jac, solution.fun))]
    mean = sum(measured) / len(measured)
    spread = sum((x - mean) ** 2 for x in measured)
    squares = sum((r * top) ** 2 for r in solution.fun)
    return Fit(
        curve,
        service=parameters[0],
        delay=parameters[1],
        transfer=parameters[2] if len(parameters) > 2 else None,
        r_squared=1 - squares / spread if spread > (1e-9 * top) ** 2 else math.nan,
        worst=max(abs(r) * top / x for r, x in zip(solution.fun, measured)),
    )


def _form(lock: str, values: Sequence[float]) -> ClosedForm:
    return ClosedForm(lock, values[0], values[2]) if len(values) > 2 else ClosedForm(lock, values[0])


def _guess(curve: Curve) -> list[float]:
    """Service from the highest point, as if it were saturated; delay from the smallest cluster, as if nobody waited."""
    service = 1 / max(throughput for _, throughput in curve.points)
    cores, throughput = min(curve.points)
    guess = [service, max(cores / throughput - service, service / 10)]
    return [*guess, service / 5] if regimes.collapses(curve.lock) else guess


def _errors(jacobian: Any, residuals: Any) -> list[float]:
    """Standard errors of the logarithms, which are the parameters' relative ones: sqrt(diag(s^2 (J'J)^-1))."""
    demand.module("numpy", "science")
    import numpy

    spare = len(residuals) - jacobian.shape[1]
    if spare < 1:
        return [math.nan] * jacobian.shape[1]
    variance = float(residuals @ residuals) / spare
    covariance = numpy.linalg.pinv(jacobian.T @ jacobian, rcond=1e-18) * variance
    return [math.sqrt(max(0.0, covariance[i, i])) for i in range(jacobian.shape[1])]
