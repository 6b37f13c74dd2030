# SPDX-License-Identifier: BSD-2-Clause
"""Latency over offered load: operations arrive at a rate, whether their client is ready for them or not.

A closed run says what each layout can do at most. Then the same operations arrive at shares of the larger of these
rates, in a Poisson process; a latency begins at the arrival, so that waits behind a late operation are in it. All
layouts have the same arrivals and images; each image has arrivals of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from statistics import median
from typing import Any

from rich.table import Table

from deploy.base.parallel import Call
from deploy.base.partial import Parts
from deploy.compare.images import Spread
from deploy.compare.runs import Follower, at_once, kernel, run_all, run_once, with_kernel
from deploy.compare.unpriced import kernels
from deploy.load.case import RedisCase
from deploy.machine.qemu import Accel
from deploy.results import ycsb
from deploy.results.kinds import bracketed
from deploy.results.result import Result
from deploy.results.tables import plain_table

SHARES = (0.2, 0.4, 0.55, 0.7, 0.85, 1.1)  # of the rate of the layout that does most in a closed loop
QUICK_SHARES = (0.2, 0.5, 0.8, 1.1)
IMAGES, QUICK_IMAGES = 4, 2  # by default; each has its own arrivals, too
OPERATIONS = 60  # of each client that are measured
KEPT = 0.98  # of the arrivals' pace: below it a layout is saturated
BOUND = 5  # times the lowest median latency: p99's bound, where no option names one
ERROR = 0.01  # of a latency, the histogram's: two significant digits (apps/ycsb/client.h)
QUANTILES = ("p50_us", "p99_us", "p999_us", "max_us")


@dataclass(frozen=True)
class Point:
    """A layout at an offered load, operations a second: one result for each image."""

    offered: float
    results: tuple[Result, ...]

    def values(self, metric: str) -> list[float]:
        return [result.metrics[metric] for result in self.results]

    @property
    def rate(self) -> float:
        """Returns the operations a second that were done, at most the offered ones: a backlog from before the
        measured operations adds nothing."""
        return self.offered * min(1.0, self.pace)

    @property
    def pace(self) -> float:
        return median(self.values("pace_ratio"))

    @property
    def saturated(self) -> bool:
        return self.pace < KEPT

    @property
    def p99(self) -> Spread:
        return Spread.of(self.values("p99_us"))

    @property
    def quantiles(self) -> dict[str, float]:
        """Returns p99 as the median over images, the others of the operations of all images together."""
        pooled = ycsb.pooled(result.latency_us or () for result in self.results)
        return {"p50_us": ycsb.percentile(pooled, 50), "p99_us": self.p99.median,
                "p999_us": ycsb.percentile(pooled, 99.9), "max_us": max(self.values("max_us"))}

    def to_json(self) -> dict[str, Any]:
        draws = [{metric: result.metrics[metric] for metric in ("ops_per_s", "pace_ratio", *QUANTILES)}
                 for result in self.results]
        return {"offered_ops_per_s": self.offered, "ops_per_s": self.rate, "pace_ratio": self.pace,
                "saturated": self.saturated, **self.quantiles, "p99": self.p99.to_json(), "draws": draws}


@dataclass(frozen=True)
class Curve:
    """A layout over all loads, the lowest first."""

    closed: Result
    points: tuple[Point, ...]

    @property
    def layout(self) -> str:
        return self.closed.layout

    @property
    def capacity(self) -> float:
        """Returns the operations a second of the closed run."""
        return self.closed.metrics["ops_per_s"]

    @property
    def name(self) -> str:
        return f"{kernels(self.closed)} ({self.layout})"

    def crossings(self, bound: float) -> list[float] | None:
        """Returns for each image the load at which p99 passes the bound in microseconds; None unless it does on all
        images, behind the first load."""
        images = zip(*(point.values("p99_us") for point in self.points))
        found = [_crossing([point.offered for point in self.points], p99, bound) for p99 in images]
        return [load for load in found if load] if found and all(found) else None

    def passes(self, bound: float) -> str:
        """Says up to which load p99 is within the bound."""
        loads = self.crossings(bound)
        if loads:
            spread = Spread.of(loads)
            return f"up to {_thousands(spread.median)} operations a second" + (
                f" ({_thousands(spread.interval.low)} to {_thousands(spread.interval.high)} on another image, 95 %)"
                if spread.interval else "")
        first, last = self.points[0], self.points[-1]
        if min(last.values("p99_us")) <= bound:
            return f"up to {_thousands(last.offered)}, the highest load, or beyond it"
        return f"not on all images even at {_thousands(first.offered)}, the lowest load"

    def to_json(self, bound: float) -> dict[str, Any]:
        loads = self.crossings(bound)
        passed = {"bound_passed_at_ops_per_s": Spread.of(loads).to_json()} if loads else {}
        return {"layout": self.layout, "lock": self.closed.lock, "workload": self.closed.workload,
                "closed_ops_per_s": self.capacity, **passed, "points": [point.to_json() for point in self.points]}


def _crossing(loads: Sequence[float], p99: Sequence[float], bound: float) -> float | None:
    """Returns where a line between two points, over the logarithm of the latency, passes the bound."""
    for (load, before), (next_load, after) in pairwise(zip(loads, p99)):
        if before <= bound < after:
            return load + (next_load - load) * log(bound / before) / log(after / before)
    return None


def _thousands(rate: float) -> str:
    return f"{rate / 1000:,.0f} thousand" if rate >= 1e5 else f"{rate:,.0f}"


@dataclass(frozen=True)
class OpenLoop:
    """The curves of all layouts, and the bound of p99 in microseconds."""

    curves: tuple[Curve, ...]
    bound: float

    @property
    def most(self) -> float:
        return max(curve.capacity for curve in self.curves)

    @property
    def title(self) -> str:
        first = self.curves[0].closed
        kind = bracketed(first.emulated, first.modelled["machine"] if first.modelled else None)
        return f"YCSB {first.workload.upper()} in an open loop, {first.cores} cores, lock {first.lock}{kind}"

    def table(self) -> Table:
        table = plain_table(
            self.title,
            ("offered/s", "", "layout", "done/s", "p50, µs", "p99, µs", "p99.9, µs", "max, µs", " "),
            left=("layout", " "), note=(
                f"Latencies begin at the arrival; the histogram's are at most {ERROR:.0%} too high. p99: median over "
                f"images, and another image's (95 %). p50, p99.9 and max: all images' operations."),
        )
        for row in zip(*(curve.points for curve in self.curves)):
            for place, (curve, point) in enumerate(zip(self.curves, row)):
                load = ("", "") if place else (f"{point.offered:,.0f}", f"{point.offered / self.most:.0%}")
                at = point.quantiles
                p99 = f"{at['p99_us']:,.1f}" + (f" ({i.low:,.1f} to {i.high:,.1f})" if (i := point.p99.interval)
                                                else "")
                table.add_row(*load, curve.layout, f"{point.rate:,.0f}", f"{at['p50_us']:,.1f}", p99,
                              f"{at['p999_us']:,.1f}", f"{at['max_us']:,.1f}", "saturated" * point.saturated)
        return table

    def sentences(self) -> list[str]:
        every = [f"{curve.name} {curve.passes(self.bound)}" for curve in self.curves]
        full = [f"{curve.name} from {_thousands(point.offered)} on" for curve in self.curves
                if (point := next((one for one in curve.points if one.saturated), None))]
        closed = ", ".join(f"{curve.layout} {_thousands(curve.capacity)}" for curve in self.curves)
        return [
            f"p99 is within {self.bound:,.0f} µs: {'; '.join(every)}.",
            f"Saturated, so that less than {KEPT:.0%} of what is offered is done: {'; '.join(full) or 'no layout'}.",
            f"Operations a second of a closed loop of the same clients: {closed}.",
        ]

    def to_json(self) -> dict[str, Any]:
        return {"p99_bound_us": self.bound, "histogram_error": ERROR, "images": len(self.curves[0].points[0].results),
                "layouts": [curve.to_json(self.bound) for curve in self.curves], "answer": self.sentences()}


Key = tuple[str, int, int]  # layout, rate of each client, image from 1 on


def clients(case: RedisCase) -> int:
    """Returns how many clients there are in all."""
    return sum(app.program == "ycsb" for app in case.plan.cluster_map.applications)


def measure(cases: Sequence[RedisCase], accel: Accel, quick: bool, images: int, bound: int | None, parts: Parts,
            shown: Follower) -> OpenLoop | None:
    """Returns the curves, of loads that were measured with all layouts on all images; None if there are none. `bound`:
    of p99 in microseconds; None: BOUND times the lowest median latency."""
    most = at_once(cases[0])
    calls = {case.layout: Call(f"{case.name}, closed loop", run_once, (case.salted(1), accel)) for case in cases}
    closed: Mapping[str, Result] = run_all(most, calls, shown, parts)
    if len(closed) < len(cases):
        return None
    capacity = max(result.metrics["ops_per_s"] for result in closed.values())
    count = clients(cases[0])
    rates = [max(1, round(share * capacity / count)) for share in (QUICK_SHARES if quick else SHARES)]
    done = run_all(most, sweep(cases, accel, rates, images), shown, parts)
    whole = [rate for rate in rates
             if all((case.layout, rate, image) in done for case in cases for image in range(1, images + 1))]
    if not whole:
        return None
    curves = tuple(
        Curve(closed[case.layout], tuple(Point(rate * count, tuple(done[case.layout, rate, image]
                                                                   for image in range(1, images + 1)))
                                         for rate in whole))
        for case in cases)
    lowest = min(curve.points[0].quantiles["p50_us"] for curve in curves)
    return OpenLoop(curves, bound or max(10, round(BOUND * lowest, -1)))


def sweep(cases: Sequence[RedisCase], accel: Accel, rates: Sequence[int], images: int) -> dict[Key, Call]:
    """Returns the run of each layout at each rate of a client, on each image."""
    def at(case: RedisCase, rate: int, image: int) -> RedisCase:
        return with_kernel(case.at_rate(rate, image), kernel(case, image - 1, images))

    return {(case.layout, rate, image): Call(f"{case.name}, {rate * clients(case):,} operations/s, image {image}",
                                             run_once, (at(case, rate, image), accel))
            for rate in rates for image in range(1, images + 1) for case in cases}
