# SPDX-License-Identifier: BSD-2-Clause
"""Layouts: which cores form a cluster. The threads of a core are never parted."""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import accumulate, groupby

from topology.clustermap import Channel, Cluster, ClusterMap, Cpu
from topology.errors import InputError
from topology.limits import MAX_CLUSTERS, MAX_CPUS
from topology.machine import Core, Machine
from topology.memory import carve, channel_size, shares
from topology.spans import format_spans

NAMES = "per-socket, per-l3, per-numa, spanning, size=N or a map file"

_KEYS: dict[str, Callable[[Core], Hashable]] = {
    "per-socket": lambda core: core.socket,
    "per-l3": lambda core: core.l3,
    "per-numa": lambda core: core.node,
    "spanning": lambda core: 0,
}


def is_layout_name(layout: str) -> bool:
    return layout in _KEYS or layout.startswith("size=")


def group(machine: Machine, layout: str) -> list[list[int]]:
    """Places of cores in machine.cores, one list for each cluster."""
    if match := re.fullmatch(r"size=([1-9]\d{0,5})", layout):
        return _by_size(machine, int(match[1]))
    if layout.startswith("size="):
        raise InputError("--layout", f"'{layout}': the size is not a number of cores")
    if layout not in _KEYS:
        raise InputError("--layout", f"'{layout}' is not one of {NAMES}")
    if layout == "per-l3":
        _check_caches(machine)
    groups: dict[Hashable, list[int]] = {}
    for place, core in enumerate(machine.cores):
        groups.setdefault(_KEYS[layout](core), []).append(place)
    return list(groups.values())


def _check_caches(machine: Machine) -> None:
    without = [place for place, core in enumerate(machine.cores) if core.l3 is None]
    if not without:
        return
    which = "this machine has" if len(without) == len(machine.cores) else f"cpus {format_spans(without)} have"
    raise InputError("--layout per-l3", f"{which} no L3 cache; take per-socket, per-numa or size=N")


def _by_size(machine: Machine, size: int) -> list[list[int]]:
    """Clusters of `size` cores each, all alike, in each socket; or of several whole sockets."""
    threads: dict[int, list[int]] = {}
    for place, core in enumerate(machine.cores):
        threads.setdefault(core.physical, []).append(place)
    sockets = _cores_of_sockets(machine)
    cores, possible = list(threads.values()), possible_sizes(sockets)
    if size not in possible:
        runs = [(count, len(list(alike))) for count, alike in groupby(sockets)]
        has = " and ".join(f"{times} of {count} core{'s' * (count > 1)}" for count, times in runs)
        raise InputError(
            f"--layout size={size}",
            f"this machine's sockets ({has}) do not divide into clusters of {size}; "
            f"possible: {', '.join(map(str, possible))}",
        )
    return [[place for core in cores[i : i + size] for place in core] for i in range(0, len(cores), size)]


def _cores_of_sockets(machine: Machine) -> list[int]:
    """How many cores each socket has, threads of a core counted once."""
    return [len({core.physical for core in machine.cores if core.socket == socket}) for socket in machine.sockets]


def possible_sizes(sockets: Sequence[int]) -> list[int]:
    """Of equal clusters, given each socket's number of cores: none lies across a socket's border without filling it."""
    total, borders = sum(sockets), list(accumulate(sockets))
    inside = [n for n in range(1, max(sockets) + 1) if all(count % n == 0 for count in sockets)]
    whole = [n for n in borders if total % n == 0 and all(cut in borders for cut in range(n, total + 1, n))]
    return sorted({*inside, *whole})


def make_map(
    machine: Machine,
    layout: str,
    kernel: str = "clh",
    ports: Callable[[Sequence[int]], int] | None = None,
) -> ClusterMap:
    """The map of a layout, without applications. Each cluster has a channel to the first, which owns the devices.

    `ports(cores)` says how many network ports the programs on these cores will need.
    """
    groups = group(machine, layout)
    _check_limits(machine, groups, layout)
    given = shares(machine, groups, layout)
    channels = []
    for number, members in enumerate(groups[1:], start=1):
        wanted = ports(members) if ports else 3 * len(members)
        memory = carve(given[number], channel_size(wanted), layout, number)
        channels.append(Channel(number - 1, (0, number), memory))
    return ClusterMap(
        cpus=[Cpu(core.apic, core.node) for core in machine.cores],
        memory=list(machine.memory),
        clusters=[
            Cluster(number, kernel, list(members), given[number], devices=number == 0)
            for number, members in enumerate(groups)
        ],
        channels=channels,
        distances=dict(machine.distances),
        shape=machine.shape,
    )


def _check_limits(machine: Machine, groups: list[list[int]], layout: str) -> None:
    largest = max(len(members) for members in groups)
    if largest > MAX_CPUS:
        problem = f"a cluster would have {largest} cpus and a kernel runs on {MAX_CPUS} at most"
    elif len(groups) > MAX_CLUSTERS:
        problem = f"{len(groups)} clusters are more than {MAX_CLUSTERS}"
    else:
        return
    advice = f"; {', '.join(fitting)} would fit" if (fitting := _fitting(machine)) else ""
    if machine.has_smt and _fits(_without_smt(machine), layout):
        advice += ", or --smt off" if advice else "; --smt off would fit"
    raise InputError(f"--layout {layout}", problem + advice)


def _without_smt(machine: Machine) -> Machine:
    first = {core.physical: core for core in reversed(machine.cores)}
    return replace(machine, cores=tuple(core for core in machine.cores if first[core.physical] is core))


def _fits(machine: Machine, layout: str) -> bool:
    try:
        groups = group(machine, layout)
    except InputError:
        return False
    return len(groups) <= MAX_CLUSTERS and max(len(members) for members in groups) <= MAX_CPUS


def _fitting(machine: Machine) -> list[str]:
    """Layouts that keep within the limits; of sizes the largest."""
    sizes = [f"size={size}" for size in reversed(possible_sizes(_cores_of_sockets(machine)))]
    return [name for name in _KEYS if _fits(machine, name)] + [name for name in sizes if _fits(machine, name)][:1]
