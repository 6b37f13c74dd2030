# SPDX-License-Identifier: BSD-2-Clause
"""From which rate of kernel entries on another layout does more: where clients pause, cores enter the kernel less
often.

Clients that pause for Z between operations are a closed system: n of them do n / (Z + R) operations, where R is how
long one takes. So the layout with the shorter R does more at each Z. R is measured with no pause and with a long one.
In between, if the two rank the layouts differently, it is that of the machine-repairman model (docs/models.md) which
goes through both measured points: each station of the network has one service time, and all else is delay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from deploy.load.comparison import PAUSE_US
from deploy.results.result import Result
from topology.model import repairman

_STEPS = 60  # steps of a bisection

# the rates at which the other layout wins: neither of the measured ones, ...
NEITHER, AT, BETWEEN = "neither", "at", "between"


@dataclass(frozen=True)
class Point:
    """One layout with one pause."""

    layout: str
    pause_us: float
    mean_us: float  # the mean of an operation
    clients: int
    entries_per_op: float
    cores: int
    stations: int  # stations of the network: each serves as many clients

    @property
    def ops_per_s(self) -> float:
        """Returns the rate of clients that go on: those of a run have their last operation at different times."""
        return 1e6 * self.clients / (self.pause_us + self.mean_us)

    @property
    def rate(self) -> float:
        """Kernel entries of a core in a second, the mean of all."""
        return self.ops_per_s * self.entries_per_op / self.cores

    def to_json(self) -> dict[str, float]:
        return {
            "pause_us": self.pause_us, "mean_us": self.mean_us, "ops_per_s": self.ops_per_s,
            "kernel_entries_per_op": self.entries_per_op, "kernel_entries_per_s_per_core": self.rate,
        }


def point(result: Result, pause_us: float) -> Point:
    """Makes a point of a result. Without a pause an operation takes what the operations per second of the whole run
    come to, its slowest clients included.

    With one the run ends when the longest pauses have passed, and only the clients' own times say how long one takes.
    """
    assert result.machine and result.observed
    programs = [app["program"] for app in result.machine["applications"]]
    clients = programs.count("ycsb")
    mean_us = result.metrics["mean_us"] if pause_us else 1e6 * clients / result.metrics["ops_per_s"]
    return Point(
        result.layout, pause_us, mean_us, clients, result.observed.per_operation, result.cores,
        max(1, min(result.clusters, programs.count("switch"))),
    )


def _root(function: Callable[[float], float], low: float, high: float) -> float | None:
    """Returns the root between two points at which the function's signs differ."""
    at_low = function(low)
    if at_low * function(high) > 0:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if at_low * function(middle) > 0 else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True)
class Station:
    """A station of the network, at which clients queue. Times are microseconds."""

    service: float
    delay: float  # time of an operation that never waits
    clients: int

    def mean_us(self, pause: float) -> float:
        return self.clients / repairman.steady(self.service, self.delay + pause, self.clients).throughput - pause


@dataclass(frozen=True)
class Curve:
    """One layout: without a pause, and with one."""

    busy: Point
    pausing: Point

    @cached_property
    def station(self) -> Station | None:
        """Through both points; None: an operation takes no longer without a pause, which is no queue."""
        if self.busy.mean_us <= self.pausing.mean_us:
            return None
        clients = max(1, round(self.busy.clients / self.busy.stations))

        def through_pausing(service: float) -> Station:
            def error(delay: float) -> float:
                return Station(service, delay, clients).mean_us(self.pausing.pause_us) - self.pausing.mean_us

            return Station(service, _root(error, 0.0, self.pausing.mean_us) or 0.0, clients)

        service = _root(lambda s: through_pausing(s).mean_us(0.0) - self.busy.mean_us, 1e-6, self.pausing.mean_us)
        return None if service is None else through_pausing(service)

    def at(self, pause: float) -> Point:
        """With another pause, as the model has it. Kernel entries a second are on the line between the measured ones.

        Those of an operation are not: the more there is to do, the less often somebody must be woken for it.
        """
        assert self.station
        model = replace(self.pausing, pause_us=pause, mean_us=self.station.mean_us(pause))
        share = (model.ops_per_s - self.pausing.ops_per_s) / (self.busy.ops_per_s - self.pausing.ops_per_s)
        rate = self.pausing.rate + share * (self.busy.rate - self.pausing.rate)
        return replace(model, entries_per_op=rate * model.cores / model.ops_per_s)


@dataclass(frozen=True)
class Crossover:
    """Two layouts beside each other at all rates that were measured."""

    first: Curve
    second: Curve

    @staticmethod
    def of(first: Result, second: Result) -> Crossover | None:
        """None: nobody ran them with a pause."""
        if not (first.pausing and second.pausing):
            return None
        return Crossover(*(Curve(point(r, 0), point(r.pausing, PAUSE_US)) for r in (first, second) if r.pausing))

    @property
    def busy_winner(self) -> str:
        return self._faster(self.first.busy, self.second.busy)

    @property
    def calm_winner(self) -> str:
        return self._faster(self.first.pausing, self.second.pausing)

    @staticmethod
    def _faster(a: Point, b: Point) -> str:
        return a.layout if a.mean_us <= b.mean_us else b.layout

    @cached_property
    def pause_us(self) -> float | None:
        """With which both do as many operations; None: with none, or the model does not say."""
        if self.busy_winner == self.calm_winner:
            return None
        one, other = self.first.station, self.second.station
        return _root(lambda pause: one.mean_us(pause) - other.mean_us(pause), 0.0,
                     self.first.pausing.pause_us) if one and other else None

    @property
    def outcome(self) -> str:
        return NEITHER if self.busy_winner == self.calm_winner else BETWEEN if self.pause_us is None else AT

    @property
    def rate(self) -> float | None:
        """Kernel entries of a core in a second, under the first layout, at which both do as many operations."""
        return None if self.pause_us is None else self.first.at(self.pause_us).rate

    @property
    def loser(self) -> str:
        """Returns the loser of the run without a pause."""
        layouts = (self.first.busy.layout, self.second.busy.layout)
        return layouts[self.busy_winner == layouts[0]]

    def to_json(self) -> dict[str, Any]:
        points = {curve.busy.layout: [curve.busy.to_json(), curve.pausing.to_json()]
                  for curve in (self.first, self.second)}
        known = {"pause_us": self.pause_us, "kernel_entries_per_s_per_core": self.rate} if self.outcome == AT else {}
        return {"outcome": self.outcome, "winner_without_pause": self.busy_winner,
                "winner_with_pause": self.calm_winner, **known, "points": points}


Verified = tuple[float, float]  # time of an operation under either layout at the crossover, microseconds


def sentences(crossover: Crossover, verified: Verified | None = None) -> list[str]:
    """`verified`: what operations took in runs with the turning pause."""
    text = {NEITHER: _neither, AT: _at, BETWEEN: _between}[crossover.outcome](crossover)
    lines = [f"{text}."]
    if verified:
        lines.append(
            f"Checked: runs in which clients pause for {crossover.pause_us:,.0f} µs take {verified[0]:,.1f} µs for an "
            f"operation under "
            f"{crossover.first.busy.layout} and {verified[1]:,.1f} under {crossover.second.busy.layout}."
        )
    return lines


def _times(crossover: Crossover) -> str:
    def one(curve: Curve) -> str:
        return f"{curve.pausing.mean_us:,.1f} µs under {curve.busy.layout}"

    return f"{one(crossover.first)} and {one(crossover.second)}"


def _neither(crossover: Crossover) -> str:
    """Two rates were measured; nothing is said of those in between."""
    curve = crossover.first
    return (
        f"{crossover.busy_winner} is not slower at either of the two rates that were measured: {curve.busy.rate:,.0f} "
        f"kernel entries a second on each core, and {curve.pausing.rate:,.0f}, where clients pause for "
        f"{curve.pausing.pause_us / 1000:g} ms and an operation takes {_times(crossover)}"
    )


def _at(crossover: Crossover) -> str:
    curve = crossover.first
    return (
        f"{crossover.loser} wins below {crossover.rate:,.0f} kernel entries a second on each core, where clients pause "
        f"for {crossover.pause_us:,.0f} µs (queueing model through the measured {curve.busy.rate:,.0f} without a pause "
        f"and {curve.pausing.rate:,.0f}, where an operation takes {_times(crossover)})"
    )


def _between(crossover: Crossover) -> str:
    curve = crossover.first
    return (
        f"{crossover.loser} wins from a rate between {curve.pausing.rate:,.0f} and {curve.busy.rate:,.0f} kernel "
        f"entries a second on each core on downwards; "
        f"the model does not say where. At the least, an operation takes {_times(crossover)}"
    )


def to_json(crossover: Crossover, verified: Verified | None) -> dict[str, Any]:
    document = crossover.to_json()
    if verified:
        document["verified_mean_us"] = {curve.busy.layout: took
                                        for curve, took in zip((crossover.first, crossover.second), verified)}
    return document
