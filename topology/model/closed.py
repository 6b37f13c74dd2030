# SPDX-License-Identifier: BSD-2-Clause
"""A closed queue of n cores at one lock, in its steady state: the birth-death chain that both closed forms share."""

import math
from collections.abc import Callable
from dataclasses import dataclass

# Mean service time while so many cores wait behind the one that has the lock.
ServiceOf = Callable[[int], float]


@dataclass(frozen=True)
class Steady:
    probabilities: tuple[float, ...]  # [k]: k cores hold the lock or wait for it
    throughput: float

    @property
    def cores(self) -> int:
        return len(self.probabilities) - 1

    @property
    def utilisation(self) -> float:
        """Share of time in which somebody has the lock."""
        return math.fsum(self.probabilities[1:])

    @property
    def queue_length(self) -> float:
        """Mean number of cores that hold the lock or wait for it (Elphinstone 2016, equation 4)."""
        return math.fsum(k * p for k, p in enumerate(self.probabilities))

    @property
    def speedup(self) -> float:
        """Mean number of cores that are outside the lock, doing work of their own (Boyd-Wickizer 2012: n - w)."""
        return self.cores - self.queue_length

    @property
    def wait(self) -> float:
        """Mean cycles from asking for the lock to getting it: Little's law on the waiters."""
        waiting = math.fsum(k * p for k, p in enumerate(self.probabilities[1:]))
        return waiting / self.throughput if self.throughput else 0.0


def solve(cores: int, delay: float, service_of: ServiceOf) -> Steady:
    """Arrivals at rate (n - k) / delay, departures at rate 1 / service_of(k - 1), in the state of k cores.

    Needs cores >= 1, delay >= 0 (infinite: nobody ever enters) and services > 0. Sums logarithms, so that hundreds
    of cores do not overflow.
    """
    if delay == 0:  # everybody queues again at once
        return Steady((0.0,) * cores + (1.0,), 1 / service_of(cores - 1))
    if math.isinf(delay):
        return Steady((1.0,) + (0.0,) * cores, 0.0)
    logs = [0.0]
    for k in range(1, cores + 1):
        logs.append(logs[-1] + math.log(cores - k + 1) - math.log(delay) + math.log(service_of(k - 1)))
    top = max(logs)
    weights = [math.exp(x - top) for x in logs]
    total = math.fsum(weights)
    probabilities = tuple(w / total for w in weights)
    return Steady(probabilities, math.fsum(p / service_of(k) for k, p in enumerate(probabilities[1:])))
