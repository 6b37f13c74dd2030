# SPDX-License-Identifier: BSD-2-Clause
"""struct core_stat of cluster-kernel/include/skerry/stat.h, in its words of 64 bits. All times are TSC cycles."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

CLASSES = ("kernel", "read", "write", "tcb", "endpoint", "notification", "run_queue")
WHOLE = CLASSES[:3]  # locks of the kernel as a whole, of which each entry takes one; and who begins to read may go on to write
CAUSES = ("explicit", "capacity", "conflict", "debug", "nested", "retry", "other")
BUCKETS = 28
SIZE = 4096  # bytes of a record
WORDS = SIZE // 8

HEADER = ("idle_cycles", "started", "updated", "idle_since", "entries", "syscalls", "interrupts", "faults", "switches", "latest")
_HEADER_WORDS = 16
_LOCK = ("instances", "grabs", "conflicts", "spins", "spins_max", "wait", "wait_max", "hold", "hold_max")
_GREATEST = {"spins_max", "wait_max", "hold_max", "readers_max"}
_MOMENTS = {"started", "updated", "idle_since", "latest"}


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _combined(name: str, a: Any, b: Any, sign: int) -> Any:
    """Of two values of a field: maxima that were reached once cannot be taken away again."""
    if name in _GREATEST:
        return max(a, b)
    if isinstance(a, tuple):
        return tuple(x + sign * y for x, y in zip(a, b, strict=True))
    return a + sign * b


class Counters:
    """Fields that add up."""

    def _with(self, other: Any, sign: int) -> Any:
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        return type(self)(*(_combined(n, getattr(self, n), getattr(other, n), sign) for n in names))


@dataclass(frozen=True)
class LockStat(Counters):
    """All locks of a class. A histogram's bucket i counts times from 2^i to below 2^(i+1) cycles."""

    instances: int
    grabs: int
    conflicts: int
    spins: int
    spins_max: int
    wait: int
    wait_max: int
    hold: int
    hold_max: int
    wait_log2: tuple[int, ...]
    hold_log2: tuple[int, ...]

    @property
    def conflict_ratio(self) -> float:
        return ratio(self.conflicts, self.grabs)

    @property
    def spins_mean(self) -> float:
        """Of those that met a conflict, as in the Mach study."""
        return ratio(self.spins, self.conflicts)

    @property
    def wait_mean(self) -> float:
        return ratio(self.wait, self.grabs)

    @property
    def hold_mean(self) -> float:
        return ratio(self.hold, sum(self.hold_log2))

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _LOCK} | {
            "conflict_ratio": self.conflict_ratio,
            "spins_mean": self.spins_mean,
            "wait_mean": self.wait_mean,
            "hold_mean": self.hold_mean,
            "wait_log2": list(self.wait_log2),
            "hold_log2": list(self.hold_log2),
        }


@dataclass(frozen=True)
class Transactions(Counters):
    begun: int
    committed: int
    fallbacks: int
    aborted: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        counts = {"begun": self.begun, "committed": self.committed, "fallbacks": self.fallbacks}
        return counts | {"aborted": dict(zip(CAUSES, self.aborted, strict=True))}


@dataclass(frozen=True)
class Writers(Counters):
    """Whom conflicts of those who write were with."""

    after_writer: int
    after_readers: int
    readers: int
    readers_max: int

    def to_json(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class Record:
    idle_cycles: int
    started: int
    updated: int
    idle_since: int
    entries: int
    syscalls: int
    interrupts: int
    faults: int
    switches: int
    latest: int
    transactions: Transactions
    writers: Writers
    locks: dict[str, LockStat]

    @staticmethod
    def from_words(words: Sequence[int]) -> Record:
        place = _HEADER_WORDS

        def take(count: int) -> Sequence[int]:
            nonlocal place
            place += count
            return words[place - count : place]

        transactions = Transactions(*take(3), tuple(take(len(CAUSES))))
        writers = Writers(*take(4))
        locks = {}
        for name in CLASSES:
            instances, *counts = take(len(_LOCK))
            signed = instances - (1 << 64) if instances >> 63 else instances
            locks[name] = LockStat(signed, *counts, tuple(take(BUCKETS)), tuple(take(BUCKETS)))
        return Record(*words[: len(HEADER)], transactions, writers, locks)

    @staticmethod
    def from_bytes(data: bytes) -> Record:
        return Record.from_words(struct.unpack(f"<{WORDS}Q", data))

    @staticmethod
    def from_pairs(pairs: Iterable[Sequence[int]]) -> Record:
        """Of the words that are not 0, each behind its place."""
        words = [0] * WORDS
        for place, value in pairs:
            words[place] = value
        return Record.from_words(words)

    def _with(self, other: Record, sign: int) -> Record:
        header = (
            getattr(self, n) if n in _MOMENTS else _combined(n, getattr(self, n), getattr(other, n), sign) for n in HEADER
        )
        locks = {name: lock._with(other.locks[name], sign) for name, lock in self.locks.items()}
        return Record(*header, self.transactions._with(other.transactions, sign), self.writers._with(other.writers, sign), locks)

    def plus(self, other: Record) -> Record:
        return self._with(other, 1)

    def since(self, earlier: Record) -> Record:
        """What was counted in between; locks there are, and maxima, are as of now."""
        counted = self._with(earlier, -1)
        for name, lock in self.locks.items():
            counted.locks[name] = LockStat(**vars(counted.locks[name]) | {"instances": lock.instances})
        return counted

    @property
    def active(self) -> dict[str, LockStat]:
        """The classes that the kernel's regime has."""
        return {name: lock for name, lock in self.locks.items() if lock.instances or lock.grabs}

    @property
    def simple(self) -> dict[str, LockStat]:
        """Of these, those that know no readers: Mach's simple locks."""
        return {name: lock for name, lock in self.active.items() if name not in ("read", "write")}

    def to_json(self) -> dict[str, Any]:
        counts = {n: getattr(self, n) for n in HEADER if n not in _MOMENTS}
        return counts | {
            "locks": {name: lock.to_json() for name, lock in self.active.items()},
            "transactions": self.transactions.to_json(),
            "writers": self.writers.to_json(),
        }
