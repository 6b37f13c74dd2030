# SPDX-License-Identifier: BSD-2-Clause
"""Orders to a running cluster: words that a debugger writes into its ledger (skerry/ledger.h)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deploy.machine.events import Event
from topology import headers
from topology.errors import InputError

HEADER = headers.KERNEL / "ledger.h"

Read = Callable[[int, int, int], bytes]  # of a cluster's machine: physical address, size
Write = Callable[[int, int], object]  # physical address, word


@dataclass(frozen=True)
class Order:
    """One kind of order: `field` is its word in struct ledger_kernel, `answer` the kind of event that answers it.

    Its number, which makes two words differ, has `bits` bits, from bit `shift` of the word on.
    """

    field: str
    magic: int
    answer: str = ""
    shift: int = 0
    bits: int = 0

    @property
    def offset(self) -> int:
        return headers.offset(HEADER, "ledger_kernel", self.field)

    def give(self, write: Write, boot: Event, word: int, number: int = 0) -> None:
        """To the cluster of this boot report, which obeys at a core's next beat or at its manager's next tick."""
        write(int(boot["ledger"]) + self.offset, self.magic | (self.place(number) if self.bits else 0) | word)

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

    def answered(self, events: Sequence[Event], number: int, but: str = "", **fields: int) -> Event | None:
        """Returns the last answer to the order that has these fields, one that says `but` left out; None: nothing
        yet."""
        return next((e for e in reversed(events) if e.kind == self.answer and e["number"] == number
                     and e.get("what") != but and all(e[name] == value for name, value in fields.items())), None)


def boot_of(boots: Mapping[int, Event], option: str, cluster: int) -> Event:
    """Returns the boot report of the cluster that the option names; InputError where it has not started."""
    if cluster not in boots:
        one = "one" if option == "--cluster" else "a cluster"
        raise InputError(f"{option} {cluster}", f"is not {one} that has started: {', '.join(map(str, sorted(boots)))}")
    return boots[cluster]


def _magic(name: str) -> int:
    return headers.macro(HEADER, f"LEDGER_{name}_MAGIC")


KILL = Order("order", _magic("ORDER"))
GRANULARITY = Order("granularity", _magic("GRANULARITY"), "granularity", shift=8, bits=24)
CORE = Order("move", _magic("MOVE"), "core", shift=20, bits=12)
MEMORY = Order("memory", _magic("MEMORY"), "memory-moved", shift=36, bits=12)
