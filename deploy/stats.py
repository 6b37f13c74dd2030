# SPDX-License-Identifier: BSD-2-Clause
"""What kernels counted between two snapshots that the managers took."""

from collections.abc import Collection

from deploy.errors import Failure
from deploy.events import EventStream
from deploy.lockstat.record import ratio as ratio
from deploy.lockstat.snapshot import Core

LOADED, DONE = "barrier-1", "barrier-2"


def mean(values: Collection[float]) -> float:
    return ratio(sum(values), len(values))


def between(events: EventStream, cluster: int, start: str = LOADED, end: str = DONE) -> list[Core]:
    """Every core of a cluster from one snapshot to another."""
    first, last = events.of("stats", cluster=cluster, when=start), events.of("stats", cluster=cluster, when=end)
    if len(first) != 1 or len(last) != 1:
        raise Failure(f"cluster {cluster}: {len(first)} snapshots at {start} and {len(last)} at {end}, not one each")
    a, b = first[0], last[0]
    before, after = ({core.cpu: core for core in Core.of_event(event)} for event in (a, b))
    if b["tsc"] <= a["tsc"] or float(a["tsc_hz"]) <= 0:
        raise Failure(f"cluster {cluster}: no time passed between {start} and {end}")
    if before.keys() != after.keys():
        raise Failure(f"cluster {cluster}: {start} and {end} count different cores")
    return [after[cpu].since(before[cpu]) for cpu in sorted(before)]
