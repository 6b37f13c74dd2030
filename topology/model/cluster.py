# SPDX-License-Identifier: BSD-2-Clause
"""Throughput of a cluster by its size and by whether it is larger than what shares a last-level cache."""

from collections.abc import Callable
from dataclasses import replace

from topology.model.published import LINE_SAME_SOCKET
from topology.model.regimes import ClosedForm
from topology.model.simulation.holding import Transfers
from topology.model.simulation.lock import Elision, Transactions

# Throughput of n cores, which share a last-level cache (False) or do not (True).
Throughput = Callable[[int, bool], float]

ENTRIES = 4_000  # simulated for each size


def queued(form: ClosedForm, factor: float, delay: float) -> Throughput:
    """Returns the throughput of a closed form. Beyond a shared cache every transfer costs `factor` times as much."""
    beyond = replace(form, service=form.service * factor, transfer=form.transfer * factor)
    return lambda n, crosses: (beyond if crosses else form).steady(delay, n).throughput


def elided(length: float, factor: float, delay: float, conflict: float, attempts: int) -> Throughput:
    """Returns the simulated throughput of transactions of `length` cycles; only an entry that falls back moves the
    lock's lines.

    n / (delay + response) says the same as the simulated throughput, without the delays' own randomness.
    """

    def throughput(n: int, crosses: bool) -> float:
        line = LINE_SAME_SOCKET * (factor if crosses else 1)
        fallback = Transfers(hold=length, same_socket=line, per_socket=n)
        outcome = Transactions(n, delay, Elision(conflict, attempts, fallback=fallback), seed=1).run(ENTRIES)
        return n / (delay + outcome.response)

    return throughput
