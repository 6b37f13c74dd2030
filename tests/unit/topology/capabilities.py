# SPDX-License-Identifier: BSD-2-Clause
"""A libvirt host's capabilities, of a machine that is described the short way."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

Element = ElementTree.Element


@dataclass
class Host:
    """Processors are numbered as many BIOSes do: first threads of all cores, then the second ones."""

    sockets: int = 2
    nodes: int = 1  # of each socket
    cores: int = 4  # of each node
    threads: int = 2
    caches: int = 1  # of each node; 0: none
    memory: int = 32 << 30  # of each node
    offline: set[int] = field(default_factory=set)
    arch: str = "x86_64"

    @property
    def count(self) -> int:
        return self.sockets * self.nodes * self.cores

    def siblings(self, core: int) -> list[int]:
        return [core + thread * self.count for thread in range(self.threads)]

    def xml(self) -> str:
        root = Element("capabilities")
        host = ElementTree.SubElement(root, "host")
        cpu = ElementTree.SubElement(host, "cpu")
        ElementTree.SubElement(cpu, "arch").text = self.arch
        cells = ElementTree.SubElement(ElementTree.SubElement(host, "topology"), "cells")
        for node in range(self.sockets * self.nodes):
            cells.append(self.cell(node))
        banks = ElementTree.SubElement(host, "cache")
        for bank in range(self.caches * self.sockets * self.nodes):
            per = self.cores // self.caches
            cpus = ",".join(str(n) for core in range(bank * per, bank * per + per) for n in self.siblings(core))
            attributes = {"id": str(bank), "level": "3", "type": "both", "size": "16", "unit": "MiB", "cpus": cpus}
            ElementTree.SubElement(banks, "bank", attributes)
        return ElementTree.tostring(root, encoding="unicode")

    def cell(self, node: int) -> Element:
        cell = Element("cell", id=str(node))
        ElementTree.SubElement(cell, "memory", unit="KiB").text = str(self.memory >> 10)
        distances = ElementTree.SubElement(cell, "distances")
        for other in range(self.sockets * self.nodes):
            value = 10 if node == other else 12 if node // self.nodes == other // self.nodes else 32
            ElementTree.SubElement(distances, "sibling", id=str(other), value=str(value))
        cpus = ElementTree.SubElement(cell, "cpus")
        for core in range(node * self.cores, (node + 1) * self.cores):
            for number in self.siblings(core):
                entry = ElementTree.SubElement(cpus, "cpu", id=str(number))
                if number not in self.offline:
                    entry.set("socket_id", str(node // self.nodes))
                    entry.set("die_id", "0")
                    entry.set("core_id", str(core % (self.cores * self.nodes)))
                    entry.set("siblings", ",".join(str(n) for n in self.siblings(core) if n not in self.offline))
        return cell
