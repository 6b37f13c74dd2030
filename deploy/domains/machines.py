# SPDX-License-Identifier: BSD-2-Clause
"""The machines of a deployment, a domain each: one for all clusters, or one for each."""

from collections.abc import Iterator
from dataclasses import dataclass

from deploy.deployment.planner import Plan
from topology.machines.machine import Machine
from topology.maps.clustermap import ClusterMap
from topology.maps.separate import separate


@dataclass(frozen=True)
class Machines:
    cluster_map: ClusterMap  # of all of them
    each: list[Machine]
    pinned: bool  # to the processors of a host whose numbers the cores have, and to its nodes where they have these

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
    """`placed`: the plan's machine with processors and nodes of the host (placement.py)."""
    whole = placed or what.machine
    cluster_map, each = separate(what.cluster_map, whole) if per_cluster else (what.cluster_map, [whole])
    return Machines(cluster_map, each, placed is not None)
