# SPDX-License-Identifier: BSD-2-Clause
"""The rules of a cluster map (docs/cluster-map.md). The first breach is refused with one line.

Those of the loader are the loader's own code (reader.py). Here are the rules of what only this tool reads: names of
files, the nodes that describe the machine's memory, and a machine to compare with.
"""

import re
from collections.abc import Iterable, Mapping

from topology.errors import InputError
from topology.limits import NAME_SIZE
from topology.machines.machine import Machine, MemoryRange
from topology.maps.clustermap import ClusterMap, Range
from topology.maps.dts import compile_dts, write_dts
from topology.maps.reader import can_check, read_map
from topology.units import PAGE


def check_map(cluster_map: ClusterMap, machine: Machine | None = None) -> None:
    """Raises InputError for a map that breaks a rule; with `machine`, for one that does not fit it too."""
    if machine is not None:
        _check_against(cluster_map, machine)
    _check_names(cluster_map)
    if can_check():
        read_map(compile_dts(write_dts(cluster_map)))
    _check_cores(cluster_map)
    if cluster_map.machines > 1:
        _check_several(cluster_map)
    else:
        _check_memory_nodes(cluster_map)
        _check_distances(cluster_map)
        _check_covered(cluster_map)


def _check_against(cluster_map: ClusterMap, machine: Machine) -> None:
    if cluster_map.machines > 1:
        raise InputError("cluster map", f"describes {cluster_map.machines} machines, and this is one ({machine.name})")
    nodes = {core.apic: core.node for core in machine.cores}
    for cpu in cluster_map.cpus:
        if cpu.apic not in nodes:
            raise InputError(f"cpu@{cpu.apic:x}", f"the machine ({machine.name}) has no core with this APIC id")
    labels = _paired(cluster_map, nodes)
    nobodys = {m.node for m in machine.memory}.difference(*labels.values())  # without cores of the map
    for r in cluster_map.memory:
        where = f"memory@{r.base:x}"
        if not _covered(Range(r.base, r.size), machine.memory):
            raise InputError(where, f"{r} is not all memory of the machine ({machine.name})")
        if not _covered(Range(r.base, r.size), [m for m in machine.memory if m.node in labels.get(r.node, nobodys)]):
            raise InputError(where, f"numa-node-id is {r.node}, not all of {r} is in that node of the machine")


def _paired(cluster_map: ClusterMap, nodes: Mapping[int, int]) -> dict[int, set[int]]:
    """The machine's nodes that each node of the map stands for: those of its cores, whatever their numbers.

    As the loader pairs them (map_check_nodes.c): a map may be finer or coarser than the machine, but may not join cores
    of two nodes and separate cores of one of them.
    """
    labels: dict[int, set[int]] = {}
    names: dict[int, set[int]] = {}
    for cpu in cluster_map.cpus:
        labels.setdefault(cpu.node, set()).add(nodes[cpu.apic])
        names.setdefault(nodes[cpu.apic], set()).add(cpu.node)
    for cpu in cluster_map.cpus:
        if len(labels[cpu.node]) > 1 and len(names[nodes[cpu.apic]]) > 1:
            other = next(c for c in cluster_map.cpus if c.node == cpu.node and nodes[c.apic] != nodes[cpu.apic])
            problem = f"numa-node-id is {cpu.node}, as cpu@{other.apic:x}'s, which the machine has in another node"
            raise InputError(f"cpu@{cpu.apic:x}", problem)
    return labels


def _covered(range_: Range, ranges: Iterable[MemoryRange]) -> bool:
    """Whether `ranges`, which may touch each other, hold all of `wanted`."""
    position = range_.base
    for r in sorted(ranges, key=lambda m: m.base):
        if r.base <= position < r.end:
            position = r.end
    return position >= range_.end


def _check_memory_nodes(cluster_map: ClusterMap) -> None:
    if not cluster_map.memory:
        raise InputError("memory", "the map names no memory")
    ranges = sorted(cluster_map.memory, key=lambda m: m.base)
    for r in ranges:
        if r.base % PAGE or r.size % PAGE:
            raise InputError(f"memory@{r.base:x}", "is not made of 4 KiB pages")
    for a, b in zip(ranges, ranges[1:]):
        if b.base < a.end:
            raise InputError(f"memory@{b.base:x}", f"overlaps memory@{a.base:x} ({a})")


def _check_distances(cluster_map: ClusterMap) -> None:
    nodes = {r.node for r in cluster_map.memory} | {c.node for c in cluster_map.cpus}
    for (a, b), distance in cluster_map.distances.items():
        if a not in nodes or b not in nodes:
            raise InputError("distance-map", f"names node {a if a not in nodes else b}, which nothing is in")
        if (a == b) != (distance == 10) or not 10 <= distance <= 255:
            raise InputError("distance-map", f"distance of {a} and {b} cannot be {distance}")
    if cluster_map.distances:
        for a in nodes:
            for b in nodes:
                if (a, b) not in cluster_map.distances:
                    raise InputError("distance-map", f"does not say the distance of {a} and {b}")


def _check_name(where: str, what: str, name: str, prefix: str = "") -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name) or len(prefix + name) >= NAME_SIZE:
        raise InputError(where, f"'{name}' cannot be the name of a {what}")


def _check_names(cluster_map: ClusterMap) -> None:
    for number, cluster in enumerate(cluster_map.clusters):
        if cluster.number != number:
            raise InputError(cluster.name, f"clusters are numbered 0, 1, ... in order; this should be {number}")
        _check_name(cluster.name, "kernel", cluster.kernel, "kernel-")
        _check_name(cluster.name, "root task", cluster.root)
        for module in cluster.modules:
            _check_name(cluster.name, "module", module)
    for app in cluster_map.applications:
        _check_name(app.name, "application", app.base_name, f"@{app.number:x}")


def _check_cores(cluster_map: ClusterMap) -> None:
    used = {cpu for cluster in cluster_map.clusters for cpu in cluster.cpus}
    for place in range(len(cluster_map.cpus)):
        if place not in used:
            raise InputError(cluster_map.cpu_name(place), "is in no cluster")


def _check_covered(cluster_map: ClusterMap) -> None:
    """Checks that memory of clusters and channels is in the map's memory nodes, and in those of a cluster's own
    cores, as far as these have any."""
    filled = {m.node for m in cluster_map.memory}
    nobodys = filled - {cpu.node for cpu in cluster_map.cpus}  # anybody may have these
    for cluster in cluster_map.clusters:
        own = {cluster_map.cpus[cpu].node for cpu in cluster.cpus}
        nodes = nobodys | own if own & filled else filled
        for r in cluster.memory:
            if not _covered(r, cluster_map.memory):
                raise InputError(cluster.name, f"memory {r} is not all in the map's memory nodes")
            if not _covered(r, [m for m in cluster_map.memory if m.node in nodes]):
                raise InputError(cluster.name, f"memory {r} is not all in NUMA nodes of its own cores")
    for channel in cluster_map.channels:
        if channel.ivshmem is None and not _covered(channel.memory, cluster_map.memory):
            raise InputError(channel.name, f"memory {channel.memory} is not all in the map's memory nodes")


def _check_several(cluster_map: ClusterMap) -> None:
    """Refuses in a map of several machines what says where memory of *the* machine is."""
    if cluster_map.memory:
        where = f"memory@{cluster_map.memory[0].base:x}"
        raise InputError(where, "of which of the machines? A map of several says it of clusters only")
    for name, there in (("distance-map", cluster_map.distances), ("machine", cluster_map.shape)):
        if there:
            raise InputError(name, f"describes one machine, and the cores are of {cluster_map.machines}")


def images_of(cluster_map: ClusterMap) -> list[str]:
    """Every multiboot module that the map needs, kernels first."""
    images = [f"kernel-{c.kernel}" for c in cluster_map.clusters] + [c.root for c in cluster_map.clusters]
    images += [module for c in cluster_map.clusters for module in c.modules]
    return list(dict.fromkeys(images))
