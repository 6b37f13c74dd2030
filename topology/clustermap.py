# SPDX-License-Identifier: BSD-2-Clause
"""The cluster map as data (docs/cluster-map.md)."""

from dataclasses import dataclass, field

from topology.machine import Board, MemoryRange, Shape

COMPATIBLE = "skerry,cluster-map-v1"


@dataclass(frozen=True)
class Cpu:
    apic: int
    node: int  # of its machine
    machine: int = 0


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
    memory: Range  # of their machine; with ivshmem of the device, from 0 on
    ivshmem: tuple[int, int] | None = None  # PCI device numbers on bus 0 of each end's machine, where these are two

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
    statistics: bool = False  # may read what the kernels of all clusters count

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

    @property
    def machines(self) -> int:
        """How many it describes."""
        return max((cpu.machine for cpu in self.cpus), default=0) + 1

    def machine_of(self, cluster: Cluster) -> int:
        return self.cpus[cluster.cpus[0]].machine

    def cpu_name(self, place: int) -> str:
        cpu = self.cpus[place]
        return f"cpu@{cpu.machine:x},{cpu.apic:x}" if self.machines > 1 else f"cpu@{cpu.apic:x}"

    def cluster_of(self, cpu: int) -> Cluster | None:
        return next((c for c in self.clusters if cpu in c.cpus), None)
