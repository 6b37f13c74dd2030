# SPDX-License-Identifier: BSD-2-Clause
"""Cores at one lock: handed over in the order of arrival (CLH, MCS, ticket differ in what holding costs), or elided by
hardware transactions (Elphinstone 2016, 3.4), with conflicts between them.

Two entries that overlap conflict with a given probability. The later one reaches the line at some moment of its run
and the earlier one, which had it, aborts. After `attempts` conflicts an entry takes the lock, which every running
transaction has in its read set: all abort, wait until the lock is free, and this does not count against them."""

from dataclasses import dataclass

import simpy

from topology.model.simulation.holding import Holding, Transfers
from topology.model.simulation.outcome import Cores, Steps


class QueueLock(Cores):
    def __init__(self, cores: int, delay: float, holding: Holding, seed: int) -> None:
        super().__init__(cores, delay, seed)
        self.holding = holding
        self.lock = simpy.Resource(self.env, capacity=1)
        self.previous: int | None = None
        self.arrived = self.env.event()

    def enter(self, core: int) -> Steps:
        with self.lock.request() as request:
            if not request.triggered and self.holding.memoryless:
                self.arrived.succeed()
                self.arrived = self.env.event()
            yield request
            since = self.env.now
            yield from self._hold(core)
            self.held += self.env.now - since
            self.previous = core

    def _hold(self, core: int) -> Steps:
        """Holds the lock. The rest of a memoryless holding may be drawn anew at any moment, with the rate of that
        moment."""
        while True:
            cycles = self.holding.cycles(core, self.previous, len(self.lock.queue), self.random)
            end = self.env.timeout(cycles)
            if not self.holding.memoryless:
                yield end
                return
            arrived = self.arrived
            yield end | arrived
            if end.processed:
                return


@dataclass(frozen=True)
class Elision:
    conflict: float  # probability for each pair of overlapping entries
    attempts: int = 3
    overhead: float = 0.0  # cycles to begin and commit
    fallback: Transfers = Transfers()

    @property
    def length(self) -> float:
        """Cycles of a transaction that nobody disturbs: no line of the lock moves."""
        return self.fallback.hold + self.overhead


class Transactions(Cores):
    def __init__(self, cores: int, delay: float, elision: Elision, seed: int) -> None:
        super().__init__(cores, delay, seed)
        self.elision = elision
        self.lock = simpy.Resource(self.env, capacity=1)
        self.freed = self.env.event()
        self.previous: int | None = None
        self.running: dict[int, int] = {}  # core: number of its transaction, oldest first
        self.begun = 0

    def enter(self, core: int) -> Steps:
        conflicts = 0
        while conflicts < self.elision.attempts:
            while self.lock.count:
                yield self.freed
            since = self.env.now
            try:
                yield from self._transaction(core)
            except simpy.Interrupt as abort:
                self.counts[f"aborts_{abort.cause}"] += 1
                conflicts += abort.cause == "conflict"
                continue
            self.counts["commits"] += 1
            self.held += self.env.now - since
            return
        yield from self._fall_back(core)

    def _transaction(self, core: int) -> Steps:
        self.begun += 1
        length = self.elision.length
        hits = sorted((self.random.uniform(0, length), victim, number) for victim, number in self.running.items()
                      if self.random.random() < self.elision.conflict)
        self.running[core] = self.begun
        now = 0.0
        for at, victim, number in hits:
            yield self.env.timeout(at - now)
            now = at
            if self.running.get(victim) == number:
                self._abort(victim, "conflict")
        yield self.env.timeout(length - now)
        del self.running[core]

    def _abort(self, victim: int, cause: str) -> None:
        del self.running[victim]
        self.processes[victim].interrupt(cause)

    def _fall_back(self, core: int) -> Steps:
        self.counts["fallbacks"] += 1
        with self.lock.request() as request:
            yield request
            for victim in list(self.running):
                self._abort(victim, "lock")
            since = self.env.now
            yield self.env.timeout(self.elision.fallback.cycles(core, self.previous, len(self.lock.queue), self.random))
            self.held += self.env.now - since
            self.previous = core
        if not self.lock.count:
            self.freed.succeed()
            self.freed = self.env.event()
