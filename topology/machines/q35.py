# SPDX-License-Identifier: BSD-2-Clause
"""A machine as QEMU's q35 board makes it: APIC ids, node numbers and physical addresses follow the board's rules."""

from dataclasses import dataclass, replace

from topology.machines.parts import Core, Machine, MemoryRange
from topology.units import GIB, LARGE_PAGE, align_down

FOUR_GIB = 4 * GIB

# RAM below 4 GiB ends at LOW_MEMORY_SPLIT as soon as there is LOW_MEMORY_MAX of it or more.
LOW_MEMORY_MAX = 0xB0000000
LOW_MEMORY_SPLIT = 0x80000000

Place = tuple[int, int, int, int]  # socket, die, core, thread


@dataclass(frozen=True)
class Grid:
    """Grid that `-smp` makes: every socket, die and core is as wide as the widest. A die stands for an L3 cache.

    Where a machine is not regular, places stay empty.
    """

    sockets: int
    dies: int
    cores: int
    threads: int
    places: tuple[Place, ...]  # of each of the machine's cores

    def apic(self, place: Place) -> int:
        """Each part of the id has as many bits as its largest number needs."""
        apic = place[0]
        for width, value in zip((self.dies, self.cores, self.threads), place[1:]):
            apic = apic << (width - 1).bit_length() | value
        return apic

    def all_places(self) -> list[Place]:
        """In the order in which QEMU counts processors."""
        return [
            (s, d, c, t)
            for s in range(self.sockets)
            for d in range(self.dies)
            for c in range(self.cores)
            for t in range(self.threads)
        ]


def grid(cores: tuple[Core, ...]) -> Grid:
    numbers: dict[tuple[object, ...], dict[object, int]] = {}

    def number(parent: tuple[object, ...], key: object) -> int:
        known = numbers.setdefault(parent, {})
        return known.setdefault(key, len(known))

    places = []
    for core in cores:
        path = (core.socket, core.l3, core.physical, core.apic)
        s, d, c, t = (number(path[:i], path[i]) for i in range(4))
        places.append((s, d, c, t))
    widths = [max(len(known) for parent, known in numbers.items() if len(parent) == i) for i in range(4)]
    return Grid(widths[0], widths[1], widths[2], widths[3], tuple(places))


def q35_memory(sizes: list[int]) -> list[MemoryRange]:
    """Physical ranges of the NUMA nodes: nodes fill RAM in order, around the hole below 4 GiB."""
    total = sum(sizes)
    low = total if total < LOW_MEMORY_MAX else LOW_MEMORY_SPLIT
    ranges = []
    offset = 0
    for node, size in enumerate(sizes):
        below = max(0, min(size, low - offset))
        if below:
            ranges.append(MemoryRange(offset, below, node))
        if size > below:
            start = FOUR_GIB + max(0, offset - low)
            ranges.append(MemoryRange(start, size - below, node))
        offset += size
    return ranges


def place(machine: Machine) -> Machine:
    """The machine on a q35 board, with whole 2 MiB pages of each node."""
    renumbered = {node: i for i, node in enumerate(machine.nodes)}
    sizes = [align_down(machine.memory_of(node), LARGE_PAGE) for node in renumbered]
    board = grid(machine.cores)
    return replace(
        machine,
        cores=tuple(replace(core, apic=board.apic(where), node=renumbered[core.node])
                    for core, where in zip(machine.cores, board.places)),
        memory=tuple(q35_memory(sizes)),
        distances={(renumbered[a], renumbered[b]): d for (a, b), d in machine.distances.items()},
        near={renumbered[n]: frozenset(renumbered[m] for m in neighbours) for n, neighbours in machine.near.items()},
    )
