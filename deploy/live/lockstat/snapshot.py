# SPDX-License-Identifier: BSD-2-Clause
"""Counters of one cluster's kernel at a moment, or in an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deploy.base.errors import Failure
from deploy.live.lockstat.record import CORE_COUNTERS, LOCK_COUNTERS, WHOLE, Record, ratio
from deploy.machine.events import Event

COUNTERS = (  # of a core in the event "stats"; lib/freestanding/stat_view.c makes it
    "idle", *CORE_COUNTERS[1:], *(f"lock_{name}" for name in LOCK_COUNTERS), "commits",
)  # fmt: skip
_SLACK = 0.02  # of the interval: counters of a running core are not all of one moment


@dataclass(frozen=True)
class Counted:
    """A cluster's kernel, which counted."""

    cluster: int
    kernel: str  # the image: a regime, and +stat where it counts
    tsc_hz: float

    @property
    def regime(self) -> str:
        return self.kernel.partition("+")[0]

    @property
    def counted(self) -> bool:
        return self.kernel.endswith("+stat")


def _counter(name: str) -> property:
    """Returns a core's property: one of its counters."""
    return property(lambda core: core.counters[name])


@dataclass(frozen=True)
class Core(Counted):
    """One core since its start, or between two snapshots, which read it at their own time. Times are TSC cycles."""

    cpu: int
    core: int
    wall: int
    counters: Mapping[str, int]  # COUNTERS
    idling: bool = False  # at that moment
    started: int = 0  # when this life of it began: counters of two lives have no difference

    @staticmethod
    def of_record(of: Counted, cpu: int, core: int, record: Record, now: int) -> Core:
        counters = {"idle": record.idle_cycles + (max(0, now - record.idle_since) if record.idle_since else 0)}
        counters |= {name: getattr(record, name) for name in CORE_COUNTERS[1:]}
        whole = [record.locks[name] for name in WHOLE]
        counters |= {f"lock_{name}": sum(getattr(lock, name) for lock in whole) for name in LOCK_COUNTERS}
        counters["commits"] = record.transactions.committed
        return Core(of.cluster, of.kernel, of.tsc_hz, cpu, core, now - record.started, counters, record.idle_since != 0,
                    record.started)

    @staticmethod
    def of_event(event: Event) -> tuple[Core, ...]:
        """All of a cluster's cores, of the event "stats"."""
        try:
            of = (event["cluster"], event["kernel"], float(event["tsc_hz"]))
            return tuple(Core(*of, core["cpu"], core["core"], core["tsc"] - core["started"],
                              {name: core[name] for name in COUNTERS}, started=core["started"])
                         for core in event["cores"])
        except (KeyError, TypeError) as error:
            where = f"cluster {event.get('cluster')} at {event.get('when')}"
            raise Failure(f"{where}: a core's counters are not those of a run: {error}") from None

    def is_life_of(self, earlier: Core) -> bool:
        """Whether both were counted by one life of the core's kernel: a cluster that starts again counts from 0."""
        return self.started == earlier.started

    def since(self, earlier: Core) -> Core:
        if not self.is_life_of(earlier):
            raise Failure(f"cluster {self.cluster} was started again in between: what its core {self.core} counted "
                          f"before is lost")
        counters = {name: value - earlier.counters[name] for name, value in self.counters.items()}
        return replace(self, wall=self.wall - earlier.wall, counters=counters)

    idle, entries, commits, switches = map(_counter, ("idle", "entries", "commits", "switches"))
    acquisitions, conflicts = _counter("lock_acquisitions"), _counter("lock_conflicts")

    @property
    def seconds(self) -> float:
        return self.wall / self.tsc_hz

    @property
    def utilisation(self) -> float:
        return min(1.0, max(0.0, 1 - ratio(self.idle, self.wall)))

    def problems(self) -> list[str]:
        """Counts of an interval that cannot be true."""
        where = f"cpu {self.cpu}"
        problems = [f"{where}: '{name}' ran backwards" for name, value in self.counters.items() if value < 0]
        if self.idle > self.wall * (1 + _SLACK):
            problems.append(f"{where}: idle for longer than the interval")
        if self.conflicts > self.acquisitions:
            problems.append(f"{where}: more lock conflicts than acquisitions")
        if self.counted and not self.entries and self.idle < self.wall * (1 - _SLACK):
            problems.append(f"{where}: not idle, yet the kernel was never entered")
        return problems

    def to_json(self) -> dict[str, Any]:
        names = ("cpu", "core", "wall", "idle", "entries", "acquisitions", "conflicts", "commits", "switches", "idling",
                 "utilisation")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Snapshot(Counted):
    cores: tuple[Core, ...]
    total: Record

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
