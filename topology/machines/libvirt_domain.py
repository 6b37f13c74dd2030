# SPDX-License-Identifier: BSD-2-Clause
"""A machine as a libvirt domain: processors, NUMA cells, and what each is bound to on the host."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace

from topology.errors import InputError
from topology.foreign import format_spans
from topology.machines.machine import Machine
from topology.machines.qemu import Grid, Place, address_bits, grid, nodes_of_places, place
from topology.maps.clustermap import ClusterMap
from topology.units import KIB

MANY = 255  # processors that need nothing special

Element = ElementTree.Element


def element(tag: str, *children: Element, text: object = None, **attributes: object) -> Element:
    """Returns an element with these children, or this text."""
    made = Element(tag, {name: str(value) for name, value in attributes.items()})
    made.text = None if text is None else str(text)
    made.extend(children)
    return made


def domain(machine: Machine, cluster_map: ClusterMap, name: str = "skerry", kind: str = "kvm") -> str:
    """A domain without disks, network or console, as text: what a machine is made of, and nothing else.

    On the host that the machine was read from, the processors of a cluster run on those of the host that it was
    made for, and its memory comes from their nodes.
    """
    pinned = [c.cpus for c in cluster_map.clusters] if machine.host_nodes else None
    root = element("domain", element("name", text=name), *machine_elements(machine, pinned), type=kind)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def machine_elements(machine: Machine, pinned: Sequence[Sequence[int]] | None = None,
                     locked: bool = False) -> list[Element]:
    """The children of <domain> that say which machine it is, in the schema's order.

    `pinned`: each cluster's places in machine.cores; its virtual processors are kept on the host's that these were.
    Only for a machine whose cores have a host's numbers; where it has host_nodes, too, its memory is bound to them.
    `locked`: locked instructions are to stay locked in an emulator, because the machine shares memory with another one.
    QEMU makes plain ones of them where there is one place for a processor, so there are two, and one stays empty.
    """
    on_board = place(machine)
    if bare := [node for node in on_board.nodes if not on_board.memory_of(node)]:
        problem = f"NUMA node {format_spans(bare)} has no memory, and libvirt no cell without any"
        raise InputError(machine.name, f"{problem}; QEMU by itself can do it (skerry run, topology --format qemu)")
    board = grid(on_board.cores)
    if locked and len(board.all_places()) == 1:
        board = replace(board, cores=2)
    everywhere = board.all_places()
    number = {where: i for i, where in enumerate(everywhere)}
    memory = element("memory", text=sum(r.size for r in on_board.memory) // KIB, unit="KiB")
    elements = [memory, *_vcpus(board, everywhere)]
    if pinned is not None:
        elements.append(_cputune(machine, board, number, pinned))
        if machine.host_nodes:
            elements.append(_numatune(on_board))
    system = element("os", element("type", text="hvm", arch="x86_64", machine="q35"))
    features = element("features", element("acpi"), element("apic"))
    cpu = _cpu(on_board, board, number)
    if len(everywhere) <= MANY:
        return [*elements, system, features, cpu]
    features.append(element("ioapic", driver="qemu"))
    return [*elements, system, features, cpu, _iommu()]


def _iommu() -> Element:
    """libvirt wants one that can send interrupts to APIC ids of more than eight bits."""
    return element("devices", element("iommu", element("driver", intremap="on", eim="on"), model="intel"))


def _vcpus(board: Grid, everywhere: list[Place]) -> list[Element]:
    """Places that stay empty are processors that are not enabled."""
    present = set(board.places)
    count = element("vcpu", text=len(everywhere), placement="static")
    if len(present) == len(everywhere):
        return [count]
    count.set("current", str(len(present)))
    each = (element("vcpu", id=i, enabled="yes" if where in present else "no", hotpluggable="no" if i == 0 else "yes")
            for i, where in enumerate(everywhere))
    return [count, element("vcpus", *each)]


def _cputune(machine: Machine, board: Grid, number: dict[Place, int], pinned: Sequence[Sequence[int]]) -> Element:
    spans = ((members, format_spans(machine.cores[i].number for i in members)) for members in pinned)
    return element("cputune", *(element("vcpupin", vcpu=number[board.places[i]], cpuset=here)
                                for members, here in spans for i in members))


def _numatune(machine: Machine) -> Element:
    """Each cell's memory comes from the node that it stands for."""
    cells = [(cell, node) for cell, node in zip(machine.nodes, machine.host_nodes) if machine.memory_of(cell)]
    everywhere = format_spans(node for _, node in cells)
    return element("numatune", element("memory", mode="strict", nodeset=everywhere),
                   *(element("memnode", cellid=cell, mode="strict", nodeset=node) for cell, node in cells))


def _cpu(machine: Machine, board: Grid, number: dict[Place, int]) -> Element:
    cpu = element("cpu", element("topology", sockets=board.sockets, dies=board.dies, cores=board.cores,
                                 threads=board.threads), mode="maximum")
    if any(core.l3 is not None for core in machine.cores):
        cpu.append(element("cache", level=3, mode="emulate"))  # one for each die
    if (bits := address_bits(machine)) is not None:
        cpu.append(element("maxphysaddr", mode="emulate", bits=bits))
    nodes = nodes_of_places(machine, board)
    cells = []
    for node in machine.nodes:
        cpus = [number[where] for where in nodes if nodes[where] == node]
        distances = (element("sibling", id=other, value=machine.distances[node, other]) for other in machine.nodes)
        cells.append(element("cell", element("distances", *distances), id=node,
                             **({"cpus": format_spans(cpus)} if cpus else {}),
                             memory=machine.memory_of(node) // KIB, unit="KiB"))
    cpu.append(element("numa", *cells))
    return cpu
