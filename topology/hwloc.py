# SPDX-License-Identifier: BSD-2-Clause
"""Machines as hwloc sees them: this one (`live`) or a saved `lstopo --of xml`."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from topology.errors import InputError
from topology.machine import Core, Machine, MemoryRange, apic_ids, q35_memory, uniform_distances
from topology.units import LARGE_PAGE, align_down

_NODE_DIRECTORY = Path("/sys/devices/system/node")
_BLOCK_SIZE = Path("/sys/devices/system/memory/block_size_bytes")


def live() -> Machine:
    """This machine. APIC ids and memory ranges come from Linux, for hwloc does not tell them."""
    try:
        done = subprocess.run(["lstopo", "--of", "xml", "-"], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise InputError("lstopo", "not found; install hwloc") from None
    except subprocess.CalledProcessError as error:
        raise InputError("lstopo", error.stderr.strip() or "failed") from None
    return parse_xml(done.stdout, "live", _linux_apic_ids(), _linux_memory())


def read_xml(path: Path) -> Machine:
    """A saved topology. The file tells neither APIC ids nor physical addresses: QEMU's rules give them."""
    try:
        return parse_xml(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), getattr(error, "strerror", None) or "is not text") from None


def parse_xml(
    text: str, name: str, apics: dict[int, int] | None = None, ranges: list[MemoryRange] | None = None
) -> Machine:
    """`apics` maps Linux's cpu numbers to APIC ids; `ranges` is the memory by node."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(name, f"not hwloc XML ({error})") from None
    if root.tag != "topology":
        raise InputError(name, "not hwloc XML (no topology element)")

    sizes: dict[int, int] = {}
    node_of_cpu: dict[int, int] = {}
    found: list[tuple[int, int, int]] = []  # socket, first cpu number, l3

    def walk(element: ElementTree.Element, socket: int, l3: int) -> None:
        kind = element.get("type")
        if kind == "Package":
            socket = int(element.get("os_index", "0"))
            l3 = int(element.get("gp_index", element.get("os_index", "0")))
        elif kind == "L3Cache" or (kind == "Cache" and element.get("depth") == "3"):
            l3 = int(element.get("gp_index", element.get("os_index", str(l3))))
        elif kind == "NUMANode":
            node = int(element.get("os_index", "0"))
            sizes[node] = int(element.get("local_memory", "0"))
            for cpu in _bitmap(element.get("cpuset", "")):
                node_of_cpu[cpu] = node
        elif kind == "Core":
            units = [int(pu.get("os_index", "0")) for pu in element.iter("object") if pu.get("type") == "PU"]
            if units:
                found.append((socket, min(units), l3))
            return
        for child in element.findall("object"):
            walk(child, socket, l3)

    for element in root.findall("object"):
        walk(element, 0, 0)
    if not found:
        raise InputError(name, "the topology has no core")

    found.sort()
    sockets = sorted({socket for socket, _, _ in found})
    if apics is None:
        widest = max(sum(s == socket for s, _, _ in found) for socket in sockets)
        table = apic_ids(len(sockets), widest)
        places = {s: [cpu for s2, cpu, _ in found if s2 == s] for s in sockets}
        apics = {cpu: table[i][j] for i, s in enumerate(sockets) for j, cpu in enumerate(places[s])}
    for _, cpu, _ in found:
        if cpu not in apics:
            raise InputError(name, f"the APIC id of cpu {cpu} is not known")
    cores = tuple(Core(apics[cpu], socket, node_of_cpu.get(cpu, 0), l3) for socket, cpu, l3 in found)

    nodes = sorted(sizes) or [0]
    if ranges is None:
        rounded = [align_down(sizes.get(node, 0), LARGE_PAGE) for node in nodes]
        ranges = [MemoryRange(r.base, r.size, nodes[r.node]) for r in q35_memory(rounded)]
    distances = _distances(root) or uniform_distances(nodes)
    return Machine(name, cores, tuple(ranges), distances)


def _bitmap(text: str) -> list[int]:
    """hwloc's `0x00000003` or `0x1,0x00000003` (32 bits a word, highest first)."""
    value = 0
    for word in text.split(","):
        if not re.fullmatch(r"0x[0-9a-fA-F]+", word):
            return []
        value = value << 32 | int(word, 16)
    return [i for i in range(value.bit_length()) if value >> i & 1]


def _distances(root: ElementTree.Element) -> dict[tuple[int, int], int]:
    for element in root.findall("distances2"):
        if element.get("type") != "NUMANode" or element.get("indexing") != "os":
            continue
        indexes = [int(w) for e in element.findall("indexes") for w in (e.text or "").split()]
        values = [int(w) for e in element.findall("u64values") for w in (e.text or "").split()]
        if len(values) == len(indexes) ** 2:
            pairs = [(a, b) for a in indexes for b in indexes]
            return dict(zip(pairs, values))
    return {}


def _linux_apic_ids() -> dict[int, int]:
    found: dict[int, int] = {}
    cpu = 0
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "processor":
            cpu = int(value)
        elif key.strip() == "apicid":
            found[cpu] = int(value)
    return found


def _linux_memory() -> list[MemoryRange] | None:
    """Memory blocks of each node, neighbours joined; None when this Linux does not show them."""
    try:
        block = int(_BLOCK_SIZE.read_text(), 16)
        nodes = {int(p.name[4:]): p for p in _NODE_DIRECTORY.glob("node[0-9]*")}
    except (OSError, ValueError):
        return None
    ranges: list[MemoryRange] = []
    for node, path in sorted(nodes.items()):
        for number in sorted(int(p.name[6:]) for p in path.glob("memory[0-9]*")):
            base = number * block
            if ranges and ranges[-1].node == node and ranges[-1].end == base:
                ranges[-1] = MemoryRange(ranges[-1].base, ranges[-1].size + block, node)
            else:
                ranges.append(MemoryRange(base, block, node))
    return ranges or None
