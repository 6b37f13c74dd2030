# SPDX-License-Identifier: BSD-2-Clause
"""A machine and a layout become a cluster map."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from topology.errors import InputError
from topology.grouping import WORDS, group
from topology.layouts import AT, cores_of_sockets, possible_sizes
from topology.limits import MAX_CLUSTERS, MAX_CPUS
from topology.machines.machine import Machine
from topology.maps.clustermap import Channel, Cluster, ClusterMap, Cpu
from topology.maps.memory import carve, channel_size, shares


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
    memory_of = shares(machine, groups, layout)
    channels = []
    for number, members in enumerate(groups[1:], start=1):
        port_count = ports(members) if ports else 3 * len(members)
        memory = carve(memory_of[number], channel_size(port_count), layout, number)
        channels.append(Channel(number - 1, (0, number), memory))
    return ClusterMap(
        cpus=[Cpu(core.apic, core.node) for core in machine.cores],
        memory=list(machine.memory),
        clusters=[Cluster(number, kernel, list(members), memory_of[number], devices=number == 0)
                  for number, members in enumerate(groups)],
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
    raise InputError(f"--layout {layout}", problem + advice, at=AT)


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
    sizes = [f"size={size}" for size in reversed(possible_sizes(cores_of_sockets(machine)))]
    return [name for name in WORDS if _fits(machine, name)] + [name for name in sizes if _fits(machine, name)][:1]
