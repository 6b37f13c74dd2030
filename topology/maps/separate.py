# SPDX-License-Identifier: BSD-2-Clause
"""A map's clusters, each on a machine of its own: what was memory of one machine is shared between two."""

from collections import Counter
from dataclasses import replace

from topology.errors import InputError
from topology.limits import CHANNEL_KERNELS, CHANNEL_PORTS, PORT_SIZE
from topology.machines.machine import Machine, MemoryRange
from topology.machines.qemu import place
from topology.maps.check import check_map
from topology.maps.clustermap import Channel, Cluster, ClusterMap, Cpu, Range
from topology.units import LARGE_PAGE, align_down

WHO = "--per-cluster"
SLOTS = range(0x11, 0x1F)  # PCI devices of a q35 board's bus 0 that neither the board nor the NIC takes


def separate(cluster_map: ClusterMap, machine: Machine) -> tuple[ClusterMap, list[Machine]]:
    """The map of several machines, and each of them: a cluster's cores and its share of memory, on a q35 board.

    `machine` is what `cluster_map` was made for. Numbers of a host that its cores have, and host_nodes, are kept. A
    map of one cluster has nothing to be separated, and stays as it is.
    """
    if len(cluster_map.clusters) < 2:
        return cluster_map, [machine]
    _check(cluster_map)
    machines, cpus = [], list(cluster_map.cpus)
    clusters = []
    for cluster in cluster_map.clusters:
        members = sorted(cluster.cpus, key=lambda cpu: _position(machine, cluster_map.cpus[cpu]))
        own = place(_part(cluster_map, machine, cluster, members))
        for cpu, core in zip(members, own.cores):
            cpus[cpu] = Cpu(core.apic, core.node, cluster.number)
        machines.append(own)
        clusters.append(replace(cluster, memory=[Range(r.base, r.size) for r in own.memory], devices=True))
    apart = replace(
        cluster_map, cpus=cpus, memory=[], distances={}, clusters=clusters, channels=_channels(cluster_map), shape=None
    )
    check_map(apart)
    return apart, machines


def _check(cluster_map: ClusterMap) -> None:
    if cluster_map.machines > 1:
        raise InputError(WHO, f"the map describes {cluster_map.machines} machines already")
    owner = next(c for c in cluster_map.clusters if c.devices)
    if owner.number != 0:
        raise InputError(WHO, f"{owner.name} has 'devices'; only cluster 0 can have the network's machine")
    ends = Counter(end for channel in cluster_map.channels for end in channel.ends)
    for number, count in ends.items():
        if count > len(SLOTS):
            raise InputError(WHO,
                             f"{count} channels would end in cluster {number}, and its domain's PCI bus has places for "
                             f"{len(SLOTS)}: a layout of {len(SLOTS) + 1} clusters at most")


def _position(machine: Machine, cpu: Cpu) -> int:
    return next(i for i, core in enumerate(machine.cores) if core.apic == cpu.apic)


def _part(cluster_map: ClusterMap, machine: Machine, cluster: Cluster, members: list[int]) -> Machine:
    """The cluster's cores, and as much of each node's memory as it has there, with the channels that it gave up."""
    ranges = cluster.memory + [c.memory for c in cluster_map.channels if c.ends[1] == cluster.number]
    sizes: Counter[int] = Counter()
    for r in ranges:
        for m in cluster_map.memory:
            sizes[m.node] += max(0, min(r.end, m.end) - max(r.base, m.base))
    cores = tuple(machine.cores[_position(machine, cluster_map.cpus[cpu])] for cpu in members)
    memory = tuple(MemoryRange(0, size, node) for node, size in sizes.items() if align_down(size, LARGE_PAGE))
    nodes = {r.node for r in memory} | {core.node for core in cores}
    return replace(
        machine,
        name=f"{machine.name}, cluster {cluster.number}",
        cores=cores,
        memory=memory,
        distances={pair: d for pair, d in machine.distances.items() if nodes.issuperset(pair)},
        near={node: neighbours & nodes for node, neighbours in machine.near.items() if node in nodes},
        host_nodes=tuple(on for node, on in zip(machine.nodes, machine.host_nodes) if node in nodes),
        shape=None,
    )


def _channels(cluster_map: ClusterMap) -> list[Channel]:
    """Each has the next place at both ends, and room for what was there, the kernels' part and every network port."""
    used: Counter[int] = Counter()
    channels = []
    for channel in cluster_map.channels:
        a, b = channel.ends
        needed = max(channel.memory.size, CHANNEL_PORTS + cluster_map.ports_between(a, b) * PORT_SIZE + CHANNEL_KERNELS)
        size = 1 << (needed - 1).bit_length()
        channels.append(replace(channel, memory=Range(0, size), ivshmem=(SLOTS[used[a]], SLOTS[used[b]])))
        used.update(channel.ends)
    return channels
