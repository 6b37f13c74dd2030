# SPDX-License-Identifier: BSD-2-Clause
"""Counts of kernels between two snapshots that the managers took."""

from collections.abc import Collection

from deploy.base.errors import Failure
from deploy.live.lockstat.record import ratio as ratio
from deploy.live.lockstat.snapshot import Core
from deploy.machine.events import Event, EventStream

LOADED, DONE = "barrier-1", "barrier-2"


def mean(values: Collection[float]) -> float:
    return ratio(sum(values), len(values))


def _ends(events: EventStream, cluster: int, start: str, end: str) -> tuple[Event, Event]:
    """The snapshots of a cluster at two moments."""
    first, last = events.of("stats", cluster=cluster, when=start), events.of("stats", cluster=cluster, when=end)
    if len(first) != 1 or len(last) != 1:
        raise Failure(f"cluster {cluster}: {len(first)} snapshots at {start} and {len(last)} at {end}, not one each")
    if last[0]["tsc"] <= first[0]["tsc"] or float(first[0]["tsc_hz"]) <= 0:
        raise Failure(f"cluster {cluster}: no time passed between {start} and {end}")
    return first[0], last[0]


def seconds(events: EventStream, cluster: int = 0, start: str = LOADED, end: str = DONE) -> float:
    """The time between two moments by the machine's clock, as a cluster's snapshots have it."""
    first, last = _ends(events, cluster, start, end)
    return float(last["tsc"] - first["tsc"]) / float(first["tsc_hz"])


def _lives(events: EventStream, cluster: int, start: str, end: str) -> list[tuple[Core, Core]]:
    """Every core of a cluster at two moments."""
    before, after = ({core.cpu: core for core in Core.of_event(event)} for event in _ends(events, cluster, start, end))
    if before.keys() != after.keys():
        raise Failure(f"cluster {cluster}: {start} and {end} count different cores")
    return [(before[cpu], after[cpu]) for cpu in sorted(before)]


def started_again(events: EventStream, cluster: int, start: str = LOADED, end: str = DONE) -> list[int]:
    """The cores of a cluster, by number in the machine, that were started again between two snapshots."""
    return [after.cpu for before, after in _lives(events, cluster, start, end) if not after.is_life_of(before)]


def between(events: EventStream, cluster: int, start: str = LOADED, end: str = DONE) -> list[Core]:
    """Every core of a cluster from one snapshot to another, but for those that were started again in between."""
    return [after.since(before) for before, after in _lives(events, cluster, start, end) if after.is_life_of(before)]
