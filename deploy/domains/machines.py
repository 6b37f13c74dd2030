# SPDX-License-Identifier: BSD-2-Clause
"""The machines of a deployment, a domain for all clusters or for each, and their places on a host's processors."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from deploy.deployment.planner import Plan
from deploy.deployment.volumes import Share
from topology.machines.machine import Machine
from topology.machines.parts import first_threads
from topology.maps.clustermap import ClusterMap
from topology.maps.separate import separate


@dataclass(frozen=True)
class Machines:
    cluster_map: ClusterMap  # of all of them
    each: list[Machine]
    pinned: bool  # to the processors of a host whose numbers the cores have, and to its nodes where they have these
    shares: tuple[Share, ...] = ()  # folders of the host, of the first machine

    def clusters_of(self, number: int) -> list[list[int]]:
        """Lists the clusters of a machine, each as the places of its cores in it."""
        place = {core.apic: i for i, core in enumerate(self.each[number].cores)}
        m = self.cluster_map
        return [[place[m.cpus[cpu].apic] for cpu in c.cpus] for c in m.clusters if m.machine_of(c) == number]

    def shared(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Memory that a machine shares with others: channel, PCI device number, size."""
        for channel in self.cluster_map.channels:
            for end, slot in zip(channel.ends, channel.ivshmem or ()):
                if self.cluster_map.machine_of(self.cluster_map.clusters[end]) == number:
                    yield channel.number, slot, channel.memory.size


def arrange(what: Plan, placed: Machine | None = None, per_cluster: bool = False) -> Machines:
    """`placed`: the plan's machine with processors and nodes of the host (on_host())."""
    whole = placed or what.machine
    cluster_map, each = separate(what.cluster_map, whole) if per_cluster else (what.cluster_map, [whole])
    return Machines(cluster_map, each, placed is not None, what.shares)


def on_host(machine: Machine, host: Machine, taken: Collection[int] = ()) -> tuple[Machine | None, str]:
    """The machine with a processor of the host for each of its own, neighbours staying neighbours; and in words, why.

    Each NUMA node goes to the first of the host's that has room for its cores, unused ones first; its memory is bound
    there when every node with memory found one that has as much. None where the host has too few processors besides
    those that are taken: two machines that are pinned to the same ones would be worse off than two that move.
    """
    free = _free(machine, host, taken)
    count = sum(map(len, free.values()))
    if len(machine.cores) > count:
        others = f", {len(taken)} of them another deployment's" if taken else ""
        return None, f"not pinned: {len(machine.cores)} cores on {len(host.cores)} of the host{others}"
    room = Counter({node: host.memory_of(node) for node in host.nodes})
    used: set[int] = set()
    chosen: dict[int, int] = {}
    numbers: dict[int, int] = {}  # of the host's processors, by place in machine.cores
    for node in machine.nodes:
        mine = [place for place, core in enumerate(machine.cores) if core.node == node]
        fitting = [n for n in free if len(free[n]) >= len(mine) and room[n] >= machine.memory_of(node)]
        where = min(fitting, key=lambda n: n in used, default=None)
        for place in mine:
            numbers[place] = _take(free, where)
        if where is not None:
            chosen[node] = where
            used.add(where)
            room[where] -= machine.memory_of(node)
    bound = set(chosen) == set(machine.nodes)
    placed = replace(machine,
                     cores=tuple(replace(core, number=numbers[place]) for place, core in enumerate(machine.cores)),
                     host_nodes=tuple(chosen[node] for node in machine.nodes) if bound else ())
    return placed, "pinned" if bound else "pinned; memory not bound: no node of the host has room for it"


def _free(machine: Machine, host: Machine, taken: Collection[int]) -> dict[int, list[int]]:
    """The host's processors by node. Cores without threads get a core of silicon each, where there are enough."""
    cores = [core for core in host.cores if core.number not in taken]
    if not machine.has_smt and len(first := first_threads(cores)) >= len(machine.cores):
        cores = list(first)
    free: dict[int, list[int]] = {}
    for core in cores:
        free.setdefault(core.node, []).append(core.number)
    return free


def _take(free: dict[int, list[int]], node: int | None) -> int:
    """The next free processor of a node, else of the first that has any."""
    return free[node].pop(0) if node is not None else next(numbers for numbers in free.values() if numbers).pop(0)
