# SPDX-License-Identifier: BSD-2-Clause
"""The rules of a cluster map (docs/cluster-map.md). The first breach is refused with one line.

The loader checks all of this again and trusts nothing of it.
"""

import re
from collections.abc import Iterable

from topology.clustermap import Application, Cluster, ClusterMap, Range
from topology.errors import InputError
from topology.limits import (
    ARGUMENT_PAGES,
    CHANNEL_KERNELS,
    CHANNEL_PORTS,
    MAX_APPLICATIONS,
    MAX_ARGUMENTS,
    MAX_CHANNELS,
    MAX_CLUSTERS,
    MAX_CPUS,
    MAX_MAP_CPUS,
    MAX_MODULES,
    MAX_RANGES,
    NAME_SIZE,
    PORT_SIZE,
)
from topology.machine import Machine, MemoryRange
from topology.machines_check import check_machines, check_shared
from topology.network_check import check_network
from topology.units import LARGE_PAGE, PAGE, format_size

AUXILIARY = 512  # bytes at most, beside arguments
ONE_CORE_KERNELS = ("none", "none+stat")


def check_map(cluster_map: ClusterMap, machine: Machine | None = None) -> None:
    """Raises InputError for a map that breaks a rule; with `machine`, for one that does not fit it too."""
    if machine is not None:
        _check_against(cluster_map, machine)
    _check_cpus(cluster_map)
    if cluster_map.machines > 1:
        check_machines(cluster_map)
    else:
        _check_memory_nodes(cluster_map)
        _check_distances(cluster_map)
    _check_clusters(cluster_map)
    _check_channels(cluster_map)
    _check_overlap(cluster_map)
    _check_applications(cluster_map)
    check_network(cluster_map)
    _check_room(cluster_map)
    if cluster_map.shutdown not in (None, "when-done", "never"):
        raise InputError("run", f"shutdown '{cluster_map.shutdown}' is neither 'when-done' nor 'never'")


def _check_against(cluster_map: ClusterMap, machine: Machine) -> None:
    if cluster_map.machines > 1:
        raise InputError("cluster map", f"describes {cluster_map.machines} machines, and this is one ({machine.name})")
    nodes = {core.apic: core.node for core in machine.cores}
    for cpu in cluster_map.cpus:
        if cpu.apic not in nodes:
            raise InputError(f"cpu@{cpu.apic:x}", f"the machine ({machine.name}) has no core with this APIC id")
        if cpu.node != nodes[cpu.apic]:
            raise InputError(
                f"cpu@{cpu.apic:x}", f"numa-node-id is {cpu.node}, the machine's core is in node {nodes[cpu.apic]}"
            )
    for r in cluster_map.memory:
        where = f"memory@{r.base:x}"
        if not _covered(Range(r.base, r.size), machine.memory):
            raise InputError(where, f"{r} is not all memory of the machine ({machine.name})")
        if not _covered(Range(r.base, r.size), [m for m in machine.memory if m.node == r.node]):
            raise InputError(where, f"numa-node-id is {r.node}, not all of {r} is in that node of the machine")


def _covered(wanted: Range, ranges: Iterable[MemoryRange]) -> bool:
    """Whether `ranges`, which may touch each other, hold all of `wanted`."""
    position = wanted.base
    for r in sorted(ranges, key=lambda m: m.base):
        if r.base <= position < r.end:
            position = r.end
    return position >= wanted.end


def _check_cpus(cluster_map: ClusterMap) -> None:
    if not cluster_map.cpus:
        raise InputError("cpus", "the map names no core")
    if len(cluster_map.cpus) > MAX_MAP_CPUS:
        raise InputError("cpus", f"{len(cluster_map.cpus)} are more than {MAX_MAP_CPUS}")


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


def _check_clusters(cluster_map: ClusterMap) -> None:
    clusters = cluster_map.clusters
    if not clusters:
        raise InputError("clusters", "the map has no cluster")
    if len(clusters) > MAX_CLUSTERS:
        raise InputError("clusters", f"{len(clusters)} are more than {MAX_CLUSTERS}")
    for number, cluster in enumerate(clusters):
        if cluster.number != number:
            raise InputError(cluster.name, f"clusters are numbered 0, 1, ... in order; this should be {number}")
    owner: dict[int, Cluster] = {}
    for cluster in clusters:
        _check_cluster(cluster, cluster_map)
        for cpu in cluster.cpus:
            label = cluster_map.cpu_name(cpu)
            if owner.get(cpu) is cluster:
                raise InputError(cluster.name, f"names {label} twice")
            if cpu in owner:
                raise InputError(cluster.name, f"{label} is in {owner[cpu].name} already")
            owner[cpu] = cluster
    for place in range(len(cluster_map.cpus)):
        if place not in owner:
            raise InputError(cluster_map.cpu_name(place), "is in no cluster")
    for machine in range(cluster_map.machines):
        owners = [c.name for c in clusters if c.devices and cluster_map.machine_of(c) == machine]
        of = f" of machine {machine}" if cluster_map.machines > 1 else ""
        if not owners:
            raise InputError("clusters", f"no cluster{of} has 'devices'")
        if len(owners) > 1:
            raise InputError(owners[1], f"has 'devices', and so has {owners[0]}{of}")


def _check_cluster(cluster: Cluster, cluster_map: ClusterMap) -> None:
    _check_name(cluster.name, "kernel", cluster.kernel, "kernel-")
    _check_name(cluster.name, "root task", cluster.root)
    if len(cluster.cpus) > MAX_CPUS:
        raise InputError(cluster.name, f"{len(cluster.cpus)} cores are more than {MAX_CPUS}")
    if cluster.kernel in ONE_CORE_KERNELS and len(cluster.cpus) > 1:
        raise InputError(cluster.name, f"kernel '{cluster.kernel}' runs on one core, not {len(cluster.cpus)}")
    if len(cluster.memory) > MAX_RANGES:
        raise InputError(cluster.name, f"{len(cluster.memory)} memory ranges are more than {MAX_RANGES}")
    nodes = {cluster_map.cpus[cpu].node for cpu in cluster.cpus}
    nodes |= {m.node for m in cluster_map.memory} - {cpu.node for cpu in cluster_map.cpus}  # anybody may have these
    for r in cluster.memory:
        if r.base % PAGE or r.size % PAGE:
            raise InputError(cluster.name, f"memory {r} is not made of 4 KiB pages")
        if cluster_map.machines > 1:  # which memory each has is not said
            continue
        if not _covered(r, cluster_map.memory):
            raise InputError(cluster.name, f"memory {r} is not all in the map's memory nodes")
        if not _covered(r, [m for m in cluster_map.memory if m.node in nodes]):
            raise InputError(cluster.name, f"memory {r} is not all in NUMA nodes of its own cores")
    if len(cluster.modules) > MAX_MODULES:
        raise InputError(cluster.name, f"{len(cluster.modules)} modules are more than {MAX_MODULES}")
    for module in cluster.modules:
        _check_name(cluster.name, "module", module)
        if cluster.modules.count(module) > 1:
            raise InputError(cluster.name, f"names module '{module}' twice")
        if module == "map":
            raise InputError(cluster.name, "'map' is the cluster map's own name, not a module's")


def _check_channels(cluster_map: ClusterMap) -> None:
    numbers = {c.number for c in cluster_map.clusters}
    pairs: dict[frozenset[int], str] = {}
    for channel in cluster_map.channels:
        for end in channel.ends:
            if end not in numbers:
                raise InputError(channel.name, f"ends in cluster {end}, which does not exist")
        if channel.ends[0] == channel.ends[1]:
            raise InputError(channel.name, f"both ends are cluster {channel.ends[0]}")
        pair = frozenset(channel.ends)
        if pair in pairs:
            raise InputError(channel.name, f"joins the same clusters as {pairs[pair]}")
        pairs[pair] = channel.name
        memory = channel.memory
        if channel.ivshmem:
            continue
        if memory.base % LARGE_PAGE or memory.size % LARGE_PAGE:
            raise InputError(channel.name, f"memory {memory} is not aligned to 2 MiB")
        if cluster_map.machines == 1 and not _covered(memory, cluster_map.memory):
            raise InputError(channel.name, f"memory {memory} is not all in the map's memory nodes")
    for number in numbers:
        if sum(number in c.ends for c in cluster_map.channels) > MAX_CHANNELS:
            raise InputError(f"cluster@{number:x}", f"more than {MAX_CHANNELS} channels end here")
    check_shared(cluster_map)


def _check_overlap(cluster_map: ClusterMap) -> None:
    for machine in range(cluster_map.machines):
        here = {c.number for c in cluster_map.clusters if cluster_map.machine_of(c) == machine}
        given = [(r, c.name) for c in cluster_map.clusters if c.number in here for r in c.memory]
        given += [(c.memory, c.name) for c in cluster_map.channels if c.ends[0] in here and not c.ivshmem]
        given.sort(key=lambda item: item[0].base)
        reach = given[0]
        for r, name in given[1:]:
            if r.base < reach[0].end:
                raise InputError(name, f"memory {r} overlaps {reach[0]} of {reach[1]}")
            reach = (r, name)


def _check_applications(cluster_map: ClusterMap) -> None:
    names = {app.name for app in cluster_map.applications}
    if len(names) > MAX_APPLICATIONS:
        raise InputError("applications", f"{len(names)} are more than {MAX_APPLICATIONS}")
    for app in cluster_map.applications:
        _check_name(app.name, "application", app.base_name, f"@{app.number:x}")
        cluster = cluster_map.cluster_of(app.cpu)
        if cluster is None:
            raise InputError(app.name, f"its {cluster_map.cpu_name(app.cpu)} is in no cluster")
        if app.program not in cluster.modules:
            raise InputError(app.name, f"program '{app.program}' is not among the modules of {cluster.name}")
        if app.heap == 0 or app.heap % LARGE_PAGE:
            raise InputError(app.name, f"heap {format_size(app.heap)} is not a multiple of 2 MiB")
        for other in app.awaits:
            if other not in names:
                raise InputError(app.name, f"awaits '{other}', which does not exist")
        if app.statistics and (not cluster.devices or cluster_map.machine_of(cluster)):
            of = " of machine 0" if cluster_map.machines > 1 else ""
            raise InputError(app.name, f"has 'statistics', but {cluster.name} has no 'devices'{of}: it does not collect them")
        _check_arguments(app)
    _check_await_cycles(cluster_map.applications)
    _check_stacks(cluster_map)


def _check_arguments(app: Application) -> None:
    """They are on the program's stack when it starts, with a pointer to each and the auxiliary vector."""
    words = [app.program, *app.args]
    if len(words) > MAX_ARGUMENTS:
        raise InputError(app.name, f"{len(words) - 1} arguments are more than {MAX_ARGUMENTS - 1}")
    size = sum(len(word.encode()) + 1 for word in words) + 8 * len(words) + AUXILIARY
    if size > ARGUMENT_PAGES * PAGE:
        room = ARGUMENT_PAGES * PAGE - AUXILIARY
        raise InputError(app.name, f"its arguments take {size - AUXILIARY} bytes, and a program has room for {room}")


def _check_stacks(cluster_map: ClusterMap) -> None:
    """A stack is another process of the same cluster, of one program, which has the address."""
    by_name = {app.name: app for app in cluster_map.applications}
    users: dict[str, str] = {}
    for app in cluster_map.applications:
        if app.stack is None:
            continue
        stack = by_name.get(app.stack)
        if stack is None:
            raise InputError(app.name, f"its stack '{app.stack}' does not exist")
        if stack is app or stack.stack or stack.role:
            raise InputError(app.name, f"'{app.stack}' can be nobody's stack")
        if cluster_map.cluster_of(stack.cpu) is not cluster_map.cluster_of(app.cpu):
            raise InputError(app.name, f"its stack '{app.stack}' is in another cluster")
        if app.ipv4 is None or stack.ipv4 is not None:
            raise InputError(app.name, f"the program has the address, and its stack '{app.stack}' none")
        if app.stack in users:
            raise InputError(app.name, f"'{app.stack}' is the stack of {users[app.stack]} already")
        users[app.stack] = app.name


def _check_await_cycles(applications: list[Application]) -> None:
    awaits = {app.name: app.awaits for app in applications}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise InputError(name, "awaits itself: " + " -> ".join((*path[path.index(name) :], name)))
        if name not in done:
            for other in awaits[name]:
                visit(other, (*path, name))
            done.add(name)

    for name in awaits:
        visit(name, ())


def _check_room(cluster_map: ClusterMap) -> None:
    """Heaps must fit into their cluster's memory, network ports into the channel that carries them."""
    for cluster in cluster_map.clusters:
        apps = [a for a in cluster_map.applications if a.cpu in cluster.cpus]
        heaps, memory = sum(a.heap for a in apps), sum(r.size for r in cluster.memory)
        if heaps >= memory:
            largest = max(apps, key=lambda a: a.heap)
            raise InputError(
                cluster.name,
                f"heaps of {format_size(heaps)} do not fit into {format_size(memory)} (largest: {largest.name})",
            )
        ports = sum(a.ipv4 is not None for a in apps)
        for channel in cluster_map.channels:
            wanted = CHANNEL_PORTS + ports * PORT_SIZE + (CHANNEL_KERNELS if channel.ivshmem else 0)
            if channel.ends[1] == cluster.number and wanted > channel.memory.size:
                memory = format_size(channel.memory.size) if channel.ivshmem else channel.memory
                raise InputError(channel.name, f"memory {memory} has no room for {ports} network ports")


def images_of(cluster_map: ClusterMap) -> list[str]:
    """Every multiboot module that the map needs, kernels first."""
    wanted = [f"kernel-{c.kernel}" for c in cluster_map.clusters] + [c.root for c in cluster_map.clusters]
    wanted += [module for c in cluster_map.clusters for module in c.modules]
    return list(dict.fromkeys(wanted))
