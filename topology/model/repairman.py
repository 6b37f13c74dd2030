# SPDX-License-Identifier: BSD-2-Clause
"""The machine-repairman model, M/M/1//N: a scalable lock (Elphinstone 2016, section 4).

Cores are the machines, the lock is the one repairman; service does not depend on how many cores wait.
"""

from topology.model.closed import Steady, solve


def steady(service: float, delay: float, cores: int) -> Steady:
    return solve(cores, delay, lambda waiting: service)


def knee(service: float, delay: float) -> float:
    """Cores at which the curve bends: where n / (delay + service), nobody waiting, meets 1 / service, all waiting."""
    return (delay + service) / service
