# SPDX-License-Identifier: BSD-2-Clause
"""Changes of a running machine that its map does not have: clusters that were started again, cores and memory that have
moved."""

from collections import Counter
from collections.abc import Iterable

from deploy.machine.events import Event, cluster_restarts
from topology.units import MIB

_PIECE_MIB = 2  # MEMORY_PIECE_BITS
_GAINED = ("taken", "adopted", "returned")  # enum memory_event, as cluster-manager/root/run/reports.c names them


def reasons(events: Iterable[Event]) -> dict[int, str]:
    """Why each cluster was lost last, of those that were."""
    return {int(event["cluster"]): str(event.get("why")) for event in events if event.kind == "cluster-lost"}


def moved_cores(events: Iterable[Event]) -> dict[int, tuple[int, int]]:
    """Maps each core that has moved to the cluster that it joined last, and how often it has joined another one.

    A core that is late when its cluster is started again joins the same one once more.
    """
    cores: dict[int, tuple[int, int]] = {}
    for event in events:
        if event.kind == "core" and event.get("what") == "joined":
            cpu, cluster = int(event["cpu"]), int(event["cluster"])
            before, moves = cores.get(cpu, (None, 0))
            cores[cpu] = cluster, moves + (cluster != before)
    return dict(sorted(cores.items()))


def moved_memory(events: Iterable[Event]) -> dict[int, int]:
    """Bytes that each cluster has got from others, less what it has given; without those for which that is nothing."""
    balance: Counter[int] = Counter()
    for event in events:
        if event.kind == "memory-moved":
            sign = (event["what"] in _GAINED) - (event["what"] == "given")
            balance[int(event["cluster"])] += sign * int(event["pieces"]) * _PIECE_MIB * MIB
    return {cluster: size for cluster, size in sorted(balance.items()) if size}


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def words(events: Iterable[Event]) -> list[str]:
    """A sentence for each cluster that was started again, and for each core and each cluster's memory that has
    moved."""
    known = list(events)
    why = reasons(known)
    changes = [f"cluster {cluster} was started again, "
               f"{_times(count)}{f'; lost last: {why[cluster]}' if cluster in why else ''}"
               for cluster, count in sorted(cluster_restarts(known).items())]
    changes += [f"core {cpu} is cluster {cluster}'s; it has moved {_times(count)}"
                for cpu, (cluster, count) in moved_cores(known).items()]
    return changes + [
        f"cluster {cluster} has {abs(size) // MIB} MiB of memory {'more' if size > 0 else 'less'} than at boot"
        for cluster, size in moved_memory(known).items()
    ]
