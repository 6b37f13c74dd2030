# SPDX-License-Identifier: BSD-2-Clause
"""Rules of maps that describe several machines, and of the memory that machines share."""

from topology.clustermap import Channel, ClusterMap
from topology.errors import InputError
from topology.limits import SHARED_MINIMUM
from topology.units import format_size

PCI_DEVICES = range(1, 32)  # of a bus; 0 is the host bridge


def check_machines(cluster_map: ClusterMap) -> None:
    """What says where memory of *the* machine is has no place in the map of several."""
    present = {cpu.machine for cpu in cluster_map.cpus}
    for machine in range(cluster_map.machines):
        if machine not in present:
            raise InputError("cpus", f"machines are numbered 0, 1, ...; no core is of machine {machine}")
    if cluster_map.memory:
        raise InputError(f"memory@{cluster_map.memory[0].base:x}", "of which of the machines? A map of several says it of clusters only")
    for name, there in (("distance-map", cluster_map.distances), ("machine", cluster_map.shape)):
        if there:
            raise InputError(name, f"describes one machine, and the cores are of {cluster_map.machines}")
    for cluster in cluster_map.clusters:
        machines = sorted({cluster_map.cpus[cpu].machine for cpu in cluster.cpus})
        if len(machines) > 1:
            raise InputError(cluster.name, f"its cores are of machines {machines[0]} and {machines[1]}")


def check_shared(cluster_map: ClusterMap) -> None:
    """Channels between machines have a device at both, those within one have memory."""
    taken: dict[tuple[int, int], str] = {}
    for channel in cluster_map.channels:
        machines = [cluster_map.machine_of(cluster_map.clusters[end]) for end in channel.ends]
        if channel.ivshmem is None:
            if machines[0] != machines[1]:
                raise InputError(channel.name, f"joins machines {machines[0]} and {machines[1]}, and has no 'ivshmem'")
            continue
        if machines[0] == machines[1]:
            raise InputError(channel.name, "has 'ivshmem', and both ends are of one machine")
        _check_size(channel)
        for place in zip(machines, channel.ivshmem):
            if place[1] not in PCI_DEVICES:
                raise InputError(channel.name, f"ivshmem {place[1]:#x} is not a PCI device number from 1 to 0x1f")
            if place in taken:
                raise InputError(channel.name, f"ivshmem {place[1]:#x} of machine {place[0]} is {taken[place]}'s already")
            taken[place] = channel.name


def _check_size(channel: Channel) -> None:
    size = channel.memory.size
    if size < SHARED_MINIMUM or size & (size - 1):
        raise InputError(channel.name, f"size {format_size(size)} is not a power of two from {format_size(SHARED_MINIMUM)} on")
