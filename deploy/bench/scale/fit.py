# SPDX-License-Identifier: BSD-2-Clause
"""Fits the queueing models to `skerry bench scale`: each lock and delay is a curve, fitted where it can be."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.bench.scale.measure import Point
from topology.model import fit as fitting
from topology.model.fit import Fit
from topology.model.measured import Curve
from topology.model.regimes import ClosedForm


def curves(points: Sequence[Point]) -> list[Curve]:
    """Returns the curves as `skerry model fit` reads them: a cluster's cores and its share of the throughput."""
    made: dict[tuple[str, float], Curve] = {}
    for point in points:
        if point.starved:
            continue  # the model's clients all get their turn
        key = point.lock, point.delay
        curve = made.setdefault(key, Curve(*key, point.emulated, modelled=point.clock == "modelled"))
        curve.points.append((point.cores // point.clusters, point.throughput / point.clusters))
    return list(made.values())


def fits(points: Sequence[Point]) -> dict[tuple[str, float], Fit]:
    """Returns the fits by lock and delay."""
    return {
        (curve.lock, curve.nominal_delay or 0.0): fitting.fit(curve)
        for curve in curves(points)
        if fitting.can_fit(curve)
    }


@dataclass(frozen=True)
class Model:
    """One service time for all delays of a lock, as the papers' Figure 4 has it: that of the delay that says it
    best."""

    form: ClosedForm
    fitted_at: float  # delay
    outside: float  # cycles between two entries besides the delay: the ways in and out, the program

    def throughput(self, delay: float, cores: int) -> float:
        return self.form.steady(delay + self.outside, cores).throughput

    def worst(self, curve: Curve) -> float:
        """Largest relative deviation of a measured point."""
        delay = curve.nominal_delay or 0.0
        return max(abs(self.throughput(delay, n) / measured - 1) for n, measured in curve.points)


def models(by_curve: Mapping[tuple[str, float], Fit]) -> dict[str, Model]:
    """Returns a model by lock, for locks whose service is determined by some delay's points."""
    best: dict[str, Model] = {}
    errors: dict[str, float] = {}
    for (lock, delay), fit in by_curve.items():
        error = fit.service.error / fit.service.value
        if fit.service.is_loose or math.isnan(error) or error >= errors.get(lock, math.inf):
            continue
        errors[lock] = error
        best[lock] = Model(fit.form, delay, fit.delay.value - delay)
    return best
