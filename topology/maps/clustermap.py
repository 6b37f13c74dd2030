# SPDX-License-Identifier: BSD-2-Clause
"""The cluster map as data (docs/cluster-map.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from topology.errors import KeyPath
from topology.limits import RESTART_DELAY, RESTART_LIMIT
from topology.machines.machine import Board, MemoryRange, Shape

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


GRANULARITIES = COARSE, FINE = "coarse", "fine"  # enum granularity


@dataclass
class Cluster:
    number: int
    kernel: str
    cpus: list[int]  # places in ClusterMap.cpus, core 0 of the cluster first
    memory: list[Range]
    modules: list[str] = field(default_factory=list)
    root: str = "root"
    devices: bool = False
    restart: bool = False  # when it is lost
    restart_limit: int = RESTART_LIMIT  # times in 60 s; it stays down then. 0: no limit
    restart_delay: int = RESTART_DELAY  # ms before the first of them
    spare_cores: bool = False  # its kernel has room for the machine's other cores
    granularity: str = COARSE  # of a kernel that has a choice, from its start on
    homed: bool = False  # its programs' objects are at home on the cores of the program's NUMA node

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


PLACEMENTS = SPREAD, FIRST = "spread", "first"
RESTARTS = NEVER, ON_FAILURE, ALWAYS = "never", "on-failure", "always"


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
    env: list[str] = field(default_factory=list)  # NAME=VALUE
    cwd: str | None = None
    files: str | None = None  # the module with its files
    cpus: list[int] = field(default_factory=list)  # of a program of several cores: their places, `cpu` first
    placement: str = SPREAD  # on which of its cores its threads start
    storage: int = 0  # bytes of the heap that its own files may take; 0: as the POSIX layer has it
    user: tuple[int, int] = (0, 0)  # uid and gid
    threads: int | None = None  # that it may have at once; None: as many as there can be
    processes: int = 1  # that it may be at once; each has a heap
    awaits: list[str] = field(default_factory=list)
    # applications of its cluster to which its frames go without a switch
    cables: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)  # the servers of its volumes
    mount: str | None = None  # of a volume server: where its program has the volume
    stack: str | None = None  # the application that runs lwIP for it; None: it does so itself
    switch: str | None = None  # the one that its network port is of; None: the root switch
    barrier: bool = False
    restart: str = NEVER  # when it is started again after its end
    restart_limit: int = RESTART_LIMIT  # times in 60 s; it stays down then. 0: no limit
    restart_delay: int = RESTART_DELAY  # ms before the first of them
    statistics: bool = False  # may read what the kernels of all clusters count
    origin: KeyPath = field(default=(), compare=False, repr=False)  # in the deployment that it was made of

    @property
    def name(self) -> str:
        return f"{self.base_name}@{self.number:x}"

    @property
    def cores(self) -> list[int]:
        """Returns the places of all its cores among those of the map."""
        return self.cpus or [self.cpu]

    @property
    def ends_the_run(self) -> bool:
        """The run lasts until it has ended; one that is always started again never ends by itself."""
        return self.barrier and self.restart != ALWAYS


def switch_of(applications: Sequence[Application], app: Application) -> Application | None:
    """Returns the switch with an application's network port; None: it needs none, or there is no such switch."""
    if not app.ipv4 and app.role != "nic" and not (app.role == "switch" and app.switch):
        return None
    switches = [a for a in applications if a.role == "switch"]
    return next((a for a in switches if (a.name == app.switch if app.switch else not a.switch)), None)


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
    failure_timeout: int | None = None  # ms of silence after which a cluster counts as lost; None: the loader chooses
    shape: Shape | Board | None = None  # the emulated machine that the map was made for (irregular.py)

    @property
    def machines(self) -> int:
        """Returns how many machines it describes."""
        return max((cpu.machine for cpu in self.cpus), default=0) + 1

    def machine_of(self, cluster: Cluster) -> int:
        return self.cpus[cluster.cpus[0]].machine

    def cpu_name(self, place: int) -> str:
        cpu = self.cpus[place]
        return f"cpu@{cpu.machine:x},{cpu.apic:x}" if self.machines > 1 else f"cpu@{cpu.apic:x}"

    def switch_of(self, app: Application) -> Application | None:
        return switch_of(self.applications, app)

    def ports_between(self, one: int, other: int) -> int:
        """Network ports in a channel of these clusters."""
        pairs = [(app, switch) for app in self.applications if (switch := self.switch_of(app))]
        ends = [{c.number for a in pair if (c := self.cluster_of(a.cpu))} for pair in pairs]
        return ends.count({one, other})

    def _way(self, app: Application) -> list[Application]:
        """From an application to the root switch."""
        way = [app]
        while (switch := self.switch_of(way[-1])) and switch not in way:
            way.append(switch)
        return way

    def hops_between(self, one: Application, other: Application) -> int:
        """Channels between clusters that a frame goes through."""
        up, down = self._way(one), self._way(other)
        meet = next((app for app in up if app in down), None)
        if meet is None:
            return 0
        way = up[: up.index(meet) + 1] + down[: down.index(meet)][::-1]
        clusters = [self.cluster_of(app.cpu) for app in way]
        return sum(a is not b for a, b in zip(clusters, clusters[1:]))

    def hops_per_operation(self) -> float:
        """Returns the hops of a client's request and its answer, the mean of all clients: those are whoever awaits a
        server with an address."""
        by_name = {app.name: app for app in self.applications}
        hops = [2 * self.hops_between(a, by_name[name]) for a in self.applications if a.ipv4 for name in a.awaits
                if by_name[name].ipv4]
        return sum(hops) / len(hops) if hops else 0.0

    def cluster_of(self, cpu: int) -> Cluster | None:
        return next((c for c in self.clusters if cpu in c.cpus), None)
