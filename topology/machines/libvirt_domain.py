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


def domain(machine: Machine, cluster_map: ClusterMap, name: str = "skerry", kind: str = "kvm") -> str:
    """A domain without disks, network or console, as text: what a machine is made of, and nothing else.

    On the host that the machine was read from, the processors of a cluster run on those of the host that it was
    made for, and its memory comes from their nodes.
    """
    root = ElementTree.Element("domain", type=kind)
    _text(root, "name", name)
    for element in machine_elements(machine, [c.cpus for c in cluster_map.clusters] if machine.host_nodes else None):
        root.append(element)
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
    elements = [_memory(on_board), *_vcpus(board, everywhere)]
    if pinned is not None:
        elements.append(_cputune(machine, board, number, pinned))
        if machine.host_nodes:
            elements.append(_numatune(on_board))
    system = ElementTree.Element("os")
    _text(system, "type", "hvm", arch="x86_64", machine="q35")
    features = ElementTree.Element("features")
    ElementTree.SubElement(features, "acpi")
    ElementTree.SubElement(features, "apic")
    cpu = _cpu(on_board, board, number)
    if len(everywhere) <= MANY:
        return [*elements, system, features, cpu]
    ElementTree.SubElement(features, "ioapic", driver="qemu")
    return [*elements, system, features, cpu, _iommu()]


def _text(parent: Element, tag: str, text: object, **attributes: str) -> Element:
    child = ElementTree.SubElement(parent, tag, attributes)
    child.text = str(text)
    return child


def _iommu() -> Element:
    """libvirt wants one that can send interrupts to APIC ids of more than eight bits."""
    devices = ElementTree.Element("devices")
    iommu = ElementTree.SubElement(devices, "iommu", model="intel")
    ElementTree.SubElement(iommu, "driver", intremap="on", eim="on")
    return devices


def _memory(machine: Machine) -> Element:
    element = ElementTree.Element("memory", unit="KiB")
    element.text = str(sum(r.size for r in machine.memory) // KIB)
    return element


def _vcpus(board: Grid, everywhere: list[Place]) -> list[Element]:
    """Places that stay empty are processors that are not enabled."""
    present = set(board.places)
    count = ElementTree.Element("vcpu", placement="static")
    count.text = str(len(everywhere))
    if len(present) == len(everywhere):
        return [count]
    count.set("current", str(len(present)))
    each = ElementTree.Element("vcpus")
    for i, where in enumerate(everywhere):
        enabled = "yes" if where in present else "no"
        ElementTree.SubElement(each, "vcpu", id=str(i), enabled=enabled, hotpluggable="no" if i == 0 else "yes")
    return [count, each]


def _cputune(machine: Machine, board: Grid, number: dict[Place, int], pinned: Sequence[Sequence[int]]) -> Element:
    element = ElementTree.Element("cputune")
    for members in pinned:
        here = format_spans(machine.cores[i].number for i in members)
        for i in members:
            ElementTree.SubElement(element, "vcpupin", vcpu=str(number[board.places[i]]), cpuset=here)
    return element


def _numatune(machine: Machine) -> Element:
    """Each cell's memory comes from the node that it stands for."""
    element = ElementTree.Element("numatune")
    cells = [(cell, node) for cell, node in zip(machine.nodes, machine.host_nodes) if machine.memory_of(cell)]
    everywhere = format_spans(node for _, node in cells)
    ElementTree.SubElement(element, "memory", mode="strict", nodeset=everywhere)
    for cell, node in cells:
        ElementTree.SubElement(element, "memnode", cellid=str(cell), mode="strict", nodeset=str(node))
    return element


def _cpu(machine: Machine, board: Grid, number: dict[Place, int]) -> Element:
    cpu = ElementTree.Element("cpu", mode="maximum")
    widths = {"sockets": board.sockets, "dies": board.dies, "cores": board.cores, "threads": board.threads}
    ElementTree.SubElement(cpu, "topology", {name: str(width) for name, width in widths.items()})
    if any(core.l3 is not None for core in machine.cores):
        ElementTree.SubElement(cpu, "cache", level="3", mode="emulate")  # one for each die
    if (bits := address_bits(machine)) is not None:
        ElementTree.SubElement(cpu, "maxphysaddr", mode="emulate", bits=str(bits))
    numa = ElementTree.SubElement(cpu, "numa")
    nodes = nodes_of_places(machine, board)
    for node in machine.nodes:
        cell = ElementTree.SubElement(numa, "cell", id=str(node))
        if cpus := [number[where] for where in nodes if nodes[where] == node]:
            cell.set("cpus", format_spans(cpus))
        cell.set("memory", str(machine.memory_of(node) // KIB))
        cell.set("unit", "KiB")
        distances = ElementTree.SubElement(cell, "distances")
        for other in machine.nodes:
            ElementTree.SubElement(distances, "sibling", id=str(other), value=str(machine.distances[node, other]))
    return cpu
