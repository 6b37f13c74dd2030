# SPDX-License-Identifier: BSD-2-Clause
"""A machine and a layout become a cluster map, or a refusal that names layouts of which a map can be made."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from topology.errors import InputError
from topology.grouping import WORDS, group
from topology.layouts import AT, Clusters, Unfit, cores_of_sockets, is_homed, possible_sizes
from topology.limits import CHANNEL_PORTS, MAX_CLUSTERS, MAX_CPUS, PORT_SIZE
from topology.machines.machine import Machine
from topology.machines.parts import first_threads
from topology.maps.clustermap import Channel, Cluster, ClusterMap, Cpu
from topology.maps.shares import carve, shares
from topology.units import LARGE_PAGE, MIB, align_up

CHANNEL_MINIMUM = 16 * MIB
Ports = Callable[[Sequence[int]], int]  # the network ports that the programs on these cores will need


def channel_size(ports: int) -> int:
    """Memory of a channel that carries so many network ports."""
    return max(CHANNEL_MINIMUM, align_up(CHANNEL_PORTS + ports * PORT_SIZE, LARGE_PAGE))


def make_map(machine: Machine, layout: str, kernel: str = "clh", ports: Ports | None = None) -> ClusterMap:
    """Returns the map of a layout, without applications. Each cluster has a channel to the first, which owns the
    devices. Raises InputError, with the layouts that the machine can have where this one does not fit it."""
    try:
        return _make(machine, layout, kernel, ports)
    except Unfit as error:
        raise _advised(error, machine, layout, ports) from None


def divide(machine: Machine, layout: str) -> Clusters:
    """Returns the clusters of a layout as group() does. Raises InputError as make_map() does."""
    try:
        return group(machine, layout)
    except Unfit as error:
        raise _advised(error, machine, layout, None) from None


def _make(machine: Machine, layout: str, kernel: str, ports: Ports | None) -> ClusterMap:
    groups = group(machine, layout)
    _check_limits(groups, layout)
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


def _check_limits(groups: Sequence[Sequence[int]], layout: str) -> None:
    largest = max(len(members) for members in groups)
    if largest > MAX_CPUS:
        raise Unfit(f"--layout {layout}",
                    f"a cluster would have {largest} cpus and a kernel runs on {MAX_CPUS} at most", at=AT)
    if len(groups) > MAX_CLUSTERS:
        raise Unfit(f"--layout {layout}", f"{len(groups)} clusters are more than {MAX_CLUSTERS}", at=AT)


def _can_be(machine: Machine, layout: str, ports: Ports | None) -> bool:
    try:
        _make(machine, layout, "clh", ports)
    except Unfit:
        return False
    return True


def _advised(error: Unfit, machine: Machine, layout: str, ports: Ports | None) -> InputError:
    return InputError(error.culprit, error.problem + _advice(machine, layout, ports), at=error.at)


def _advice(machine: Machine, layout: str, ports: Ports | None) -> str:
    """Returns the end of a refusal: the layouts of which a map can be made, or without SMT this one."""
    sizes = [size for size in possible_sizes(cores_of_sockets(machine)) if _can_be(machine, f"size={size}", ports)]
    if layout.startswith("size=") and not _is_possible(machine, layout):
        return f"; possible: {', '.join(map(str, sizes))}" if sizes else ""
    named = [name for name in WORDS if not is_homed(name) and name != layout and _can_be(machine, name, ports)]
    named += [f"size={size}" for size in _along_caches(machine, sizes)]
    advice = f"; {', '.join(named)} would fit" if named else ""
    if machine.has_smt and _can_be(replace(machine, cores=first_threads(machine.cores)), layout, None):
        advice += ", or --smt off" if advice else "; --smt off would fit"
    return advice


def _is_possible(machine: Machine, layout: str) -> bool:
    """Whether a size divides the machine, however large it is."""
    return int(layout.removeprefix("size=")) in possible_sizes(cores_of_sockets(machine))


def _along_caches(machine: Machine, sizes: Sequence[int]) -> list[str]:
    """Returns the largest of these sizes whose clusters lie within one L3 cache and one NUMA node or hold whole ones,
    else the largest of all with what its clusters lie across; nothing of none."""
    crossed = {size: _crossed(machine, size) for size in sizes}
    best = max((size for size in sizes if not crossed[size]), default=None) or max(sizes, default=None)
    if best is None:
        return []
    return [f"{best} (across {' and '.join(crossed[best])})" if crossed[best] else f"{best}"]


def _crossed(machine: Machine, size: int) -> list[str]:
    """Returns what some cluster of this size has a part of, beside other parts: L3 caches, NUMA nodes."""
    numbers: dict[str, list[int | None]] = {"L3 caches": [core.l3 for core in machine.cores],
                                            "NUMA nodes": [core.node for core in machine.cores]}
    groups = group(machine, f"size={size}")
    return [name for name, of in numbers.items() if None not in of and any(_parts(of, members) for members in groups)]


def _parts(of: Sequence[int | None], members: Sequence[int]) -> bool:
    """Whether cores are of several caches, or nodes, and one of these has other cores, too."""
    touched = {of[place] for place in members}
    return len(touched) > 1 and sum(number in touched for number in of) > len(members)
