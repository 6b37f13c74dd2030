# SPDX-License-Identifier: BSD-2-Clause
"""Result of a simulation with its confidence interval, and the run that every kind of simulation shares."""

import math
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean, stdev
from typing import Any

import simpy

BATCHES = 20
# Student's t with BATCHES - 1 degrees of freedom, two-sided.
T_95, T_999 = 2.093, 3.883


@dataclass(frozen=True)
class Estimate:
    mean: float
    half_width: float  # of the 95 % interval

    def covers(self, value: float, t: float = T_95) -> bool:
        return abs(value - self.mean) <= self.half_width * t / T_95


def throughput(times: Sequence[float], per_batch: int) -> Estimate:
    """`times`: when each batch of `per_batch` completions ended, the first when counting began."""
    spans = [b - a for a, b in zip(times, times[1:])]
    mean = per_batch / fmean(spans)
    return Estimate(mean, mean * T_95 * stdev(spans) / fmean(spans) / math.sqrt(len(spans)))


WARM_UP = 0.1  # share of the entries that are simulated first and not counted
Steps = Generator[Any, Any, None]


@dataclass(frozen=True)
class Outcome:
    cores: int
    throughput: Estimate
    service: float  # mean cycles for which the lock, or a transaction that committed, was held
    response: float  # mean cycles of a kernel entry, with all waiting and all that was in vain
    counts: Counter[str] = field(default_factory=Counter)  # events while counting


class Cores:
    """Cores that think for an exponential time, then enter the kernel. A subclass says what entering means."""

    def __init__(self, cores: int, delay: float, seed: int) -> None:
        self.cores = cores
        self.delay = delay
        self.env = simpy.Environment()
        self.random = Random(f"{seed}/{cores}/{delay}")  # a point does not depend on those before it
        self.counts: Counter[str] = Counter()
        self.held = self.inside = 0.0
        self.processes: list[simpy.Process] = []  # [core]

    def enter(self, core: int) -> Steps:
        """One kernel entry of a core."""
        raise NotImplementedError

    def run(self, entries: int) -> Outcome:
        """Simulates about `entries` kernel entries, after a warm-up."""
        per_batch = max(1, entries // BATCHES)
        left = max(1, int(entries * WARM_UP))
        times: list[float] = []
        done = self.env.event()

        def live(core: int) -> Steps:
            nonlocal left
            while True:
                yield self.env.timeout(self.random.expovariate(1 / self.delay) if self.delay else 0.0)
                since = self.env.now
                yield from self.enter(core)
                self.inside += self.env.now - since
                left -= 1
                if left == 0:
                    if not times:
                        self.counts.clear()
                        self.held = self.inside = 0.0
                    times.append(self.env.now)
                    left = per_batch
                    if len(times) > BATCHES:
                        done.succeed()

        for core in range(self.cores):
            self.processes.append(self.env.process(live(core)))
        self.env.run(done)
        counted = per_batch * BATCHES
        estimate = throughput(times, per_batch)
        return Outcome(self.cores, estimate, self.held / counted, self.inside / counted, Counter(self.counts))
