# SPDX-License-Identifier: BSD-2-Clause
"""Kernel counters: snapshots that the managers take, and what passed between two of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from deploy.errors import Failure
from deploy.events import Event, EventStream
from deploy.lockstat.record import CORE_COUNTERS, LOCK_COUNTERS
from deploy.lockstat.record import ratio as ratio

LOADED, DONE = "barrier-1", "barrier-2"

COUNTERS = (  # of a core in the event "stats"; lib/freestanding/stat_view.c makes it
    "idle", *CORE_COUNTERS[1:], *(f"lock_{name}" for name in LOCK_COUNTERS), "commits",
)  # fmt: skip
_SLACK = 0.02  # of the interval: counters of a running core are not all of one moment


@dataclass(frozen=True)
class CoreInterval:
    """One core between two snapshots, which read it at their own time. All times are TSC cycles."""

    cluster: int
    cpu: int
    cycles: int
    tsc_hz: float
    counters: Mapping[str, int]
    kernel: str  # the image

    @property
    def counted(self) -> bool:
        return self.kernel.endswith("+stat")

    @property
    def regime(self) -> str:
        return self.kernel.partition("+")[0]

    @property
    def seconds(self) -> float:
        return self.cycles / self.tsc_hz

    @property
    def utilisation(self) -> float:
        return min(1.0, max(0.0, 1 - self.counters["idle"] / self.cycles))

    def rate(self, counter: str) -> float:
        return self.counters[counter] / self.seconds

    def problems(self) -> list[str]:
        """Counts that cannot be true."""
        c, found = self.counters, []
        where = f"cpu {self.cpu}"
        found += [f"{where}: '{name}' ran backwards" for name, value in c.items() if value < 0]
        if c["idle"] > self.cycles * (1 + _SLACK):
            found.append(f"{where}: idle for longer than the interval")
        if c["lock_conflicts"] > c["lock_grabs"]:
            found.append(f"{where}: more lock conflicts than grabs")
        if self.counted and not c["entries"]:
            found.append(f"{where}: the kernel was never entered")
        return found


def mean(values: Collection[float]) -> float:
    return ratio(sum(values), len(values))


def _cores(event: Event) -> dict[int, Mapping[str, Any]]:
    return {core["cpu"]: core for core in event["cores"]}


def between(events: EventStream, cluster: int, start: str = LOADED, end: str = DONE) -> list[CoreInterval]:
    """Every core of a cluster from one snapshot to another."""
    first, last = events.of("stats", cluster=cluster, when=start), events.of("stats", cluster=cluster, when=end)
    if len(first) != 1 or len(last) != 1:
        raise Failure(f"cluster {cluster}: {len(first)} snapshots at {start} and {len(last)} at {end}, not one each")
    a, b = first[0], last[0]
    before, after, hz = _cores(a), _cores(b), float(a["tsc_hz"])
    if b["tsc"] <= a["tsc"] or hz <= 0:
        raise Failure(f"cluster {cluster}: no time passed between {start} and {end}")
    if before.keys() != after.keys():
        raise Failure(f"cluster {cluster}: {start} and {end} count different cores")
    return [
        CoreInterval(
            cluster,
            cpu,
            cycles=after[cpu]["tsc"] - before[cpu]["tsc"],
            tsc_hz=hz,
            counters={k: after[cpu][k] - before[cpu][k] for k in COUNTERS},
            kernel=str(a.get("kernel", "")),
        )
        for cpu in sorted(before)
    ]
