# SPDX-License-Identifier: BSD-2-Clause
"""Result of a simulation, and the run that every kind of simulation shares."""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import simpy

from topology.model.simulation import estimate
from topology.model.simulation.estimate import BATCHES, Estimate

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
        throughput = estimate.throughput(times, per_batch)
        return Outcome(self.cores, throughput, self.held / counted, self.inside / counted, Counter(self.counts))
