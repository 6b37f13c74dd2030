# SPDX-License-Identifier: BSD-2-Clause
"""Cores at one lock that is handed over in the order of arrival: CLH, MCS and ticket differ in what holding costs."""

import simpy

from topology.model.simulation.holding import Holding
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
