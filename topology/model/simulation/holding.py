# SPDX-License-Identifier: BSD-2-Clause
"""Times for which the lock is taken: from its hand-over to a core until it can be handed to the next."""

from dataclasses import dataclass
from random import Random
from typing import Protocol

from topology.model.published import HOLD_ALONE, LINE_OTHER_SOCKET, LINE_SAME_SOCKET, SOCKET


class Holding(Protocol):
    @property
    def memoryless(self) -> bool:
        """Depends on the queue at every moment: drawn anew when a core arrives."""

    def cycles(self, core: int, previous: int | None, waiting: int, random: Random) -> float:
        """`previous` had the lock last; `waiting` others queue behind `core`."""


@dataclass(frozen=True)
class Markovian:
    """Holding time of the closed forms: exponential, with a rate that falls with the queue (transfer 0: it does
    not)."""

    service: float
    transfer: float = 0.0

    @property
    def memoryless(self) -> bool:
        return self.transfer > 0

    def cycles(self, core: int, previous: int | None, waiting: int, random: Random) -> float:
        return random.expovariate(1 / (self.service + self.transfer * waiting / 2))


@dataclass(frozen=True)
class Transfers:
    """A constant time in the kernel, and cache lines that move from the core that had the lock last.

    The lock's hand-over moves two lines in each of CLH and MCS: contended, the holder takes the flag from its
    successor to write it and the successor takes it back; uncontended, the queue's tail and the last holder's node.
    """

    hold: float = HOLD_ALONE
    lines: float = 2
    same_socket: float = LINE_SAME_SOCKET
    other_socket: float = LINE_OTHER_SOCKET
    per_socket: int = SOCKET  # cores, numbered socket after socket

    @property
    def memoryless(self) -> bool:
        return False

    def line(self, core: int, previous: int | None) -> float:
        """Nothing for a core that takes the lock again: the line is still there."""
        if previous is None or core == previous:
            return 0.0
        return self.same_socket if core // self.per_socket == previous // self.per_socket else self.other_socket

    def cycles(self, core: int, previous: int | None, waiting: int, random: Random) -> float:
        return self.hold + self.lines * self.line(core, previous)


@dataclass(frozen=True)
class TicketTransfers(Transfers):
    """A ticket lock: the waiters reload the same line, one after another, and the next holder has a random place."""

    reload: float = LINE_SAME_SOCKET

    def cycles(self, core: int, previous: int | None, waiting: int, random: Random) -> float:
        return super().cycles(core, previous, waiting, random) + self.reload * random.randint(0, waiting)
