# SPDX-License-Identifier: BSD-2-Clause
"""What a machine has: cores by their local APIC ids, memory by NUMA node, distances between nodes."""

from dataclasses import dataclass, field

from topology.errors import InputError
from topology.units import GIB, LARGE_PAGE, MIB, format_size

LOCAL_DISTANCE = 10
REMOTE_DISTANCE = 21
FOUR_GIB = 4 * GIB

# QEMU's q35 board: RAM below 4 GiB ends at LOW_MEMORY_SPLIT as soon as there is LOW_MEMORY_MAX of it or more.
LOW_MEMORY_MAX = 0xB0000000
LOW_MEMORY_SPLIT = 0x80000000


@dataclass(frozen=True)
class Core:
    apic: int
    socket: int
    node: int
    l3: int  # cores with the same number share a last-level cache


@dataclass(frozen=True)
class MemoryRange:
    base: int
    size: int
    node: int

    @property
    def end(self) -> int:
        return self.base + self.size

    def __str__(self) -> str:
        return f"{self.base:#x}..{self.end:#x}"


@dataclass(frozen=True)
class Shape:
    """An emulated machine: as many sockets, cores in each, and one NUMA node for each socket."""

    sockets: int = 2
    cores: int = 2
    memory: int = GIB  # of each node

    def __str__(self) -> str:
        return f"{self.sockets} x {self.cores} cores, {format_size(self.memory)} a node"


@dataclass(frozen=True)
class Machine:
    name: str
    cores: tuple[Core, ...]
    memory: tuple[MemoryRange, ...]
    distances: dict[tuple[int, int], int] = field(default_factory=dict, hash=False)
    shape: Shape | None = None  # what QEMU is to emulate

    @property
    def nodes(self) -> list[int]:
        return sorted({r.node for r in self.memory} | {c.node for c in self.cores})

    @property
    def sockets(self) -> list[int]:
        return sorted({c.socket for c in self.cores})


def default_memory(cores: int) -> int:
    """Memory of a node with so many cores: 512 MiB for each, at least 1 GiB."""
    return max(GIB, cores * 512 * MIB)


def apic_ids(sockets: int, cores: int) -> list[list[int]]:
    """Local APIC ids as QEMU gives them: the core's bits are as wide as the largest core number needs."""
    shift = (cores - 1).bit_length()
    return [[socket << shift | core for core in range(cores)] for socket in range(sockets)]


def q35_memory(sizes: list[int]) -> list[MemoryRange]:
    """Physical ranges of the NUMA nodes of a q35 board: nodes fill RAM in order, around the hole below 4 GiB."""
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


def uniform_distances(nodes: list[int]) -> dict[tuple[int, int], int]:
    return {(a, b): LOCAL_DISTANCE if a == b else REMOTE_DISTANCE for a in nodes for b in nodes}


def emulated(shape: Shape) -> Machine:
    """The machine that QEMU makes of `-smp sockets=S,cores=M` with one NUMA node for each socket."""
    if not 1 <= shape.sockets <= 16:
        raise InputError("--sockets", f"{shape.sockets} is not between 1 and 16")
    if not 1 <= shape.cores <= 64:
        raise InputError("--cores", f"{shape.cores} is not between 1 and 64")
    if shape.memory % LARGE_PAGE or shape.memory < 256 * MIB:
        raise InputError("--memory", f"{format_size(shape.memory)} is not a multiple of 2 MiB from 256 MiB on")
    cores = [
        Core(apic, socket, socket, socket)
        for socket, ids in enumerate(apic_ids(shape.sockets, shape.cores))
        for apic in ids
    ]
    nodes = list(range(shape.sockets))
    return Machine(
        name=f"emulated, {shape}",
        cores=tuple(cores),
        memory=tuple(q35_memory([shape.memory] * shape.sockets)),
        distances=uniform_distances(nodes),
        shape=shape,
    )
