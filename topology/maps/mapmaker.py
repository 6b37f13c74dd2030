# SPDX-License-Identifier: BSD-2-Clause
"""A machine and a layout become a cluster map; every byte of memory goes to one cluster or channel, near its cores."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from topology.errors import InputError
from topology.foreign import format_spans
from topology.grouping import WORDS, group
from topology.layouts import AT, cores_of_sockets, possible_sizes
from topology.limits import CHANNEL_PORTS, MAX_CLUSTERS, MAX_CPUS, PORT_SIZE
from topology.machines.machine import Machine, MemoryRange
from topology.machines.parts import first_threads
from topology.maps.clustermap import Channel, Cluster, ClusterMap, Cpu, Range
from topology.units import LARGE_PAGE, MIB, align_down, align_up, format_size

CHANNEL_MINIMUM = 16 * MIB


def channel_size(ports: int) -> int:
    """Memory of a channel that carries so many network ports."""
    return max(CHANNEL_MINIMUM, align_up(CHANNEL_PORTS + ports * PORT_SIZE, LARGE_PAGE))


def shares(machine: Machine, groups: Sequence[Sequence[int]], layout: str) -> list[list[Range]]:
    """Each node's memory goes to the clusters that have cores on it, by the number of these cores.

    Memory of a node that has no cores goes to those of the nodes beside it.
    """
    shares_of: list[list[Range]] = [[] for _ in groups]
    for memory in machine.memory:
        nodes = machine.near.get(memory.node, frozenset({memory.node}))
        weights = [sum(machine.cores[c].node in nodes for c in members) for members in groups]
        for share, piece in zip(shares_of, _split(memory, weights)):
            if piece.size:
                share.append(piece)
    for number, share in enumerate(shares_of):
        if not share:
            nodes = frozenset(machine.cores[c].node for c in groups[number])
            raise InputError(
                f"--layout {layout}",
                f"cluster {number} would have no memory: its cores are in NUMA node {format_spans(nodes)}, which has "
                "none; a layout of larger clusters may join them to a node with memory",
                at=("layout",),
            )
    return [_joined(share) for share in shares_of]


def _split(memory: MemoryRange, weights: Sequence[int]) -> list[Range]:
    """Splits a range by weight, in order, cut between 2 MiB pages; the last one that gets any takes the rest."""
    total = sum(weights)
    last = max((i for i, weight in enumerate(weights) if weight), default=-1)
    parts, base = [], memory.base
    for i, weight in enumerate(weights):
        end = min(memory.end, align_down(base + memory.size * weight // total, LARGE_PAGE)) if total else base
        end = memory.end if i == last else max(end, base) if weight else base
        parts.append(Range(base, end - base))
        base = end
    return parts


def _joined(share: list[Range]) -> list[Range]:
    joined: list[Range] = []
    for r in sorted(share, key=lambda r: r.base):
        if joined and joined[-1].end == r.base:
            joined[-1] = Range(joined[-1].base, joined[-1].size + r.size)
        else:
            joined.append(r)
    return joined


def carve(share: list[Range], size: int, layout: str, number: int) -> Range:
    """Takes a channel from the start of a cluster's share, away from what firmware keeps at RAM's ends."""
    total = sum(r.size for r in share)
    for i, r in enumerate(share):
        base = align_up(max(r.base, LARGE_PAGE), LARGE_PAGE)
        if base + size <= r.end and size < total:
            rest = [Range(r.base, base - r.base), Range(base + size, r.end - base - size)]
            share[i : i + 1] = [piece for piece in rest if piece.size]
            return Range(base, size)
    raise InputError(f"--layout {layout}", f"cluster {number} would have {format_size(total)} of memory, "
                     f"too little beside a channel of {format_size(size)}", at=("layout",))


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
    if machine.has_smt and _fits(replace(machine, cores=first_threads(machine.cores)), layout):
        advice += ", or --smt off" if advice else "; --smt off would fit"
    raise InputError(f"--layout {layout}", problem + advice, at=AT)


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
