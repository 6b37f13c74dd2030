# SPDX-License-Identifier: BSD-2-Clause
"""A machine as QEMU emulates it: its arguments (-smp, -numa, memory), and what its q35 board makes of them: APIC ids,
node numbers and physical addresses follow the board's rules."""

from dataclasses import dataclass, replace

from topology.errors import InputError
from topology.machines.parts import Core, Machine, MemoryRange
from topology.units import GIB, LARGE_PAGE, MIB, align_down

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


MAX_CPUS = 1024  # of the loader's tables too
ADDRESS_BITS = range(40, 53)  # that QEMU can emulate; 40 unless told otherwise


def address_bits(machine: Machine) -> int | None:
    """The width of physical addresses, where the usual 40 bits are not enough.

    SeaBIOS gives the last quarter of the address space to devices, whether or not there is RAM in it.
    """
    end = max(r.end for r in place(machine).memory)
    for bits in ADDRESS_BITS:
        if end <= (1 << bits) * 3 // 4:
            return None if bits == ADDRESS_BITS[0] else bits
    raise InputError(machine.name, f"its memory ends at {end:#x}, beyond what QEMU can emulate")


def cpu_argument(machine: Machine) -> str:
    """Returns the argument of -cpu. Memory beyond 1 TiB needs wider addresses, and AMD's processors, which `max` is
    like, have a hole at its end; nor do those have threads without a feature that the emulator lacks."""
    bits = address_bits(machine)
    model = "max,vendor=GenuineIntel" if bits is not None or machine.has_smt else "max"
    return model if bits is None else f"{model},phys-bits={bits}"


def arguments(machine: Machine, cpu_model: str = "max") -> list[str]:
    """Memory is reserved when the guest touches it: a large machine starts on a small one.

    `cpu_model` is -cpu's; processors of irregular machines are named one by one.
    """
    on_board = place(machine)
    board = grid(on_board.cores)
    if len(board.all_places()) > MAX_CPUS:
        raise InputError(machine.name, f"has places for more than {MAX_CPUS} processors")
    words = _processors(board, cpu_model)
    words += ["-m", f"{sum(r.size for r in on_board.memory) // MIB}M"]
    cpus = _coarsest(nodes_of_places(on_board, board))
    for node in on_board.nodes:
        if size := on_board.memory_of(node):
            words += ["-object", f"memory-backend-ram,id=memory{node},size={size // MIB}M,reserve=off"]
        words += ["-numa", f"node,nodeid={node}" + (f",memdev=memory{node}" if size else "")]
        for where in (where for where, other in cpus if other == node):
            words += ["-numa", f"cpu,node-id={node},{_properties(board, where)}"]
    if len(on_board.nodes) > 1:
        for (a, b), distance in sorted(on_board.distances.items()):
            words += ["-numa", f"dist,src={a},dst={b},val={distance}"]
    return words


def _processors(board: Grid, cpu_model: str) -> list[str]:
    """QEMU fills places in order; those behind the first empty one are devices."""
    everywhere, present = board.all_places(), set(board.places)
    filled = next((i for i, where in enumerate(everywhere) if where not in present), len(everywhere))
    smp = f"cpus={filled}" + (f",maxcpus={len(everywhere)}" if filled < len(everywhere) else "")
    smp += f",sockets={board.sockets}" + (f",dies={board.dies}" if board.dies > 1 else "")
    words = ["-smp", f"{smp},cores={board.cores},threads={board.threads}"]
    for where in everywhere[filled:]:
        if where in present:
            words += ["-device", f"{cpu_model}-x86_64-cpu,{_properties(board, where)}"]
    return words


def _properties(board: Grid, where: tuple[int, ...]) -> str:
    names = ("socket-id", "die-id", "core-id", "thread-id")
    return ",".join(f"{name}={value}" for name, value in zip(names, where) if name != "die-id" or board.dies > 1)


def nodes_of_places(machine: Machine, board: Grid) -> dict[Place, int]:
    """An empty place is in the node of its core, or else of the place before it."""
    known = {where[:3]: core.node for where, core in zip(board.places, machine.cores)}
    nodes: dict[Place, int] = {}
    node = machine.cores[0].node
    for where in board.all_places():
        node = nodes[where] = known.get(where[:3], node)
    return nodes


def _coarsest(nodes: dict[Place, int], prefix: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], int]]:
    """Sockets with their nodes; of a socket in several nodes its dies, of such a die its cores."""
    inside = {where: node for where, node in nodes.items() if where[: len(prefix)] == prefix}
    if prefix and len(set(inside.values())) == 1:
        return [(prefix, next(iter(inside.values())))]
    return [part for number in sorted({where[len(prefix)] for where in inside})
            for part in _coarsest(inside, (*prefix, number))]
