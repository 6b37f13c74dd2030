# SPDX-License-Identifier: BSD-2-Clause
"""Machines: what they are made of (parts.py), and the emulated ones, regular or like one that exists."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from math import ceil

from topology.errors import InputError
from topology.machines.parts import Board, Core, Machine, MemoryRange, Shape, first_threads
from topology.machines.qemu import MAX_CPUS, grid, place
from topology.units import GIB, LARGE_PAGE, MIB, format_size

__all__ = [
    *("Board", "Core", "Machine", "MemoryRange", "Shape", "default_memory", "emulated", "like", "one_thread_per_core"),
    *("shape_of", "with_memory", "with_shape"),
]

LOCAL_DISTANCE = 10
REMOTE_DISTANCE = 21


def default_memory(cores: int) -> int:
    """Memory of a node with so many cores: 512 MiB for each, at least 1 GiB."""
    return max(GIB, cores * 512 * MIB)


def uniform_distances(nodes: list[int]) -> dict[tuple[int, int], int]:
    return {(a, b): LOCAL_DISTANCE if a == b else REMOTE_DISTANCE for a in nodes for b in nodes}


def _check(shape: Shape) -> None:
    if not 1 <= shape.sockets <= 16:
        raise InputError("--sockets", f"{shape.sockets} is not between 1 and 16", at=("sockets",))
    if not 1 <= shape.cores <= MAX_CPUS:
        raise InputError("--cores", f"{shape.cores} is not between 1 and {MAX_CPUS}", at=("cores",))
    _check_memory(shape.memory)
    for what, parts in (("L3 caches", shape.caches), ("NUMA nodes", shape.nodes)):
        if parts < 0 or shape.cores % max(1, parts):
            raise InputError("machine", f"{shape.cores} cores of a socket cannot be in {parts} {what}", at=("machine",))
    if shape.nodes < 1 or not 1 <= shape.threads <= 8:
        raise InputError("machine", f"{shape} is not possible", at=("machine",))


def _check_memory(size: int) -> None:
    if size % LARGE_PAGE or size < 256 * MIB:
        raise InputError("--memory", f"{format_size(size)} is not a multiple of 2 MiB from 256 MiB on", at=("memory",))


def emulated(shape: Shape | Machine) -> Machine:
    """The machine of a shape, with what QEMU makes of it; one that `like` made is that already."""
    if isinstance(shape, Machine):
        return shape
    _check(shape)
    cores = []
    for number in range(shape.cpus):
        physical = number // shape.threads
        socket, core = divmod(physical, shape.cores)
        node = socket * shape.nodes + core * shape.nodes // shape.cores
        l3 = socket * shape.caches + core * shape.caches // shape.cores if shape.caches else None
        cores.append(Core(number, socket, node, l3, physical, number))
    nodes = list(range(shape.sockets * shape.nodes))
    machine = Machine(
        name=f"emulated, {shape}",
        cores=tuple(cores),
        memory=tuple(MemoryRange(node * shape.memory, shape.memory, node) for node in nodes),
        distances=uniform_distances(nodes),
        shape=shape,
    )
    return place(machine)


def like(machine: Machine, memory: int | None = None) -> Shape | Machine:
    """Returns what is emulated like a machine: its shape, if it is regular, else sockets, L3 caches, nodes and threads
    one by one.

    Its memory does not have to fit into ours: each node that has any gets `memory` bytes, or what its cores need by
    default.
    Nodes without memory or cores stay such.
    """
    with_cores = {core.node for core in machine.cores}
    if memory:
        _check_memory(memory)
    if with_cores == {range_.node for range_ in machine.memory}:
        try:
            return shape_of(machine, memory)
        except InputError:
            pass
    return with_memory(machine, memory or default_memory)


def with_memory(shape: Shape | Machine, size: int | Callable[[int], int]) -> Shape | Machine:
    """With so much memory in each node that has any, or `size(cores)` by the number of cores that it has to serve."""
    if isinstance(size, int):
        _check_memory(fixed := size)
        return with_memory(shape, lambda cores: fixed)
    if isinstance(shape, Shape):
        return replace(shape, memory=size(shape.cores * shape.threads // shape.nodes))
    memory = tuple(MemoryRange(0, size(cores), node) for node, cores in _served(shape).items())
    changed = place(replace(shape, memory=memory))
    return replace(changed, shape=board_of(changed))


def one_thread_per_core(shape: Shape | Machine) -> Shape | Machine:
    """Returns the machine without SMT, with the same memory. A shape that has none is returned as it is."""
    if isinstance(shape, Shape):
        return shape if shape.threads == 1 else replace(shape, threads=1)
    if not shape.has_smt:
        return shape
    reduced = place(replace(shape, cores=first_threads(shape.cores)))
    return replace(reduced, shape=board_of(reduced))


def beside(machine: Machine, node: int) -> frozenset[int]:
    """Returns the nodes with memory and without cores that are beside a node: fast memory, expanders."""
    return frozenset(other for other in {r.node for r in machine.memory} if node in machine.near.get(other, ()))


def homes(machine: Machine, socket: int, node: int, own: Collection[int] = ()) -> frozenset[int]:
    """Returns the nodes whose memory the cores of a node use: the node itself, what is beside it where it has no
    memory, else the nearest of the nodes `own` that have some, else of the socket's, else of the machine's."""
    filled = {r.node for r in machine.memory}
    if node in filled:
        return frozenset({node})
    if attached := beside(machine, node):
        return attached
    known = filled & set(own) or filled & {core.node for core in machine.cores if core.socket == socket} or filled
    far = {other: machine.distances.get((node, other), REMOTE_DISTANCE) for other in known}
    return frozenset(other for other in known if far[other] == min(far.values()))


def _served(machine: Machine) -> dict[int, int]:
    """Cores that each node with memory serves: its own, and those whose node has none."""
    count = dict.fromkeys(sorted({range_.node for range_ in machine.memory}), Fraction())
    for (socket, node), cores in Counter((core.socket, core.node) for core in machine.cores).items():
        near = homes(machine, socket, node)
        for other in near:
            count[other] += Fraction(cores, len(near))
    return {node: ceil(cores) for node, cores in count.items()}


def board_of(machine: Machine) -> Board:
    used = grid(machine.cores)
    caches = used.dies if any(core.l3 is not None for core in machine.cores) else 0
    return Board(used.sockets, caches, used.cores, used.threads)


def shape_of(machine: Machine, memory: int | None = None) -> Shape:
    """The shape of a regular machine, or why it has none: each of its nodes has `memory`, or enough for its cores."""
    if isinstance(machine.shape, Shape):
        return machine.shape
    sizes = Counter(socket for socket, _ in {(core.socket, core.physical) for core in machine.cores})
    if len(set(sizes.values())) > 1:
        raise InputError(machine.name, "has sockets of different sizes", at=("machine",))
    first = [core for core in machine.cores if core.socket == machine.cores[0].socket]
    physical = len({core.physical for core in first})
    caches = {core.l3 for core in first}
    shape = Shape(
        sockets=len(sizes),
        cores=physical,
        memory=memory or default_memory(max(Counter(core.node for core in machine.cores).values())),
        caches=0 if caches == {None} else len(caches),
        nodes=len({core.node for core in first}),
        threads=max(Counter(core.physical for core in first).values()),
    )
    alike = len(first) == physical * shape.threads and physical % max(1, shape.caches) == 0 == physical % shape.nodes
    if not alike or _pattern(emulated(shape)) != _pattern(machine):
        raise InputError(machine.name, "has cores, L3 caches or NUMA nodes that are not alike", at=("machine",))
    return shape


def with_shape(machine: Machine) -> Machine:
    """The machine with its shape, where emulating that gives the same cores and memory: such a map can be run."""
    sizes = {machine.memory_of(core.node) for core in machine.cores}
    try:
        shape = shape_of(machine, max(sizes))
        if _places(emulated(shape)) == _places(machine):
            return replace(machine, shape=shape)
    except InputError:
        pass
    return replace(machine, shape=board_of(machine)) if _places(place(machine)) == _places(machine) else machine


def _places(machine: Machine) -> tuple[list[tuple[int, int]], tuple[MemoryRange, ...]]:
    return [(core.apic, core.node) for core in machine.cores], machine.memory


def _pattern(machine: Machine) -> list[tuple[int, ...]]:
    """Returns which processors share what, whatever their numbers are."""
    numbers: list[dict[object, int]] = [{}, {}, {}, {}]
    return [
        tuple(known.setdefault(key, len(known)) for known, key in zip(numbers, (c.socket, c.node, c.l3, c.physical)))
        for c in machine.cores
    ]
