# SPDX-License-Identifier: BSD-2-Clause
"""A devicetree as a cluster map. Form is checked here (check.py checks what the map means)."""

import ipaddress
import struct
from collections.abc import Iterator
from pathlib import Path

from topology.clustermap import (
    COMPATIBLE,
    NEVER,
    Application,
    Channel,
    Cluster,
    ClusterMap,
    Cpu,
    Network,
    Range,
)
from topology.errors import InputError
from topology.fdt import Node, compile_dts, load, parse
from topology.limits import RESTART_DELAY, RESTART_LIMIT
from topology.machine import Board, MemoryRange, Shape

BOARD = ("sockets", "l3-caches-per-socket", "cores-per-l3-cache", "threads-per-core")  # of an irregular machine
_BOOKKEEPING = {"phandle", "linux,phandle"}


class _Reader:
    """One node's properties. What was never asked for is refused by `finish`: a misspelt name must not pass."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.seen = set(_BOOKKEEPING)

    def error(self, problem: str) -> InputError:
        name = self.node.name if self.node.path != "/" else "cluster map"
        return InputError(name, problem)

    def has(self, name: str) -> bool:
        return name in self.node.properties

    def raw(self, name: str) -> bytes:
        self.seen.add(name)
        if name not in self.node.properties:
            raise self.error(f"has no '{name}'")
        return self.node.properties[name]

    def flag(self, name: str) -> bool:
        if not self.has(name):
            return False
        if self.raw(name):
            raise self.error(f"'{name}' takes no value")
        return True

    def cells(self, name: str, group: int = 1) -> list[int]:
        value = self.raw(name)
        if not value or len(value) % (4 * group):
            raise self.error(f"'{name}' is not made of groups of {group} cells")
        return list(struct.unpack(f">{len(value) // 4}I", value))

    def cell(self, name: str) -> int:
        values = self.cells(name)
        if len(values) != 1:
            raise self.error(f"'{name}' is not one cell")
        return values[0]

    def wide(self, name: str) -> int:
        values = self.cells(name, 2)
        if len(values) != 2:
            raise self.error(f"'{name}' is not one 64-bit number (two cells)")
        return values[0] << 32 | values[1]

    def ranges(self, name: str) -> list[Range]:
        cells = self.cells(name, 4)
        found = []
        for i in range(0, len(cells), 4):
            base, size = cells[i] << 32 | cells[i + 1], cells[i + 2] << 32 | cells[i + 3]
            if size == 0:
                raise self.error(f"'{name}' holds an empty range at {base:#x}")
            if base + size > 1 << 64:
                raise self.error(f"'{name}' holds a range that runs over the end of memory, {base:#x}+{size:#x}")
            found.append(Range(base, size))
        return found

    def strings(self, name: str) -> list[str]:
        value = self.raw(name)
        if not value.endswith(b"\0"):
            raise self.error(f"'{name}' is not a list of strings")
        try:
            return value[:-1].decode("utf-8").split("\0")
        except UnicodeDecodeError:
            raise self.error(f"'{name}' is not text") from None

    def string(self, name: str) -> str:
        values = self.strings(name)
        if len(values) != 1 or not values[0]:
            raise self.error(f"'{name}' is not one string")
        return values[0]

    def address(self, name: str) -> str:
        text = self.string(name)
        try:
            return str(ipaddress.IPv4Address(text))
        except ValueError:
            raise self.error(f"'{name}' is not an IPv4 address: '{text}'") from None

    def expect_cells(self, address: int, size: int) -> None:
        if self.cell("#address-cells") != address or self.cell("#size-cells") != size:
            raise self.error(f"#address-cells must be {address} and #size-cells {size}")

    def unit(self, *address: int) -> str:
        """The node's name before '@', after a check that what follows is `address` in hexadecimal."""
        base, _, unit = self.node.name.partition("@")
        if unit != ",".join(f"{part:x}" for part in address):
            raise self.error(f"its name says '{unit}', its reg {' '.join(f'{part:#x}' for part in address)}")
        return base

    def finish(self, *children: str) -> None:
        for name in self.node.properties:
            if name not in self.seen:
                raise self.error(f"unknown property '{name}'")
        for child in self.node.children:
            if child.name.partition("@")[0] not in children:
                raise InputError(child.path, "unknown node")


def _children(parent: Node | None, base: str | None, cells: int) -> Iterator[tuple[_Reader, tuple[int, ...], str]]:
    """Those told apart by `reg`, of so many cells: reader, reg, name before '@'. `base` None: any name."""
    if parent is None:
        return
    container = _Reader(parent)
    container.expect_cells(cells, 0)
    container.finish(*(c.name.partition("@")[0] for c in parent.children))
    seen: set[tuple[int, ...]] = set()
    for node in parent.children:
        reader = _Reader(node)
        reg = tuple(reader.cells("reg"))
        if len(reg) != cells:
            raise reader.error(f"'reg' is not {'one cell' if cells == 1 else f'{cells} cells'}")
        name = reader.unit(*reg)
        if base is not None and name != base:
            raise InputError(node.path, "unknown node")
        if reg in seen:
            raise reader.error("two nodes have this reg")
        seen.add(reg)
        yield reader, reg, name


def _numbered(parent: Node | None, base: str | None) -> Iterator[tuple[_Reader, int, str]]:
    for reader, (number,), name in _children(parent, base, 1):
        yield reader, number, name


class _MapReader:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.cpu_of_phandle: dict[int, int] = {}

    def cpus(self) -> list[Cpu]:
        """A number of two cells is machine and APIC id, where the map describes several machines."""
        found: list[Cpu] = []
        parent = self.root.child("cpus")
        several = parent is not None and _Reader(parent).cells("#address-cells") == [2]
        for reader, reg, _ in _children(parent, "cpu", 2 if several else 1):
            if reader.string("device_type") != "cpu":
                raise reader.error("device_type is not 'cpu'")
            for key in _BOOKKEEPING:
                if reader.has(key):
                    self.cpu_of_phandle[reader.cell(key)] = len(found)
            node = 0 if several and not reader.has("numa-node-id") else reader.cell("numa-node-id")
            found.append(Cpu(reg[-1], node, reg[0] if several else 0))
            reader.finish()
        if several and not any(cpu.machine for cpu in found):
            raise InputError("cpus", "#address-cells is 2, for several machines, and no core is of another than 0")
        return found

    def memory(self) -> list[MemoryRange]:
        found = []
        for node in self.root.children:
            if node.name.partition("@")[0] != "memory":
                continue
            reader = _Reader(node)
            if reader.string("device_type") != "memory":
                raise reader.error("device_type is not 'memory'")
            ranges, numa = reader.ranges("reg"), reader.cell("numa-node-id")
            reader.unit(ranges[0].base)
            found += [MemoryRange(r.base, r.size, numa) for r in ranges]
            reader.finish()
        return found

    def distances(self) -> dict[tuple[int, int], int]:
        node = self.root.child("distance-map")
        if node is None:
            return {}
        reader = _Reader(node)
        if reader.string("compatible") != "numa-distance-map-v1":
            raise reader.error("compatible is not 'numa-distance-map-v1'")
        cells = reader.cells("distance-matrix", 3)
        reader.finish()
        found: dict[tuple[int, int], int] = {}
        for a, b, distance in zip(cells[::3], cells[1::3], cells[2::3]):
            if (a, b) in found:
                raise reader.error(f"says the distance of {a} and {b} twice")
            found[a, b] = distance
        return found

    def cpu_references(self, reader: _Reader, name: str) -> list[int]:
        found = []
        for handle in reader.cells(name):
            if handle not in self.cpu_of_phandle:
                raise reader.error(f"'{name}' names something that is not a cpu (phandle {handle:#x})")
            found.append(self.cpu_of_phandle[handle])
        return found

    def clusters(self) -> list[Cluster]:
        found = []
        for reader, number, _ in _numbered(self.root.child("clusters"), "cluster"):
            found.append(
                Cluster(
                    number=number,
                    kernel=reader.string("kernel"),
                    root=reader.string("root"),
                    cpus=self.cpu_references(reader, "cpus"),
                    memory=reader.ranges("memory"),
                    modules=reader.strings("modules") if reader.has("modules") else [],
                    devices=reader.flag("devices"),
                    restart=reader.flag("restart"),
                    restart_limit=reader.cell("restart-limit") if reader.has("restart-limit") else RESTART_LIMIT,
                    restart_delay=reader.cell("restart-delay") if reader.has("restart-delay") else RESTART_DELAY,
                )
            )
            reader.finish()
        return found

    def channels(self) -> list[Channel]:
        found = []
        for reader, number, _ in _numbered(self.root.child("channels"), "channel"):
            ends = reader.cells("ends", 2)
            if len(ends) != 2:
                raise reader.error("has not exactly two 'ends'")
            found.append(self.channel(reader, number, (ends[0], ends[1])))
            reader.finish()
        return found

    def channel(self, reader: _Reader, number: int, ends: tuple[int, int]) -> Channel:
        if not reader.has("ivshmem"):
            memory = reader.ranges("memory")
            if len(memory) != 1:
                raise reader.error("has not exactly one memory range")
            return Channel(number, ends, memory[0])
        if reader.has("memory"):
            raise reader.error("has 'memory' of one machine and 'ivshmem' of two: it is one or the other")
        slots, size = reader.cells("ivshmem", 2), reader.wide("size")
        if len(slots) != 2:
            raise reader.error("'ivshmem' is not two PCI device numbers")
        return Channel(number, ends, Range(0, size), (slots[0], slots[1]))

    def network(self) -> Network | None:
        node = self.root.child("network")
        if node is None:
            return None
        reader = _Reader(node)
        found = Network(reader.address("netmask"), reader.address("gateway"), reader.cell("mtu"))
        reader.finish()
        return found

    def applications(self) -> list[Application]:
        found = []
        for reader, number, name in _numbered(self.root.child("applications"), None):
            cpus = self.cpu_references(reader, "cpu")
            if len(cpus) != 1:
                raise reader.error("'cpu' is not one core")
            pci = reader.cells("pci-id", 2) if reader.has("pci-id") else []
            found.append(
                Application(
                    number=number,
                    base_name=name,
                    program=reader.string("program"),
                    cpu=cpus[0],
                    heap=reader.wide("heap"),
                    role=reader.string("role") if reader.has("role") else None,
                    pci_ids=list(zip(pci[::2], pci[1::2])),
                    ipv4=reader.address("ipv4") if reader.has("ipv4") else None,
                    mac=reader.raw("mac") if reader.has("mac") else None,
                    args=reader.strings("args") if reader.has("args") else [],
                    env=reader.strings("env") if reader.has("env") else [],
                    cwd=reader.string("cwd") if reader.has("cwd") else None,
                    files=reader.string("files") if reader.has("files") else None,
                    storage=reader.wide("storage") if reader.has("storage") else 0,
                    user=self.user(reader),
                    threads=reader.cell("threads") if reader.has("threads") else None,
                    awaits=reader.strings("await") if reader.has("await") else [],
                    stack=reader.string("stack") if reader.has("stack") else None,
                    switch=reader.string("switch") if reader.has("switch") else None,
                    barrier=reader.flag("barrier"),
                    restart=reader.string("restart") if reader.has("restart") else NEVER,
                    restart_limit=reader.cell("restart-limit") if reader.has("restart-limit") else RESTART_LIMIT,
                    restart_delay=reader.cell("restart-delay") if reader.has("restart-delay") else RESTART_DELAY,
                    statistics=reader.flag("statistics"),
                )
            )
            reader.finish()
        return found

    @staticmethod
    def user(reader: _Reader) -> tuple[int, int]:
        if not reader.has("user"):
            return 0, 0
        cells = reader.cells("user", 2)
        if len(cells) != 2:
            raise reader.error("'user' is not a uid and a gid")
        return cells[0], cells[1]

    def shutdown(self) -> str | None:
        node = self.root.child("run")
        if node is None:
            return None
        reader = _Reader(node)
        value = reader.string("shutdown") if reader.has("shutdown") else None
        reader.finish()
        return value

    def shape(self) -> Shape | Board | None:
        node = self.root.child("machine")
        if node is None:
            return None
        reader = _Reader(node)
        if reader.has("cores-per-l3-cache"):
            board = Board(*(reader.cell(name) for name in BOARD))
            reader.finish()
            return board
        optional = {"caches": "l3-caches-per-socket", "nodes": "nodes-per-socket", "threads": "threads-per-core"}
        found = Shape(
            reader.cell("sockets"),
            reader.cell("cores-per-socket"),
            reader.wide("memory-per-node"),
            **{key: reader.cell(name) for key, name in optional.items() if reader.has(name)},
        )
        reader.finish()
        return found

    def read(self) -> ClusterMap:
        reader = _Reader(self.root)
        reader.expect_cells(2, 2)
        if COMPATIBLE not in reader.strings("compatible"):
            raise reader.error(f"compatible is not '{COMPATIBLE}'")
        reader.seen |= {"model"}
        reader.finish(
            "machine", "cpus", "memory", "distance-map", "clusters", "channels", "network", "applications", "run"
        )
        return ClusterMap(
            cpus=self.cpus(),
            memory=self.memory(),
            distances=self.distances(),
            clusters=self.clusters(),
            channels=self.channels(),
            network=self.network(),
            applications=self.applications(),
            shutdown=self.shutdown(),
            shape=self.shape(),
        )


def read_blob(blob: bytes, source: str = "cluster map") -> ClusterMap:
    return _MapReader(parse(blob, source)).read()


def read_dts(text: str, source: str = "cluster map") -> ClusterMap:
    return read_blob(compile_dts(text, source), source)


def read_file(path: Path) -> ClusterMap:
    """A map that somebody wrote, .dts or .dtb."""
    return read_blob(load(path), str(path))
