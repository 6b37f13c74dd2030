# SPDX-License-Identifier: BSD-2-Clause
"""Machines as hwloc sees them: this one, or a topology that somebody saved.

`lstopo` reads every source, a saved file too: hwloc checks it, imports the format of hwloc 1, and leaves out what may
not be used. What it writes is hwloc 2's documented XML, of which only attributes are taken here. A process of its own
is preferred to libhwloc in ours: a broken file cannot take us down, and no C structure is described twice.
"""

import os
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from topology import linux
from topology.errors import InputError
from topology.parts import Machine
from topology.spans import format_spans
from topology.survey import Processor, Survey
from topology.xml_file import read_root

TIMEOUT = 60  # seconds; the largest machines take one
X86 = ("x86_64", "i686", "i386")
KINDS = {"IntelCore": "performance", "IntelAtom": "efficiency"}  # CoreType of hwloc's CPU kinds


def survey_live() -> Survey:
    found = parse(_lstopo([], "this machine"), "this machine")
    found.is_host = True
    return found


def survey_file(path: Path) -> Survey:
    root = read_root(path)
    if root.tag != "topology":
        raise InputError(str(path), f"is not hwloc's XML: it starts with <{root.tag}>")
    return parse(_lstopo(["--if", "xml", "-i", str(path.absolute())], str(path)), str(path))


def live() -> Machine:
    return survey_live().machine(linux.apic_ids(), linux.memory())


def read_xml(path: Path) -> Machine:
    return survey_file(path).machine()


def _lstopo(source: list[str], name: str) -> str:
    # Variables such as HWLOC_XMLFILE would put another machine in the place of the one that was asked for.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HWLOC_")}
    try:
        done = subprocess.run(
            ["lstopo", *source, "--no-io", "--of", "xml", "-"],
            capture_output=True, text=True, errors="replace", env=environment, timeout=TIMEOUT,
        )  # fmt: skip
    except FileNotFoundError:
        raise InputError("lstopo", "not found; install hwloc") from None
    except subprocess.TimeoutExpired:
        raise InputError(name, f"hwloc did not read it within {TIMEOUT} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"lstopo failed ({done.returncode})"]
        raise InputError(name, f"hwloc refuses it: {said[0].removeprefix(name.rpartition('/')[2] + ': ')}")
    return done.stdout


def bitmap(text: str) -> set[int]:
    """hwloc's sets: `0x3`, `0x1,,0x3` (32 bits a word, highest first, an empty word is 0)."""
    if "0xf...f" in text:
        raise ValueError("a set without end")
    value = 0
    for word in text.split(","):
        value = value << 32 | int(word or "0", 16)
    return {i for i in range(value.bit_length()) if value >> i & 1}


@dataclass(frozen=True)
class _Node:
    number: int
    size: int
    processors: frozenset[int]
    near: set[int]
    subtype: str  # "HBM", "MCDRAM"; plain memory has none or "DRAM"


def parse(text: str, name: str) -> Survey:
    try:
        return _Parser(ElementTree.fromstring(text), name).survey()
    except (ElementTree.ParseError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(name, f"not a topology as hwloc writes it ({error})") from None


class _Parser:
    def __init__(self, root: ElementTree.Element, name: str) -> None:
        self.root = root
        self.name = name
        self.nodes: list[_Node] = []
        self.threads: list[Processor] = []  # not yet with node and kind

    def survey(self) -> Survey:
        machine = self.root.find("object")
        if self.root.tag != "topology" or machine is None:
            raise InputError(self.name, "not a topology as hwloc writes it")
        for info in machine.findall("info"):
            if info.get("name") == "Architecture" and info.get("value") not in X86:
                raise InputError(self.name, f"is a machine of architecture {info.get('value')}; Skerry runs on x86-64")
        self.walk(machine, [])
        kinds = self.kinds()
        processors = [
            Processor(p.number, p.socket, p.core, p.l3, self.node_of(p.number), kinds.get(p.number, ""))
            for p in self.threads
        ]
        return Survey(
            name=self.name,
            processors=processors,
            sizes={node.number: node.size for node in self.nodes},
            local={node.number: node.near for node in self.nodes},
            distances=self.distances(),
            notes=self.left_out(machine),
        )

    def walk(self, element: ElementTree.Element, above: list[ElementTree.Element]) -> None:
        kind = element.get("type")
        if kind == "PU":
            around = {parent.get("type"): parent.get("gp_index") for parent in above}
            number = int(element.get("os_index", ""))
            core = around.get("Core") or f"thread {number}"
            self.threads.append(Processor(number, around.get("Package"), core, around.get("L3Cache"), 0))
        elif kind == "NUMANode":
            # One whose processors may not be used is near to those that are left in its package.
            sets = [bitmap(place.get("cpuset", "")) for place in (element, *reversed(above))]
            near = next((processors for processors in sets if processors), set())
            size = int(element.get("local_memory", "0"))
            number = int(element.get("os_index", ""))
            self.nodes.append(_Node(number, size, frozenset(sets[0]), near, element.get("subtype", "DRAM")))
        for child in element.findall("object"):
            self.walk(child, [*above, element])

    def node_of(self, processor: int) -> int:
        """The smallest node around it; of several at one place (HBM beside DRAM) plain memory, as firmware has it."""
        around = [node for node in self.nodes if processor in node.processors]
        if not around:
            raise InputError(self.name, f"processor {processor} is in no NUMA node")
        return min(around, key=lambda n: (len(n.processors), n.subtype != "DRAM", n.number)).number

    def kinds(self) -> dict[int, str]:
        found = {}
        for index, element in enumerate(self.root.findall("cpukind")):
            core_type = next((i.get("value", "") for i in element.findall("info") if i.get("name") == "CoreType"), "")
            for number in bitmap(element.get("cpuset", "")):
                found[number] = KINDS.get(core_type, core_type or f"kind {index}")
        return found

    def distances(self) -> dict[tuple[int, int], int]:
        for element in self.root.findall("distances2"):
            latency = int(element.get("kind", "0")) & 4  # HWLOC_DISTANCES_KIND_MEANS_LATENCY
            if element.get("type") != "NUMANode" or element.get("indexing") != "os" or not latency:
                continue
            indexes = [int(w) for e in element.findall("indexes") for w in (e.text or "").split()]
            values = [int(w) for e in element.findall("u64values") for w in (e.text or "").split()]
            if len(values) == len(indexes) ** 2:
                return dict(zip([(a, b) for a in indexes for b in indexes], values))
        return {}

    def left_out(self, machine: ElementTree.Element) -> list[str]:
        absent = bitmap(machine.get("complete_cpuset", "")) - bitmap(machine.get("cpuset", ""))
        if not absent:
            return []
        return [f"{len(absent)} processors are offline or not allowed, and left out: {format_spans(absent)}"]

