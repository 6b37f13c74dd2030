# SPDX-License-Identifier: BSD-2-Clause
"""Machines: what they are made of (parts.py), and the emulated ones, which have a shape."""

from collections import Counter
from dataclasses import replace

from topology.errors import InputError
from topology.parts import Core, Machine, MemoryRange, Shape
from topology.q35 import place
from topology.units import GIB, LARGE_PAGE, MIB, format_size

__all__ = ["Core", "Machine", "MemoryRange", "Shape", "default_memory", "emulated", "shape_of"]

LOCAL_DISTANCE = 10
REMOTE_DISTANCE = 21


def default_memory(cores: int) -> int:
    """Memory of a node with so many cores: 512 MiB for each, at least 1 GiB."""
    return max(GIB, cores * 512 * MIB)


def uniform_distances(nodes: list[int]) -> dict[tuple[int, int], int]:
    return {(a, b): LOCAL_DISTANCE if a == b else REMOTE_DISTANCE for a in nodes for b in nodes}


def _check(shape: Shape) -> None:
    if not 1 <= shape.sockets <= 16:
        raise InputError("--sockets", f"{shape.sockets} is not between 1 and 16")
    if not 1 <= shape.cores <= 64:
        raise InputError("--cores", f"{shape.cores} is not between 1 and 64")
    if shape.memory % LARGE_PAGE or shape.memory < 256 * MIB:
        raise InputError("--memory", f"{format_size(shape.memory)} is not a multiple of 2 MiB from 256 MiB on")
    for what, parts in (("L3 caches", shape.caches), ("NUMA nodes", shape.nodes)):
        if parts < 0 or shape.cores % max(1, parts):
            raise InputError("machine", f"{shape.cores} cores of a socket cannot be in {parts} {what}")
    if shape.nodes < 1 or not 1 <= shape.threads <= 8:
        raise InputError("machine", f"{shape} cannot be")


def emulated(shape: Shape) -> Machine:
    """The machine of a shape, with what QEMU makes of it."""
    _check(shape)
    cores = []
    for number in range(shape.cpus):
        physical = number // shape.threads
        socket, core = divmod(physical, shape.cores)
        node = socket * shape.nodes + core * shape.nodes // shape.cores
        l3 = socket * shape.caches + core * shape.caches // shape.cores if shape.caches else None
        cores.append(Core(number, socket, node, l3, physical, number))
    nodes = list(range(shape.sockets * shape.nodes))
    found = Machine(
        name=f"emulated, {shape}",
        cores=tuple(cores),
        memory=tuple(MemoryRange(node * shape.memory, shape.memory, node) for node in nodes),
        distances=uniform_distances(nodes),
        shape=shape,
    )
    return place(found)


def shape_of(machine: Machine, memory: int | None = None) -> Shape:
    """The shape of a regular machine, or why it has none.

    Its memory does not have to fit into ours: each node with cores has `memory`, other nodes do not count.
    """
    if machine.shape:
        return machine.shape
    sizes = Counter(socket for socket, _ in {(core.socket, core.physical) for core in machine.cores})
    if len(set(sizes.values())) > 1:
        counts = ", ".join(str(count) for count in sorted(sizes.values()))
        raise InputError(machine.name, f"sockets of different sizes ({counts} cores) cannot be emulated in a run")
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
        raise InputError(machine.name, "its cores, L3 caches or NUMA nodes are not alike: cannot be emulated in a run")
    return shape


def with_shape(machine: Machine) -> Machine:
    """The machine with its shape, where emulating that shape gives the same cores and memory: such a map can be run."""
    sizes = {machine.memory_of(core.node) for core in machine.cores}
    try:
        shape = shape_of(machine, sizes.pop())
        same = emulated(shape)
    except InputError:
        return machine
    cores = [(core.apic, core.node) for core in machine.cores]
    if cores != [(core.apic, core.node) for core in same.cores] or machine.memory != same.memory:
        return machine
    return replace(machine, shape=shape)


def _pattern(machine: Machine) -> list[tuple[int, ...]]:
    """Who shares what with whom, whatever the numbers are."""
    numbers: list[dict[object, int]] = [{}, {}, {}, {}]
    return [
        tuple(known.setdefault(key, len(known)) for known, key in zip(numbers, (c.socket, c.node, c.l3, c.physical)))
        for c in machine.cores
    ]
