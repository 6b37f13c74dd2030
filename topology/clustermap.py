# SPDX-License-Identifier: BSD-2-Clause
"""The cluster map as data (docs/cluster-map.md)."""

from dataclasses import dataclass, field

from topology.machine import Board, MemoryRange, Shape

COMPATIBLE = "skerry,cluster-map-v1"


@dataclass(frozen=True)
class Cpu:
    apic: int
    node: int


@dataclass(frozen=True)
class Range:
    base: int
    size: int

    @property
    def end(self) -> int:
        return self.base + self.size

    def overlaps(self, other: "Range | MemoryRange") -> bool:
        return self.base < other.end and other.base < self.end

    def __str__(self) -> str:
        return f"{self.base:#x}..{self.end:#x}"


@dataclass
class Cluster:
    number: int
    kernel: str
    cpus: list[int]  # places in ClusterMap.cpus, core 0 of the cluster first
    memory: list[Range]
    modules: list[str] = field(default_factory=list)
    root: str = "root"
    devices: bool = False

    @property
    def name(self) -> str:
        return f"cluster@{self.number:x}"


@dataclass
class Channel:
    number: int
    ends: tuple[int, int]  # clusters; the first is side 0
    memory: Range

    @property
    def name(self) -> str:
        return f"channel@{self.number:x}"


@dataclass
class Application:
    number: int
    base_name: str
    program: str
    cpu: int  # place in ClusterMap.cpus
    heap: int
    role: str | None = None
    pci_ids: list[tuple[int, int]] = field(default_factory=list)
    ipv4: str | None = None
    mac: bytes | None = None
    args: list[str] = field(default_factory=list)
    awaits: list[str] = field(default_factory=list)
    stack: str | None = None  # the application that runs lwIP for it; None: it does so itself
    barrier: bool = False

    @property
    def name(self) -> str:
        return f"{self.base_name}@{self.number:x}"


@dataclass(frozen=True)
class Network:
    netmask: str = "255.255.255.0"
    gateway: str = "10.0.2.2"
    mtu: int = 1500


@dataclass
class ClusterMap:
    cpus: list[Cpu]
    memory: list[MemoryRange]
    clusters: list[Cluster]
    channels: list[Channel] = field(default_factory=list)
    distances: dict[tuple[int, int], int] = field(default_factory=dict)
    network: Network | None = None
    applications: list[Application] = field(default_factory=list)
    shutdown: str | None = None  # "when-done", or run on
    shape: Shape | Board | None = None  # the emulated machine that the map was made for (irregular.py)

    def cluster_of(self, cpu: int) -> Cluster | None:
        return next((c for c in self.clusters if cpu in c.cpus), None)
