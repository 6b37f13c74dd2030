# SPDX-License-Identifier: BSD-2-Clause
"""The Markov model of a non-scalable lock (Boyd-Wickizer 2012): a ticket lock, and why it collapses.

All waiters spin on one cache line. A release takes it from all of them; its home answers their reloads one after
another, `transfer` cycles each, and the next holder's reload is on average in the middle of the others. So service
grows with the queue: s_k = 1 / (service + transfer * k / 2) with k cores waiting.
"""

from dataclasses import dataclass

from topology.model.closed import Steady, solve


@dataclass(frozen=True)
class Collapse:
    cores: int  # that do most; one more does less
    throughput: float


def steady(service: float, transfer: float, delay: float, cores: int) -> Steady:
    return solve(cores, delay, lambda waiting: service + transfer * waiting / 2)


def collapse(service: float, transfer: float, delay: float, most: int) -> Collapse | None:
    """Returns where throughput peaks with up to `most` cores; None when it still grows there."""
    best = Collapse(1, steady(service, transfer, delay, 1).throughput)
    for cores in range(2, most + 1):
        throughput = steady(service, transfer, delay, cores).throughput
        if throughput > best.throughput:
            best = Collapse(cores, throughput)
    return best if best.cores < most else None
