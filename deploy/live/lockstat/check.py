# SPDX-License-Identifier: BSD-2-Clause
"""Whether what a kernel counted adds up.

Records of a core that is in the kernel while they are read may lack what that one entry has not counted yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deploy.live.lockstat.record import WHOLE
from deploy.live.lockstat.snapshot import Snapshot
from topology import regimes

BIG_LOCKS = regimes.names("big")
TRANSACTIONS = regimes.names("transactions")
READERS = regimes.names("readers")
SWITCHED = regimes.names(regimes.SWITCHED)
ALTERNATIVES = (WHOLE[:1], WHOLE[1:])  # of a switched regime: coarse and fine


@dataclass(frozen=True)
class Check:
    what: str
    left: int
    right: int
    slack: int = 0  # by which they may differ
    at_most: bool = False  # left <= right is enough

    @property
    def holds(self) -> bool:
        return self.left <= self.right + self.slack and (self.at_most or self.left >= self.right - self.slack)

    def __str__(self) -> str:
        sign = "<=" if self.at_most else "=" if self.left == self.right else "~" if self.holds else "!="
        return f"{self.what}: {self.left:,} {sign} {self.right:,}{'' if self.holds else '  WRONG'}"

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "left": self.left, "right": self.right, "holds": self.holds}


def checks(snapshot: Snapshot) -> list[Check]:
    """Returns every sum that holds in the snapshot of a kernel that counts rightly."""
    return [*_entries(snapshot), *_locks(snapshot), *_cycles(snapshot)]


def _entries(snapshot: Snapshot) -> Iterator[Check]:
    """Yields what each entry does with the locks of its regime."""
    record, slack, locks, t = snapshot.total, len(snapshot.cores), snapshot.total.locks, snapshot.total.transactions
    served = record.syscalls + record.interrupts  # the rest are faults, and calls that are to be made again
    yield Check("system calls and interrupts served <= entries", served, record.entries, slack, at_most=True)
    if snapshot.regime in BIG_LOCKS:
        yield Check("acquisitions = entries", locks["kernel"].acquisitions, record.entries, slack)
    if snapshot.regime in TRANSACTIONS:
        yield Check("commits + fallbacks = entries", t.committed + t.fallbacks, record.entries, slack)
        yield Check("begun = commits + aborts", t.begun, t.committed + sum(t.aborted), slack)
        yield Check("fallbacks = acquisitions of the lock", t.fallbacks, locks["kernel"].acquisitions, slack)
    if snapshot.regime in READERS:
        yield Check("read acquisitions = entries", locks["read"].acquisitions, record.entries, slack)
    if snapshot.regime in SWITCHED:
        # coarse entries take the one, fine ones the other, and while the granularity changes both
        kernel, read = locks["kernel"].acquisitions, locks["read"].acquisitions
        yield Check("entries <= acquisitions + read acquisitions", record.entries, kernel + read, slack, at_most=True)
        yield Check("read acquisitions <= entries", read, record.entries, slack, at_most=True)
    if snapshot.regime in (*READERS, *SWITCHED):
        yield Check("write acquisitions <= entries", locks["write"].acquisitions, record.entries, slack, at_most=True)


def _locks(snapshot: Snapshot) -> Iterator[Check]:
    """Yields what the histograms of each lock add up to."""
    slack = len(snapshot.cores)
    for name, lock in snapshot.total.active.items():
        yield Check(f"{name}: conflicts <= acquisitions", lock.conflicts, lock.acquisitions, slack, at_most=True)
        for what, histogram in (("waits", lock.wait_log2), ("holds", lock.hold_log2)):
            yield Check(f"{name}: {what} in the histogram = acquisitions", sum(histogram), lock.acquisitions, slack)


def _cycles(snapshot: Snapshot) -> Iterator[Check]:
    """Yields the cycles of parts that are no more than the whole."""
    for core in snapshot.cores:
        yield Check(f"cpu {core.cpu}: idle <= wall", core.idle, core.wall, core.wall // 50, at_most=True)
    wall, locks = sum(core.wall for core in snapshot.cores), snapshot.total.locks
    # an entry may hold the other at the same time
    for one in ALTERNATIVES if snapshot.regime in SWITCHED else (WHOLE,):
        inside = sum(locks[name].hold + locks[name].wait for name in one)
        yield Check("cycles waiting for the kernel's lock and holding it <= wall", inside, wall, wall // 50,
                    at_most=True)
