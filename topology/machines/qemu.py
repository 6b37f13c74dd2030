# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's arguments for a machine: -smp, -numa and memory. What it then emulates is q35.place(machine)."""

from topology.errors import InputError
from topology.machines.machine import Machine
from topology.machines.q35 import Grid, Place, grid, place
from topology.units import MIB

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
