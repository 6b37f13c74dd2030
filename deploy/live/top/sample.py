# SPDX-License-Identifier: BSD-2-Clause
"""Rates of a machine between two looks at it, per second of the host's clock."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deploy.live.lockstat.record import CORE_COUNTERS, LOCK_COUNTERS, LockStat, Part, ratio
from deploy.live.lockstat.snapshot import Core, Snapshot
from deploy.live.top.source import Look, serving, trouble
from deploy.machine import changes
from deploy.machine.events import losses

_STANDSTILL = 0.02  # of the interval: a clock that moved less says that nothing was counted anywhere


@dataclass(frozen=True)
class Rates:
    """Rates of a core or of a cluster. None: not counted by its kernel, or not known, as after the cluster started
    again."""

    utilisation: float | None = None  # of its cores' time
    entries: float | None = None  # kernel entries per second
    switches: float | None = None  # thread switches per second
    conflict_ratio: float | None = None  # of acquisitions of the kernel's own lock
    fallback_ratio: float | None = None  # of entries; only where transactions are tried
    redis: float | None = None  # commands per second, of instances that answer

    def to_json(self) -> dict[str, Any]:
        return {
            "cpu_utilisation": self.utilisation, "kernel_entries_per_s": self.entries, "switches_per_s": self.switches,
            "lock_conflict_ratio": self.conflict_ratio, "fallback_ratio": self.fallback_ratio,
            "redis_ops_per_s": self.redis,
        }  # fmt: skip


@dataclass(frozen=True)
class CoreRow:
    cluster: int
    cpu: int
    rates: Rates


@dataclass(frozen=True)
class LockRow:
    cluster: int
    name: str  # a class of deploy.live.lockstat.record.CLASSES
    instances: int
    acquisitions: float  # per second
    conflicts: float  # per second
    conflict_ratio: float
    counters: Mapping[str, float] = field(default_factory=dict)  # all, per second


@dataclass(frozen=True)
class ClusterRow:
    cluster: int
    kernel: str
    cores: int
    counted: bool
    lost: bool
    rates: Rates
    counters: Mapping[str, float] = field(default_factory=dict)  # all that its kernel counts of entries, per second


@dataclass(frozen=True)
class Sample:
    """`whole`: of the machine."""

    seconds: float
    uptime: float  # seconds of the machine's clock since its first core started
    clusters: tuple[ClusterRow, ...] = ()
    cores: tuple[CoreRow, ...] = ()
    locks: tuple[LockRow, ...] = ()
    instances: tuple[tuple[str, float | None], ...] = ()  # Redis, commands per second
    whole: Rates = Rates()
    trouble: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()  # clusters that were started again, what has moved

    @property
    def uncounted(self) -> bool:
        """Some kernel is a plain one, which counts idle time only."""
        return any(not row.counted for row in self.clusters)

    def to_json(self) -> list[dict[str, Any]]:
        """A result for each cluster."""
        return [
            {
                "cluster": row.cluster, "kernel": row.kernel, "lock": row.kernel.partition("+")[0], "cores": row.cores,
                "lost": row.lost, "seconds": self.seconds, "uptime_s": self.uptime, "metrics": row.rates.to_json(),
                "per_core": [{"cluster": core.cluster, "core": core.cpu, **core.rates.to_json()}
                             for core in self.cores if core.cluster == row.cluster],
                "counters_per_s": dict(row.counters),
                "locks": {lock.name: {"instances": lock.instances, "conflict_ratio": lock.conflict_ratio}
                          | {f"{name}_per_s": value for name, value in lock.counters.items()}
                          for lock in self.locks if lock.cluster == row.cluster},
            }
            for row in self.clusters
        ]  # fmt: skip


def between(earlier: Look, later: Look) -> Sample:
    seconds = max(later.at - earlier.at, 1e-6)
    before = {snapshot.cluster: snapshot for snapshot in earlier.snapshots}
    redis = _redis(earlier, later)
    place = serving(later.events)
    gone = losses(later.events)
    # what is parked is not busy
    before = {number: snapshot for number, snapshot in before.items() if number not in gone}
    clusters, cores, locks = [], [], []
    for snapshot in later.snapshots:
        number = snapshot.cluster
        here = {app: rate for app, rate in redis.items() if app in place and place[app][0] == number}
        first = before.get(number)
        known = first is not None and _continues(first, snapshot)
        counts = snapshot.since(first) if first is not None and known else None
        for i, core in enumerate(snapshot.cores):
            own = _sum(rate for app, rate in here.items() if place[app][1] == core.cpu)
            passed = counts.cores[i] if counts else None
            cores.append(CoreRow(number, core.cpu, _of_core(snapshot, core, passed, seconds, own)))
        of_cluster = [row.rates for row in cores if row.cluster == number]
        rates = _of_cluster(snapshot, counts, of_cluster, seconds, _sum(here.values()))
        counters = _per_second(counts.total, CORE_COUNTERS[1:], seconds) if counts and snapshot.counted else {}
        clusters.append(ClusterRow(number, snapshot.kernel, len(snapshot.cores), snapshot.counted, number in gone,
                                   rates, counters))
        if counts and snapshot.counted:
            locks += [_lock(number, name, lock, seconds) for name, lock in counts.total.active.items()]
    started = [core.wall / snapshot.tsc_hz for snapshot in later.snapshots for core in snapshot.cores]
    whole = _whole(clusters, cores, before, later, redis)
    return Sample(
        seconds, max(started, default=0.0), tuple(clusters), tuple(cores), tuple(locks), tuple(redis.items()), whole,
        tuple(trouble(later.events)), tuple(changes.words(later.events)),
    )


def _continues(first: Snapshot, second: Snapshot) -> bool:
    """Returns whether the same kernel has gone on, with the same cores: a cluster that started again counts from 0."""
    if first.kernel != second.kernel or [core.core for core in first.cores] != [core.core for core in second.cores]:
        return False
    return all(b.wall >= a.wall and b.entries >= a.entries for a, b in zip(first.cores, second.cores, strict=True))


def _redis(earlier: Look, later: Look) -> dict[str, float | None]:
    rates: dict[str, float | None] = {}
    for name, now in later.served.items():
        then = earlier.served.get(name)
        grown = then is not None and now.commands >= then.commands and now.at > then.at
        rates[name] = (now.commands - then.commands) / (now.at - then.at) if then is not None and grown else None
    for name in earlier.served.keys() - later.served.keys():
        rates[name] = None  # it does not answer
    return dict(sorted(rates.items()))


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _utilisation(snapshot: Snapshot, now: Core, passed: Core, seconds: float) -> float:
    """The machine's clock is read off what was counted last; nothing counted means that each core did as it does
    now."""
    if passed.wall < _STANDSTILL * seconds * snapshot.tsc_hz:
        return 0.0 if now.idling else 1.0
    return passed.utilisation


def _of_core(snapshot: Snapshot, now: Core, passed: Core | None, seconds: float, redis: float | None) -> Rates:
    if passed is None:
        return Rates(redis=redis)
    used = _utilisation(snapshot, now, passed, seconds)
    if not snapshot.counted:
        return Rates(used, redis=redis)
    fallbacks = ratio(passed.entries - passed.commits, passed.entries) if snapshot.regime == "rtm" else None
    conflicts = ratio(passed.conflicts, passed.acquisitions)
    return Rates(used, passed.entries / seconds, passed.switches / seconds, conflicts,
                 fallbacks and max(0.0, fallbacks), redis)


def _of_cluster(
    snapshot: Snapshot, passed: Snapshot | None, cores: list[Rates], seconds: float, redis: float | None
) -> Rates:
    if passed is None:
        return Rates(redis=redis)
    used = _mean(cores)
    if not snapshot.counted:
        return Rates(used, redis=redis)
    acquisitions, conflicts = (sum(getattr(core, name) for core in passed.cores)
                               for name in ("acquisitions", "conflicts"))
    total = passed.total
    fallbacks = ratio(total.transactions.fallbacks, total.entries) if snapshot.regime == "rtm" else None
    return Rates(used, total.entries / seconds, total.switches / seconds, ratio(conflicts, acquisitions), fallbacks,
                 redis)


def _mean(cores: list[Rates]) -> float | None:
    known = [rates.utilisation for rates in cores if rates.utilisation is not None]
    return sum(known) / len(known) if known else None


def _lock(cluster: int, name: str, lock: LockStat, seconds: float) -> LockRow:
    counters = _per_second(lock, LOCK_COUNTERS, seconds)
    return LockRow(cluster, name, lock.instances, counters["acquisitions"], counters["conflicts"], lock.conflict_ratio,
                   counters)


def _per_second(counted: Part, names: Iterable[str], seconds: float) -> dict[str, float]:
    return {name: getattr(counted, name) / seconds for name in names}


def _whole(clusters: list[ClusterRow], cores: list[CoreRow], before: dict[int, Snapshot], later: Look,
           redis: dict[str, float | None]) -> Rates:
    counting = [s.since(before[s.cluster]) for s in later.snapshots if s.counted and s.cluster in before
                and _continues(before[s.cluster], s)]
    acquisitions, conflicts = (sum(getattr(core, name) for s in counting for core in s.cores)
                               for name in ("acquisitions", "conflicts"))
    eliding = [s.total for s in counting if s.regime == "rtm"]
    fallbacks = ratio(sum(t.transactions.fallbacks for t in eliding),
                      sum(t.entries for t in eliding)) if eliding else None
    return Rates(_mean([row.rates for row in cores]), _sum(row.rates.entries for row in clusters),
                 _sum(row.rates.switches for row in clusters), ratio(conflicts, acquisitions) if counting else None,
                 fallbacks, _sum(redis.values()))
