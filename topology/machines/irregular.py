# SPDX-License-Identifier: BSD-2-Clause
"""The machine that a map was made for, where it is emulated: its shape says it, or a board and the map's cores."""

from topology.errors import InputError
from topology.machines.machine import emulated, uniform_distances
from topology.machines.parts import Board, Core, Machine, Shape
from topology.machines.qemu import Place, place
from topology.maps.clustermap import ClusterMap


def machine_of(cluster_map: ClusterMap) -> Machine:
    """Returns the machine of a map. A map that describes none is taken to be for two sockets of two cores."""
    board = cluster_map.shape
    return _irregular(cluster_map, board) if isinstance(board, Board) else emulated(board or Shape())


def _irregular(cluster_map: ClusterMap, board: Board) -> Machine:
    """The cores that the map names and no others, its memory, its distances; refused unless QEMU makes just these."""
    cores = []
    for where, number in sorted((_place(board, cpu.apic), i) for i, cpu in enumerate(cluster_map.cpus)):
        socket, die, place_in_die, _ = where
        l3 = socket * board.caches + die if board.caches else None
        physical = (socket * max(1, board.caches) + die) * board.cores + place_in_die
        cpu = cluster_map.cpus[number]
        cores.append(Core(cpu.apic, socket, cpu.node, l3, physical, number))
    nodes = sorted({core.node for core in cores} | {range_.node for range_ in cluster_map.memory})
    machine = Machine(
        name=f"emulated, {len(cores)} cores, {board}",
        cores=tuple(cores),
        memory=tuple(cluster_map.memory),
        distances=dict(cluster_map.distances) or uniform_distances(nodes),
        shape=board,
    )
    made = place(machine)
    for core, same in zip(machine.cores, made.cores):
        if (core.apic, core.node) != (same.apic, same.node):
            raise InputError(
                f"cpu@{core.apic:x}",
                f"cannot be emulated: of these cores and nodes QEMU makes APIC id {same.apic:#x} in node {same.node} "
                f"of it",
            )
    if machine.memory != made.memory:
        differs = next((r for r in machine.memory if r not in made.memory), machine.memory[-1])
        raise InputError(f"memory@{differs.base:x}",
                         f"cannot be emulated: QEMU has no memory of node {differs.node} just there")
    return machine


def _place(board: Board, apic: int) -> Place:
    """Splits an APIC id as topology.machines.qemu.Grid makes it: each part has as many bits as its largest number
    needs."""
    numbers, rest = [], apic
    for width in (board.threads, board.cores, max(1, board.caches)):
        bits = (width - 1).bit_length()
        numbers.append(rest & ((1 << bits) - 1))
        rest >>= bits
        if numbers[-1] >= width:
            raise InputError(f"cpu@{apic:x}", f"is not on the machine of this map, with {board}")
    if rest >= board.sockets:
        raise InputError(f"cpu@{apic:x}", f"is not on the machine of this map, with {board}")
    thread, core, die = numbers
    return rest, die, core, thread
