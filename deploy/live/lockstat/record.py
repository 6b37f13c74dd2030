# SPDX-License-Identifier: BSD-2-Clause
"""struct core_stat of cluster-kernel/include/skerry/stat.h: its fields have the names that they have there.

What a field is, its type there says: whether it adds up over cores, and what of it was counted between two looks. So a
counter that the header gets is in every view of a record. All times are TSC cycles.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deploy.base.errors import Failure
from topology import headers

_STAT = headers.KERNEL / "stat.h"


def _names(enum: str, prefix: str) -> tuple[str, ...]:
    """Its enumerators but for the last, which counts them."""
    return tuple(name.removeprefix(prefix).lower() for name in headers.members(_STAT, enum)[:-1])


def _fields(of: str) -> dict[str, headers.Field]:
    """Returns the fields of a structure that are not reserved."""
    return {name: field for name, field in headers.layout(_STAT, of).items() if not name.startswith("reserved")}


def _scalars(of: str, *types: str) -> tuple[str, ...]:
    return tuple(name for name, field in _fields(of).items() if not field.array and field.type in types)


CLASSES = _names("lock_class", "LOCK_CLASS_")
# locks of the kernel as a whole, of which each entry takes one; a reader may become the writer and take a second
WHOLE = CLASSES[:3]
CAUSES = _names("abort_cause", "ABORT_")
BUCKETS = headers.constant(_STAT, "STAT_BUCKETS")
WORDS = headers.size(_STAT, "core_stat")
LOCK = headers.layout(_STAT, "core_stat")["lock"].at  # the first word of the locks
LOCK_WORDS = headers.size(_STAT, "lock_stat")  # of each class
SIZE = WORDS * headers.WORD  # bytes of a record
VERSION = headers.constant(_STAT, "STAT_VERSION")
LAYOUT = VERSION << 32 | SIZE  # STAT_LAYOUT there

GROWING = ("stat_count", "stat_cycles")
CORE_COUNTERS = _scalars("core_stat", *GROWING)  # the first is idle_cycles, which plain kernels count, too
LOCK_COUNTERS = _scalars("lock_stat", *GROWING)


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _value(field: headers.Field, words: Sequence[int], at: int) -> Any:
    """Returns the field that begins at word `at`: a number, a part of the record, or a tuple of such."""
    def one(place: int) -> Any:
        if field.words > 1:
            return Part.of(field.type, words, place)
        number = words[place]
        return number - (1 << 64) if field.type == "stat_level" and number >> 63 else number

    elements = tuple(one(at + i * field.words) for i in range(field.count))
    return elements if field.array else elements[0]


def _with(field: headers.Field, a: Any, b: Any, sign: int) -> Any:
    """Returns the sum of a field's two values, or the first less the second. A maximum that was reached is not
    subtracted."""
    if field.array:
        alone = headers.Field(0, 1, field.words, False, field.type, "")
        return tuple(_with(alone, x, y, sign) for x, y in zip(a, b, strict=True))
    if isinstance(a, Part):
        return a.combined(b, sign)
    if field.type == "stat_max":
        return max(a, b)
    if field.type == "stat_moment" or (field.type == "stat_level" and sign < 0):
        return a
    return a + sign * b


@dataclass(frozen=True)
class Part:
    """A structure of the header: an attribute for each field."""

    struct: str
    values: Mapping[str, Any]

    @staticmethod
    def of(name: str, words: Sequence[int], at: int = 0) -> Part:
        kind = {"core_stat": Record, "lock_stat": LockStat, "transaction_stat": Transactions}.get(name, Part)
        return kind(name, {field: _value(f, words, at + f.at) for field, f in _fields(name).items()})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def combined(self, other: Part, sign: int) -> Any:
        fields = _fields(self.struct)
        return type(self)(self.struct, {n: _with(fields[n], v, other.values[n], sign) for n, v in self.values.items()})

    def numbers(self) -> dict[str, int]:
        """The fields that are one number each and hold for any moment."""
        fields = _fields(self.struct)
        return {n: v for n, v in self.values.items() if isinstance(v, int) and fields[n].type != "stat_moment"}

    def to_json(self) -> dict[str, Any]:
        return self.numbers()


class LockStat(Part):
    """All locks of a class. A histogram's bucket i counts times from 2^i to below 2^(i+1) cycles."""

    @property
    def conflict_ratio(self) -> float:
        return ratio(self.conflicts, self.acquisitions)

    @property
    def spins_mean(self) -> float:
        """Mean spins of the acquisitions that met a conflict, as in the Mach study."""
        return ratio(self.spins, self.conflicts)

    @property
    def wait_mean(self) -> float:
        return ratio(self.wait, self.acquisitions)

    @property
    def hold_mean(self) -> float:
        return ratio(self.hold, sum(self.hold_log2))

    def to_json(self) -> dict[str, Any]:
        means = {name: getattr(self, name) for name in ("conflict_ratio", "spins_mean", "wait_mean", "hold_mean")}
        return self.numbers() | means | {name: list(v) for name, v in self.values.items() if isinstance(v, tuple)}


class Transactions(Part):
    def to_json(self) -> dict[str, Any]:
        return self.numbers() | {"aborted": dict(zip(CAUSES, self.aborted, strict=True))}


class Record(Part):
    @staticmethod
    def from_words(words: Sequence[int]) -> Record:
        record = Part.of("core_stat", words)
        assert isinstance(record, Record)
        return record

    @staticmethod
    def from_bytes(data: bytes, of: str) -> Record:
        """A page of a machine's memory. `of`: what counted it, for errors."""
        if len(data) != SIZE:
            raise Failure(f"{of}: a record of {len(data)} bytes, not {SIZE}")
        record = Record.from_words(struct.unpack(f"<{WORDS}Q", data))
        if record.layout or any(data):  # else the core has not started
            _check(record, of)
        return record

    @staticmethod
    def from_pairs(pairs: Iterable[Sequence[int]], of: str) -> Record:
        """Builds a record from (place, value) of each word that is not 0. `of`: what counted them, for errors. Failure
        for a pair that is none."""
        words = [0] * WORDS
        for pair in pairs if isinstance(pairs, list) else [pairs]:
            match pair:
                case [int(place), int(value)] if 0 <= place < WORDS and 0 <= value < 1 << 64:
                    words[place] = value
                case _:
                    raise Failure(f"{of}: {str(pair)[:60]!r} is no word of a record and its value")
        record = Record.from_words(words)
        _check(record, of)
        return record

    def plus(self, other: Record) -> Record:
        total: Record = self.combined(other, 1)
        return total

    def since(self, earlier: Record) -> Record:
        """Returns the difference to an earlier record. Instance counts and maxima are those of this one."""
        difference: Record = self.combined(earlier, -1)
        return difference

    @property
    def locks(self) -> dict[str, LockStat]:
        return dict(zip(CLASSES, self.lock, strict=True))

    @property
    def whole(self) -> bool:
        """Its idle time is of one moment: it was not read while the core wrote that."""
        even: bool = self.sequence % 2 == 0
        return even

    @property
    def active(self) -> dict[str, LockStat]:
        """The classes that the kernel's regime has."""
        return {name: lock for name, lock in self.locks.items() if lock.instances or lock.acquisitions}

    @property
    def simple(self) -> dict[str, LockStat]:
        """Returns the active locks that know no readers: Mach's simple locks."""
        return {name: lock for name, lock in self.active.items() if name not in ("read", "write")}

    def to_json(self) -> dict[str, Any]:
        return self.numbers() | {"locks": {name: lock.to_json() for name, lock in self.active.items()},
                                 "transactions": self.transactions.to_json(), "writers": self.writers.to_json()}


def _check(record: Record, of: str) -> None:
    if record.layout != LAYOUT:
        version, size = record.layout >> 32, record.layout & 0xFFFFFFFF
        raise Failure(f"{of}: counters of version {version} ({size} bytes), and this skerry reads version {VERSION} "
                      f"({SIZE} bytes)")
