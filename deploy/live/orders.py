# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of orders to managers, which stand in their ledgers (cluster-kernel/include/skerry/ledger.h)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deploy.machine.events import Event

Read = Callable[[int, int, int], bytes]  # of a cluster's machine: physical address, size
Write = Callable[[int, int], object]  # physical address, word


@dataclass(frozen=True)
class Numbering:
    """Of one kind of order: `answer` is the kind of event that answers it, `offset` that of its word in struct
    ledger_kernel.

    The number has `bits` bits, from bit `shift` of the word on.
    """

    answer: str
    offset: int
    shift: int
    bits: int

    def place(self, number: int) -> int:
        """The number where it stands in the word; ValueError if it has more bits, which would be those of another
        part."""
        if not 0 <= number < 1 << self.bits:
            raise ValueError(f"an order with number {number}, of {self.bits} bits")
        return number << self.shift

    def unused(self, events: Sequence[Event], read: Read) -> int:
        """A number other than 0 that neither an answer has nor an order that stands in a ledger; once all have been
        used, that of the oldest answer.

        A manager obeys a word once. An order may stand in a ledger and in no event: its answer was lost with the
        cluster that writes the events. The same word again would never be answered.
        """
        boots = {int(event["cluster"]): int(event.get("ledger") or 0) for event in events if event.kind == "boot"}
        words = [int.from_bytes(read(cluster, ledger + self.offset, 8), "little") for cluster, ledger in boots.items()
                 if ledger]
        standing = {word >> self.shift & (1 << self.bits) - 1 for word in words}
        answered = dict.fromkeys(int(event["number"]) for event in reversed(events) if event.kind == self.answer)
        free = (number for number in range(1, 1 << self.bits) if number not in standing and number not in answered)
        oldest = (number for number in reversed(answered) if number and number not in standing)
        return next(free, None) or next(oldest)
