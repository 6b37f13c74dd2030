# SPDX-License-Identifier: BSD-2-Clause
"""Layouts: which cores form a cluster, and which memory each cluster and channel gets."""

import re
from collections.abc import Callable, Sequence

from topology.clustermap import Channel, Cluster, ClusterMap, Cpu, Range
from topology.errors import InputError
from topology.machine import Core, Machine
from topology.units import LARGE_PAGE, MIB, align_down, align_up, format_size

NAMES = "per-socket, per-l3, per-numa, spanning, size=N or a map file"

# cluster-manager/lib/include/skerry/channel.h and net/port.h
CHANNEL_PORTS = 0x200000
PORT_SIZE = 0x120000
CHANNEL_MINIMUM = 16 * MIB

_KEYS: dict[str, Callable[[Core], int]] = {
    "per-socket": lambda core: core.socket,
    "per-l3": lambda core: core.l3,
    "per-numa": lambda core: core.node,
    "spanning": lambda core: 0,
}


def is_layout_name(layout: str) -> bool:
    return layout in _KEYS or layout.startswith("size=")


def group(machine: Machine, layout: str) -> list[list[int]]:
    """Places of cores in machine.cores, one list for each cluster."""
    if match := re.fullmatch(r"size=([1-9]\d*)", layout):
        size, everything = int(match[1]), list(range(len(machine.cores)))
        return [everything[i : i + size] for i in range(0, len(everything), size)]
    if layout not in _KEYS:
        raise InputError("--layout", f"'{layout}' is not one of {NAMES}")
    groups: dict[int, list[int]] = {}
    for place, core in enumerate(machine.cores):
        groups.setdefault(_KEYS[layout](core), []).append(place)
    return [groups[key] for key in sorted(groups)]


def channel_size(ports: int) -> int:
    """Memory of a channel that carries so many network ports."""
    return max(CHANNEL_MINIMUM, align_up(CHANNEL_PORTS + ports * PORT_SIZE, LARGE_PAGE))


def _shares(machine: Machine, groups: Sequence[Sequence[int]]) -> list[list[Range]]:
    """Each node's memory goes to the clusters that have cores on it, by the number of these cores.

    Nodes without cores are left out: a cluster has memory of its own cores' nodes only.
    """
    shares: list[list[Range]] = [[] for _ in groups]
    for memory in machine.memory:
        weights = [sum(machine.cores[c].node == memory.node for c in members) for members in groups]
        if not any(weights):
            continue
        takers = [i for i, weight in enumerate(weights) if weight]
        base, total = memory.base, sum(weights)
        for i in takers:
            size = align_down(memory.size * weights[i] // total, LARGE_PAGE)
            end = memory.end if i == takers[-1] else base + size
            if end > base:
                shares[i].append(Range(base, end - base))
            base = end
    return shares


def _carve(share: list[Range], size: int) -> Range:
    """Takes a channel from the start of a cluster's share: away from what firmware keeps at RAM's ends."""
    for i, r in enumerate(share):
        base = align_up(r.base, LARGE_PAGE)
        if base + size <= r.end:
            share[i] = Range(base + size, r.end - base - size)
            if share[i].size == 0:
                del share[i]
            return Range(base, size)
    raise InputError("channel", f"no memory left for {format_size(size)} of it")


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
    shares = _shares(machine, groups)
    channels = []
    for number, members in enumerate(groups[1:], start=1):
        wanted = ports(members) if ports else 3 * len(members)
        channels.append(Channel(number - 1, (0, number), _carve(shares[number], channel_size(wanted))))
    clusters = [
        Cluster(number, kernel, list(members), shares[number], devices=number == 0)
        for number, members in enumerate(groups)
    ]
    for cluster in clusters:
        if not cluster.memory:
            raise InputError(cluster.name, "its cores' NUMA node has no memory")
    return ClusterMap(
        cpus=[Cpu(core.apic, core.node) for core in machine.cores],
        memory=list(machine.memory),
        clusters=clusters,
        channels=channels,
        distances=dict(machine.distances),
        shape=machine.shape,
    )
