# SPDX-License-Identifier: BSD-2-Clause
"""A lock that n cores ask for after delays that are much alike (N*D/D/1), first come first served.

Programs that repeat one request have such delays, and queue less than the exponential ones of the machine repairman.
Each other core asks once in a cycle, at a moment that has nothing to do with this core's: that is the open queue of
periodic arrivals (Eckberg 1979; Roberts and Virtamo 1991), whose mean wait is a finite sum. Here the cycle is what
follows from the wait: the delay, the wait and the service.
"""

from topology.model.roots import root


def wait(others: int, cycle: float, service: float) -> float:
    """Returns the mean wait for so many others, each of which has the lock once in a cycle."""
    term, total = 1.0, 0.0
    for k in range(others, 0, -1):
        term *= k * service / cycle
        total += term
    return service / 2 * total


def cycle(service: float, delay: float, cores: int, meetings: float = 0.0) -> float:
    """Returns the mean time from one entry of a core to its next. `meetings`: what an entry waits elsewhere for each
    other core that meets it once a cycle, times the cycle."""
    others = cores - 1

    def error(length: float) -> float:
        return length - delay - service - wait(others, length, service) - meetings * others / length

    full = max(cores * service, delay + service)  # the lock is never free, or nobody waits
    return full if error(full) >= 0 else root(error, full, full - error(full)) or full
