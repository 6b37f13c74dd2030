# SPDX-License-Identifier: BSD-2-Clause
"""What a deployment says, whoever said it: a file, the command line, a test."""

from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network

from deploy.deployment.places import Places
from topology.machine import Machine, Shape, default_memory, one_thread_per_core, with_memory
from topology.units import GIB, MIB

EVERY_CORE = "every-core"
WORKLOADS = ("a", "b", "c", "f")
STACKS = ("inproc", "process")
REDIS_ARGS = (
    ["--save", "", "--appendonly", "no", "--protected-mode", "no", "--bind", "0.0.0.0"]
    + ["--daemonize", "no", "--loglevel", "notice"]
)


@dataclass(frozen=True)
class Redis:
    """Instances of Redis: one on every core but the network's, so many from the second core on, or on these cores."""

    instances: int | str = EVERY_CORE
    heap: int = 256 * MIB
    args: tuple[str, ...] = tuple(REDIS_ARGS)
    port: int = 6379
    host_port: int | None = None  # of the host for the first, and so on; None: any that are free
    stack: str = "inproc"  # its lwIP inside its process, or "process": in one of its own
    cpus: tuple[int, ...] = ()  # one instance on each of these, in place of `instances`


@dataclass(frozen=True)
class Load:
    """YCSB clients beside each Redis, on its core."""

    clients: int = 0  # of each Redis
    workload: str = "c"
    records: int = 10_000  # of each Redis
    operations: int = 10_000  # of each client
    value_size: int = 1000
    pipeline: int = 1
    heap: int = 32 * MIB


@dataclass(frozen=True)
class Port:
    """A TCP port of a program, and the host's that leads there; None: any that is free."""

    inside: int
    outside: int | None = None


@dataclass(frozen=True)
class Program:
    """Any other program: one process on one core (its number among all cores of the machine)."""

    program: str
    cpu: int = 0
    heap: int = 16 * MIB
    args: tuple[str, ...] = ()
    network: bool = False
    barrier: bool = True  # the machine is done when it has ended
    name: str | None = None
    forward: tuple[Port, ...] = ()  # that the host is to reach


@dataclass(frozen=True)
class Metrics:
    """The program that answers Prometheus."""

    port: int = 9100
    host_port: int | None = None
    cpu: int = 0
    heap: int = 16 * MIB


@dataclass(frozen=True)
class Subnet:
    """Where the machine's programs have their addresses, and whether ports of the host lead there."""

    network: IPv4Network = IPv4Network("10.0.2.0/24")
    gateway: IPv4Address | None = None  # None: the second address, as QEMU has it
    mtu: int = 1500
    forward: bool = True

    @property
    def host(self) -> IPv4Address:
        """The gateway, which is the emulator itself unless the machine is on a bridge."""
        return self.gateway or self.network[2]


@dataclass(frozen=True)
class Deployment:
    name: str = "deployment"
    shape: Shape | Machine = field(default_factory=Shape)  # regular, or like one that somebody described
    layout: str = "per-socket"
    lock: str = "clh"
    locks: tuple[str, ...] = ()  # one for each cluster, in place of `lock`
    statistics: bool = False  # the kernel image that counts
    redis: Redis | None = None
    load: Load = field(default_factory=Load)
    metrics: Metrics | None = None
    programs: tuple[Program, ...] = ()
    shutdown: str = "when-done"
    network: bool = True
    subnet: Subnet = field(default_factory=Subnet)
    places: Places | None = field(default=None, compare=False, repr=False)  # where its file says what

    @property
    def kernel(self) -> str:
        return self.kernel_of(self.lock)

    def kernel_of(self, lock: str) -> str:
        return f"{lock}+stat" if self.statistics else lock

    def with_machine(
        self, sockets: int | None, cores: int | None, memory: int | None = None, smt: bool = True
    ) -> "Deployment":
        """The same on another machine; memory grows with the cores unless it is named. Without `smt`, one thread a core."""
        shape = self.shape
        if sockets is not None or cores is not None:
            before = shape if isinstance(shape, Shape) else Shape()
            cores = cores or before.cores
            shape = Shape(sockets or before.sockets, cores, before.memory if cores == before.cores else default_memory(cores))
        if not smt:
            shape = one_thread_per_core(shape)
        if memory is not None:
            shape = with_memory(shape, memory)
        return self if shape is self.shape else self.on(shape)

    def on(self, shape: Shape | Machine) -> "Deployment":
        """On a machine that the command line names."""
        return replace(self, shape=shape, places=self.places and self.places.without("machine"))

    def with_clusters(self, layout: str | None, lock: str | None) -> "Deployment":
        """With what the command line says of them."""
        found, places = self, self.places
        if layout is not None:
            places = places and places.without("clusters", "layout")
            found = replace(found, layout=layout, places=places)
        if lock is not None:
            places = places and places.without("clusters", "lock")
            found = replace(found, lock=lock, locks=(), places=places)
        return found


DEFAULT = Deployment(name="redis", redis=Redis(), shape=Shape(2, 2, GIB), shutdown="never")
