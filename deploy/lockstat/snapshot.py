# SPDX-License-Identifier: BSD-2-Clause
"""What one cluster's kernel had counted at a moment, or in an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deploy.errors import Failure
from deploy.lockstat.record import WHOLE, Record, ratio


@dataclass(frozen=True)
class Core:
    """Times are TSC cycles."""

    cpu: int
    core: int
    wall: int
    idle: int
    entries: int
    grabs: int
    conflicts: int
    commits: int
    switches: int
    idling: bool = False  # at that moment

    @staticmethod
    def of_record(cpu: int, core: int, record: Record, now: int) -> Core:
        idle = record.idle_cycles + (max(0, now - record.idle_since) if record.idle_since else 0)
        whole = [record.locks[name] for name in WHOLE]
        grabs, conflicts = sum(lock.grabs for lock in whole), sum(lock.conflicts for lock in whole)
        commits = record.transactions.committed
        return Core(cpu, core, now - record.started, idle, record.entries, grabs, conflicts, commits, record.switches, record.idle_since != 0)

    @staticmethod
    def of_event(core: Mapping[str, Any], of: str) -> Core:
        """`of`: what counted it, for errors."""
        try:
            wall = core["tsc"] - core["started"]
            counts = [core[name] for name in ("entries", "lock_grabs", "lock_conflicts", "commits", "switches")]
            return Core(core["cpu"], core["core"], wall, core["idle"], *counts)
        except (KeyError, TypeError) as error:
            raise Failure(f"{of}: a core's counters are not those of a run: {error}") from None

    def since(self, earlier: Core) -> Core:
        names = ("wall", "idle", "entries", "grabs", "conflicts", "commits", "switches")
        return Core(self.cpu, self.core, *(getattr(self, n) - getattr(earlier, n) for n in names), self.idling)

    @property
    def utilisation(self) -> float:
        return min(1.0, max(0.0, 1 - ratio(self.idle, self.wall)))

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"utilisation": self.utilisation}


@dataclass(frozen=True)
class Snapshot:
    cluster: int
    kernel: str  # the image: a regime, and +stat where it counts
    tsc_hz: float
    cores: tuple[Core, ...]
    total: Record

    @property
    def regime(self) -> str:
        return self.kernel.partition("+")[0]

    @property
    def counted(self) -> bool:
        return self.kernel.endswith("+stat")

    def since(self, earlier: Snapshot) -> Snapshot:
        before = {core.core: core for core in earlier.cores}
        cores = tuple(core.since(before[core.core]) for core in self.cores)
        return Snapshot(self.cluster, self.kernel, self.tsc_hz, cores, self.total.since(earlier.total))

    def to_json(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "kernel": self.kernel,
            "lock": self.regime,
            "tsc_hz": self.tsc_hz,
            "per_core": [core.to_json() for core in self.cores],
            **self.total.to_json(),
        }
