# SPDX-License-Identifier: BSD-2-Clause
"""Runs of the same thing, put together: a mean and how far single runs are from it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import mean, stdev

from deploy.report.load import Entry, Source
from deploy.results import kinds


@dataclass(frozen=True)
class Value:
    """One figure of all repeats."""

    runs: tuple[float, ...]
    extent: tuple[float, float] | None = None  # least and greatest of what a single file's figure is the median of

    @property
    def mean(self) -> float:
        return mean(self.runs) if len(self.runs) > 1 else self.runs[0]

    def scaled(self, by: float) -> "Value":
        extent = (self.extent[0] * by, self.extent[1] * by) if self.extent else None
        return Value(tuple(run * by for run in self.runs), extent)

    @property
    def reach(self) -> tuple[float, float]:
        """Returns how far whiskers go to the left and to the right."""
        if self.deviation is not None:
            return self.deviation, self.deviation
        if self.extent:
            return max(0.0, self.mean - self.extent[0]), max(0.0, self.extent[1] - self.mean)
        return 0.0, 0.0

    @property
    def deviation(self) -> float | None:
        """The sample's standard deviation; None of a single run, and of runs that are the same in every digit: these
        are repeats of one computation, and say nothing of how far another may be off."""
        return stdev(self.runs) if len(set(self.runs)) > 1 else None


# Fields that must agree before two results are repeats of one another.
Key = tuple[object, ...]


@dataclass
class Group:
    entry: Entry  # the first run's; it has what all share
    source: Source  # the first run's
    entries: list[Entry] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    one_lock: bool = False  # every layout on the page has the same lock, which is said once

    @property
    def label(self) -> str:
        """Returns what distinguishes this one within its comparison; the load, which all share, is in the heading."""
        e = self.entry
        if e.system == "linux":
            return "Linux"
        return " ".join(part for part in (e.layout, "" if self.one_lock and e.layout else e.lock) if part) or e.system

    @property
    def kind(self) -> str:
        entry = self.entry
        known = (entry.model_extra or {}) | {"kind": entry.kind, "model": entry.model, "emulated": entry.emulated}
        return kinds.kind(known, {"counts_instructions": self.source.document.host.counts_instructions})

    @property
    def same_each_time(self) -> bool:
        """All its runs have the same figures in every digit."""
        return all(len(set(value.runs)) == 1 for metric in self.metrics if (value := self.value(metric)))

    @property
    def repeats(self) -> int:
        return len(self.entries)

    def value(self, metric: str) -> Value | None:
        """Returns the value over those runs that have it, where it is true of a machine."""
        if metric == "boot_to_pong_s" and self.kind == kinds.MODELLED:
            return None  # the host's time, in files of releases that had it
        runs = [run for entry in self.entries if metric not in entry.distorted
                and (run := entry.metrics.get(metric)) is not None]
        extent = self.entry.min_max.get(metric) if len(self.entries) == 1 else None
        return Value(tuple(float(run) for run in runs), extent) if runs else None

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(name for entry in self.entries for name in entry.metrics))

    def latency(self) -> list[tuple[float, int]]:
        """One distribution of all operations of all repeats."""
        total: Counter[float] = Counter()
        for entry in self.entries:
            for value, count in (entry.latency_us or ()) if "p50_us" not in entry.distorted else ():
                total[float(value)] += count
        return sorted((value, count) for value, count in total.items() if count)

    def per_core(self, name: str) -> dict[tuple[int, int], Value]:
        """A figure by (cluster, core)."""
        values: dict[tuple[int, int], list[float]] = {}
        for entry in self.entries:
            for core in entry.per_core if name not in entry.distorted else ():
                value = getattr(core, name)
                if value is not None and core.core is not None:
                    values.setdefault((core.cluster, core.core), []).append(float(value))
        return {place: Value(tuple(runs)) for place, runs in sorted(values.items())}


def groups(sources: Iterable[Source]) -> list[Group]:
    """In the order in which they come. Results of other releases, commits, images, hosts, emulators or sizes are not
    repeats."""
    by_key: dict[Key, Group] = {}
    for source in sources:
        for number, entry in enumerate(source.document.results):
            key: Key = (
                source.setting, entry.system, entry.layout, entry.lock, entry.workload, entry.stack, entry.model,
                entry.clusters, entry.cores, entry.emulated, entry.cluster, entry.kernel, _machine(entry),
                *_told(entry), source.kernels(entry.lock), number if not entry.layout and not entry.lock else None,
            )  # fmt: skip
            group = by_key.setdefault(key, Group(entry, source))
            group.entries.append(entry)
            group.sources.append(source)
    one_lock = len({group.entry.lock for group in by_key.values() if group.entry.layout and group.entry.lock}) == 1
    for group in by_key.values():
        group.one_lock = one_lock
    return list(by_key.values())


def _machine(entry: Entry) -> str | None:
    return entry.machine.name if entry.machine else None


def _told(entry: Entry) -> tuple[object, ...]:
    """Returns the benchmark's parameters, where they are among its metrics."""
    return tuple(entry.metrics.get(name) for name in ("delay_cycles", "rounds", "operations"))


def ratio(first: Group, second: Group, metric: str) -> Value | None:
    """first / second: of each file that has both, else of the means."""
    runs = []
    for source in first.sources:
        a = _of(first, source, metric)
        b = _of(second, source, metric)
        if a is not None and b:
            runs.append(a / b)
    if runs:
        return Value(tuple(runs))
    above, below = first.value(metric), second.value(metric)
    return Value((above.mean / below.mean,)) if above and below and below.mean else None


def _of(group: Group, source: Source, metric: str) -> float | None:
    values = [e.metrics.get(metric) for e, s in zip(group.entries, group.sources) if s is source]
    return values[0] if len(values) == 1 else None
