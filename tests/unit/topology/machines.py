# SPDX-License-Identifier: BSD-2-Clause
"""Machines that exist, as hwloc describes them: synthetic descriptions, and what those cannot say, edited in; and the
capabilities of libvirt hosts."""

import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

Edit = Callable[[ElementTree.Element], None]


def to_set(numbers: Iterable[int]) -> str:
    """hwloc's notation: 32 bits a word, highest first."""
    value = sum(1 << n for n in numbers)
    words = [f"{value >> shift & 0xFFFFFFFF:#010x}" for shift in range(0, max(32, value.bit_length()), 32)]
    return ",".join(reversed(words))


def from_set(text: str) -> set[int]:
    value = 0
    for word in text.split(","):
        value = value << 32 | int(word or "0", 16)
    return {i for i in range(value.bit_length()) if value >> i & 1}


def without(*gone: int) -> Edit:
    """Processors that are offline: Linux still counts them, but knows nothing of where they are."""

    def edit(root: ElementTree.Element) -> None:
        for parent in list(root.iter()):
            for child in list(parent.findall("object")):  # memory stays, beside what had it
                if "cpuset" not in child.attrib:
                    continue
                left = from_set(child.attrib["cpuset"]) - set(gone)
                child.set("cpuset", to_set(left))
                if child.get("type") == "Machine":
                    child.set("allowed_cpuset", to_set(left))
                elif not left and child.get("type") != "NUMANode":
                    parent.remove(child)
                    for node in [o for o in child.iter("object") if o.get("type") == "NUMANode"]:
                        parent.append(node)

    return edit


def allowed(*numbers: int, nodes: tuple[int, ...] = ()) -> Edit:
    """A cgroup's cpuset: processors, and nodes if not all."""

    def edit(root: ElementTree.Element) -> None:
        root[0].set("allowed_cpuset", to_set(numbers))
        if nodes:
            root[0].set("allowed_nodeset", to_set(nodes))

    return edit


def memory(sizes: dict[int, int]) -> Edit:
    """Bytes of nodes, by hwloc's own number."""

    def edit(root: ElementTree.Element) -> None:
        for node in root.iter("object"):
            if node.get("type") == "NUMANode" and int(node.attrib["os_index"]) in sizes:
                node.set("local_memory", str(sizes[int(node.attrib["os_index"])]))

    return edit


def subtype(name: str, *numbers: int) -> Edit:
    def edit(root: ElementTree.Element) -> None:
        for node in root.iter("object"):
            if node.get("type") == "NUMANode" and int(node.attrib["os_index"]) in numbers:
                node.set("subtype", name)

    return edit


def no_cache(*processors: int) -> Edit:
    """Cores that are beside the L3 of their package, not under it."""

    def edit(root: ElementTree.Element) -> None:
        for parent in list(root.iter("object")):
            for cache_ in [c for c in parent.findall("object") if c.get("type") == "L3Cache"]:
                inside = from_set(cache_.attrib["cpuset"])
                for core in [c for c in cache_.findall("object") if from_set(c.attrib["cpuset"]) <= set(processors)]:
                    cache_.remove(core)
                    parent.append(core)
                    inside -= from_set(core.attrib["cpuset"])
                cache_.set("cpuset", to_set(inside))
                cache_.set("complete_cpuset", to_set(inside))

    return edit


def kinds(**of: range) -> Edit:
    """CPU kinds by hwloc's names of core types."""

    def edit(root: ElementTree.Element) -> None:
        for efficiency, (name, numbers) in enumerate(of.items()):
            attributes = {"cpuset": to_set(numbers), "forced_efficiency": str(efficiency)}
            kind = ElementTree.SubElement(root, "cpukind", attributes)
            ElementTree.SubElement(kind, "info", name="CoreType", value=name)

    return edit


def slit(rows: list[list[int]]) -> Edit:
    def edit(root: ElementTree.Element) -> None:
        count = str(len(rows))
        matrix = ElementTree.SubElement(
            root, "distances2", type="NUMANode", nbobjs=count, kind="5", name="NUMALatency", indexing="os"
        )
        indexes = " ".join(map(str, range(len(rows)))) + " "
        values = " ".join(str(value) for row in rows for value in row) + " "
        for tag, text in (("indexes", indexes), ("u64values", values)):
            ElementTree.SubElement(matrix, tag, length=str(len(text))).text = text

    return edit


def ring(count: int) -> list[list[int]]:
    return [[10 if a == b else 20 + min(abs(a - b), count - abs(a - b)) for b in range(count)] for a in range(count)]


G = 1 << 30
SMT_HYBRID = "pack:1 [numa(memory=32GiB)] l3:1(size=30MiB) core:16 pu:2"  # eight cores will lose a thread

MACHINES: dict[str, tuple[str, list[Edit]]] = {
    # Two-socket Xeons
    "Nehalem X5550": ("pack:2 [numa(memory=12GiB)] l3:1(size=8MiB) core:4 pu:2", [slit([[10, 20], [20, 10]])]),
    "Westmere X5680": ("pack:2 [numa(memory=24GiB)] l3:1(size=12MiB) core:6 pu:2", []),
    "Sandy Bridge E5-2670": ("pack:2 [numa(memory=32GiB)] l3:1(size=20MiB) core:8 pu:2", []),
    "Ivy Bridge E5-2680 v2": ("pack:2 [numa(memory=32GiB)] l3:1(size=25MiB) core:10 pu:2",
                              [slit([[10, 21], [21, 10]])]),
    "Haswell E5-2680 v3": ("pack:2 [numa(memory=64GiB)] l3:1(size=30MiB) core:12 pu:2", []),
    "Haswell E5-2680 v3, cluster on die": (
        "pack:2 group:2 [numa(memory=32GiB)] l3:1(size=15MiB) core:6 pu:2",
        [slit([[10, 21, 31, 31], [21, 10, 31, 31], [31, 31, 10, 21], [31, 31, 21, 10]])],
    ),
    "Broadwell E5-2699 v4": ("pack:2 [numa(memory=128GiB)] l3:1(size=55MiB) core:22 pu:2", []),
    "Broadwell E5-2699 v4, SMT off": ("pack:2 [numa(memory=128GiB)] l3:1(size=55MiB) core:22 pu:1", []),
    "Skylake 8180": ("pack:2 [numa(memory=192GiB)] l3:1(size=38MiB) core:28 pu:2", []),
    "Skylake 6148, sub-NUMA clusters": ("pack:2 l3:1(size=27MiB) group:2 [numa(memory=96GiB)] core:10 pu:2", []),
    "Cascade Lake 6252": ("pack:2 [numa(memory=384GiB)] l3:1(size=36MiB) core:24 pu:2", [slit([[10, 21], [21, 10]])]),
    "Cascade Lake 8280": ("pack:2 [numa(memory=192GiB)] l3:1(size=38MiB) core:28 pu:2", []),
    "Cascade Lake 6226R, Optane as memory": (
        "pack:2 [numa(memory=96GiB)] [numa(memory=768GiB)] l3:1(size=22MiB) core:16 pu:2", [],
    ),
    "Ice Lake 8380": ("pack:2 [numa(memory=256GiB)] l3:1(size=60MiB) core:40 pu:2", []),
    "Sapphire Rapids 8480+, four nodes a socket": ("pack:2 l3:1(size=105MiB) group:4 [numa(memory=64GiB)] core:14 pu:2",
                                                   []),
    "Xeon Max 9480, flat": (
        "pack:2 [numa(memory=512GiB)] [numa(memory=64GiB)] l3:1(size=112MiB) core:56 pu:2", [subtype("HBM", 1, 3)],
    ),
    # More sockets
    "four Haswell E7-4850 v3": ("pack:4 [numa(memory=64GiB)] l3:1(size=35MiB) core:14 pu:2", [slit(ring(4))]),
    "eight Westmere E7-8870": ("pack:8 [numa(memory=128GiB)] l3:1(size=30MiB) core:10 pu:2", [slit(ring(8))]),
    "twelve Ivy Bridge E7-8890 v2": ("pack:12 [numa(memory=96GiB)] l3:1(size=37MiB) core:15 pu:2", [slit(ring(12))]),
    "twelve Ivy Bridge E5-4620 v2": ("pack:12 [numa(memory=32GiB)] l3:1(size=20MiB) core:8 pu:1", [slit(ring(12))]),
    # AMD
    "Opteron 6174": ("pack:4 group:2 [numa(memory=16GiB)] l3:1(size=5MiB) core:6 pu:1", [slit(ring(8))]),
    "Opteron 6276": ("pack:2 group:2 [numa(memory=16GiB)] l3:1(size=6MiB) core:8 pu:1", []),
    "EPYC 7451": ("pack:2 group:4 [numa(memory=16GiB)] l3:2(size=8MiB) core:3 pu:2", [slit(ring(8))]),
    "EPYC 7601, one channel filled": ("pack:1 group:4 [numa(memory=32GiB)] l3:2(size=8MiB) core:4 pu:2",
                                      [memory({1: 0, 2: 0, 3: 0})]),
    "EPYC 7742": ("pack:2 [numa(memory=256GiB)] l3:16(size=16MiB) core:4 pu:2", []),
    "EPYC 7763": ("pack:2 [numa(memory=256GiB)] l3:8(size=32MiB) core:8 pu:2", [slit([[10, 32], [32, 10]])]),
    "EPYC 7763, four nodes a socket": ("pack:2 group:4 [numa(memory=64GiB)] l3:2(size=32MiB) core:8 pu:2", []),
    "EPYC 7763, each L3 a node": ("pack:2 group:8 [numa(memory=32GiB)] l3:1(size=32MiB) core:8 pu:2", []),
    "EPYC 9654": ("pack:2 [numa(memory=768GiB)] l3:12(size=32MiB) core:8 pu:2", []),
    "Threadripper 2990WX": ("pack:1 group:4 [numa(memory=32GiB)] l3:2(size=8MiB) core:4 pu:2",
                            [memory({1: 0, 3: 0}), slit(ring(4))]),
    "Ryzen 5950X": ("pack:1 [numa(memory=64GiB)] l3:2(size=32MiB) core:8 pu:2", []),
    "EPYC 7251, memory in two of eight nodes": ("pack:2 group:4 [numa(memory=16GiB)] l3:2(size=4MiB) core:1 pu:2",
                                                [memory({1: 0, 2: 0, 3: 0, 5: 0, 6: 0, 7: 0})]),
    "EPYC 9654, four nodes a socket": ("pack:2 group:4 [numa(memory=96GiB)] l3:3(size=32MiB) core:8 pu:2", []),
    # Nodes and caches that mislead
    "Granite Rapids 6972P, three nodes a socket": (
        "pack:2 group:3 [numa(memory=128GiB)] l3:1(size=160MiB) core:32 pu:2", [],
    ),
    "Cascade Lake, two nodes a socket, persistent memory": (
        "pack:2 l3:1(size=38MiB) group:2 [numa(memory=32GiB)] [numa(memory=124GiB)] core:14 pu:2",
        [subtype("NVM", 1, 3, 5, 7)],
    ),
    "two Xeon X5560 of one package number": ("pack:1 group:2 [numa(memory=12GiB)] l3:1(size=8MiB) core:4 pu:2",
                                             [slit([[10, 21], [21, 10]])]),
    "caches of 17 cores": ("pack:2 [numa(memory=64GiB)] l3:2(size=32MiB) core:17 pu:2", []),
    "no caches in the file": ("pack:2 [numa(memory=64GiB)] core:12 pu:2", []),
    # Without L3
    "Core 2 Q6600": ("pack:1 [numa(memory=4GiB)] l2:2(size=4MiB) core:2 pu:1", []),
    "Xeon E5345": ("pack:2 [numa(memory=4GiB)] l2:2(size=4MiB) core:2 pu:1", []),
    "KNL 7210, quadrant, cache": ("pack:1 [numa(memory=96GiB)] l2:32(size=1MiB) core:2 pu:4", []),
    "KNL 7210, SNC-4, flat": (
        "pack:1 group:4 [numa(memory=24GiB)] [numa(memory=4GiB)] l2:8(size=1MiB) core:2 pu:4",
        [subtype("MCDRAM", 1, 3, 5, 7)],
    ),
    # Laptops, virtual machines
    "Tiger Lake i7-1185G7": ("pack:1 [numa(memory=16GiB)] l3:1(size=12MiB) core:4 pu:2", []),
    "Alder Lake i9-12900K": (SMT_HYBRID,
                             [without(*range(17, 32, 2)), kinds(IntelAtom=range(16, 32), IntelCore=range(16))]),
    "Meteor Lake, two cores without L3": (
        "pack:1 [numa(memory=32GiB)] l3:1(size=24MiB) core:8 pu:1",
        [no_cache(6, 7), kinds(IntelAtom=range(2, 8), IntelCore=range(2))],
    ),
    "one virtual CPU": ("pack:1 [numa(memory=1GiB)] core:1 pu:1", []),
    "four sockets of one": ("pack:4 [numa(memory=1GiB)] l3:1(size=16MiB) core:1 pu:1", []),
    # Not all of it
    "Haswell, half its threads offline": ("pack:2 [numa(memory=64GiB)] l3:1(size=30MiB) core:12 pu:2",
                                          [without(*range(1, 48, 2))]),
    "Haswell, three cores offline": ("pack:2 [numa(memory=64GiB)] l3:1(size=30MiB) core:12 pu:2",
                                     [without(2, 3, 30, 31, 46, 47)]),
    "Haswell, a socket offline": ("pack:2 [numa(memory=64GiB)] l3:1(size=30MiB) core:12 pu:2",
                                  [without(*range(24, 48)), slit([[10, 21], [21, 10]])]),
    "Sandy Bridge, sockets of 8 and 4 cores": ("pack:2 [numa(memory=32GiB)] l3:1(size=20MiB) core:8 pu:1",
                                               [without(*range(12, 16))]),
    "EPYC 7451, a container": ("pack:2 group:4 [numa(memory=16GiB)] l3:2(size=8MiB) core:3 pu:2",
                               [allowed(*range(4), *range(20, 31), 90)]),
    "Skylake, one thread allowed": ("pack:2 [numa(memory=192GiB)] l3:1(size=38MiB) core:28 pu:2", [allowed(57)]),
}  # fmt: skip


def lstopo(*arguments: str) -> str:
    done = subprocess.run(["lstopo", *arguments, "-"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def lstopo_xml(synthetic: str, *edits: Edit) -> str:
    root = ElementTree.fromstring(lstopo("--if", "synthetic", "-i", synthetic, "--of", "xml"))
    for edit in edits:
        edit(root)
    return ElementTree.tostring(root, encoding="unicode")


@cache
def xml_of(name: str) -> str:
    synthetic, edits = MACHINES[name]
    return lstopo_xml(synthetic, *edits)


def write(name: str, folder: Path) -> Path:
    path = folder / "machine.xml"
    path.write_text(xml_of(name))
    return path


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
