# SPDX-License-Identifier: BSD-2-Clause
"""The deployment, whoever describes it: a file, the command line, a test."""

from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from deploy.deployment import engines, keys, modules
from deploy.deployment.file_tree import FileTree, Mapped
from deploy.deployment.keys import Whole, Words, key
from deploy.deployment.places import Places
from deploy.deployment.replicas.placement import ARBITERS, MAJORITY
from deploy.deployment.volumes import Folder, Volume
from topology import drivers
from topology.limits import (
    MAX_CORES,
    MAX_PROCESSES,
    MAX_RESTART_DELAY,
    MAX_RESTART_LIMIT,
    MAX_THREADS,
    MAX_USER,
    MTU_RANGE,
    RESTART_DELAY,
    RESTART_LIMIT,
)
from topology.machines.machine import Machine, Shape, default_memory, one_thread_per_core, with_memory
from topology.maps.clustermap import NEVER, PLACEMENTS, RESTARTS, SPREAD
from topology.units import GIB, MIB

EVERY_CORE = "every-core"
EVERY_CORE_OF_CLUSTER = "cluster"
WORKLOADS = ("a", "b", "c", "d", "e", "f")
STACKS = ("inproc", "process")
APPENDS = ("no", "everysec", "always")
SWITCHES = ONE_SWITCH, SWITCH_OF_SOCKET = "one", "per-socket"
REDIS_ARGS = (["--save", "", "--appendonly", "no", "--protected-mode", "no", "--bind", "0.0.0.0"]
              + ["--daemonize", "no", "--loglevel", "notice"])
OF_DATA = ("dir", "appendfsync", "appenddirname", "appendfilename", "dbfilename")  # settings that `data` makes


_CARDS = ", ".join(f"`{driver.name}` ({driver.what})" for driver in drivers.every().values())
HOST_PORT = "Port of the host's loopback that leads to {}. Default: any that is free, another one each time."
# Programs that nobody deploys: some are a cluster's first task, stacks come with what they serve, others by keys.
NO_APPLICATIONS = ("root", "ktest", "pingpong", "pingpong-many", "stress", "stack", "switch", "volume",
                   *drivers.every(), "metrics", *(engine.forking for engine in engines.ENGINES.values()))


@dataclass(frozen=True)
class Redis:
    """Instances of Redis: one on every core but the network's, so many from the second core on, or on these cores."""

    server: str = key(
        engines.REDIS.name, Words(tuple(engines.ENGINES)), kw_only=True,
        doc="What they are: `redis`, or `valkey`, which is fetched and built when a deployment asks for it.",
    )  # fmt: skip
    instances: int | str = key(
        EVERY_CORE, Whole(0, 64), Words((EVERY_CORE,)),
        doc="One on every core but the network's (core 0, or each socket's first, unless there is no other), or so "
        "many "
        "of these in their order.",
    )  # fmt: skip
    cpus: tuple[int, ...] = key(
        (), keys.CPUS, optional=True, kw_only=True,
        doc="In place of `instances`: an instance on each of these cores, numbered in the whole machine.",
    )  # fmt: skip
    heap: int = key(256 * MIB, keys.SIZE, doc="Memory that each reserves, a multiple of 2 MiB.")
    port: int = key(6379, keys.PORT, doc="TCP port of each, at its own address.")
    host_port: int | None = key(None, keys.PORT, optional=True,
                                doc=HOST_PORT.format("the first instance, the next one to the second, and so on"))
    args: tuple[str, ...] = key(
        tuple(REDIS_ARGS), keys.ARGUMENTS,
        doc="Arguments of the server, behind `--port` and the limits that follow from `heap`. The default turns "
        "persistence off.",
    )  # fmt: skip
    stack: str = key(
        "inproc", Words(STACKS),
        doc="Where an instance's TCP/IP is: `inproc`, in its process (few kernel entries), or `process`, in a "
        "process of its own beside it, as in the papers (many).",
    )  # fmt: skip
    restart: str = key(NEVER, Words(RESTARTS),
                       doc="When an instance is started again after its end, as of a `[[program]]`.")
    data: str | None = key(
        None, keys.TEXT, optional=True, kw_only=True,
        doc="A folder of the host in which instances keep their data: the first in `redis-1` below it, and so on. The "
        "path is from the deployment file. For instances of the cluster with the devices, under `run` and `deploy`.",
    )  # fmt: skip
    append: str | None = key(
        None, Words(APPENDS), optional=True, kw_only=True,
        doc="When what an instance has appended to its log of writes is on the host's disk: `always`, before it "
        "answers; `everysec` (the default with `data`), within a second or two; `no`: there is no log.",
    )  # fmt: skip
    save: str = key(
        "", keys.SAVE, kw_only=True,
        doc="Rules after which an instance with `data` saves all of it, as in redis.conf: `\"3600 1 300 100\"`, pairs "
        "of seconds and changes. It answers nobody meanwhile, unless a child saves.",
    )  # fmt: skip
    children: int = key(
        0, Whole(0, 1), kw_only=True,
        doc="1: an instance forks a child that saves, rewrites the log or sends all data to a replica (`BGSAVE`, "
        "`BGREWRITEAOF`, `REPLICAOF`), and reserves a second heap for it meanwhile. 0: these are refused.",
    )  # fmt: skip
    masters: int = key(
        0, Whole(0, 64), kw_only=True,
        doc="In place of `instances`: a Redis Cluster of so many masters, each with a part of the keys, which `run` "
        "forms. The first has `port`, each other one the next port; the host's ports are the same.",
    )  # fmt: skip
    replicas: int = key(
        0, Whole(0, 3), kw_only=True,
        doc="Replicas of each of the `masters`. All copies of a master's data are in different clusters.",
    )  # fmt: skip
    arbiter: str = key(
        MAJORITY, Words(ARBITERS), kw_only=True,
        doc="What lets a replica take over beside a cluster that is lost and fenced: `majority`, most masters, so no "
        "cluster may have half of them; `fence`, nothing, so two clusters will do.",
    )  # fmt: skip
    node_timeout: int = key(
        2000, Whole(100, 600_000), kw_only=True,
        doc="Milliseconds without an answer after which `masters` count each other as failed.",
    )  # fmt: skip
    folder: Folder | None = None  # what `data` is on the host

    def port_of(self, number: int) -> int:
        """Returns the TCP port of an instance. Those of a Redis Cluster tell clients and each other one port, which
        therefore is one on the host, too."""
        return self.port + number if self.masters else self.port


@dataclass(frozen=True)
class Load:
    """YCSB clients beside each Redis, on its core."""

    clients: int = key(0, Whole(0, 16), doc="Clients of each Redis; 0: no load.")
    workload: str = key(
        "c", Words(WORKLOADS),
        doc="YCSB's core workload: `a` half reads and half updates, `b` 95 % reads, `c` reads only, `d` "
        "reads of the latest and 5 % inserts, `e` scans and 5 % inserts, `f` read-modify-write.",
    )  # fmt: skip
    records: int = key(10_000, Whole(1, 1 << 28), doc="Records of each Redis.")
    operations: int = key(10_000, Whole(1, 1 << 40), doc="Operations of each client.")
    value_size: int = key(1000, Whole(240, 64 << 20, 10), doc="Bytes of a record, in ten fields.")
    pipeline: int = key(1, Whole(1, 1024), doc="Requests that a client has on the way at once.")
    heap: int = key(32 * MIB, keys.SIZE, doc="Memory that each client reserves.")
    survive: int = key(
        0, Whole(0, 3600),
        doc="Seconds for which a client that has lost its Redis tries to reach it again. Operations without an "
        "answer are "
        "counted, not failed, and a Redis that was started again may have lost its records. 0: a loss ends the run.",
    )  # fmt: skip
    cables: bool = key(
        True, keys.FLAG,
        doc="A client and its Redis exchange frames directly; `false`: through the switch, as all others do."
    )
    think: int = 0  # microseconds that a client pauses before an operation, on average; no key of deployment files
    warm: int = 0  # operations of each client before those that are measured; no key of deployment files
    rate: int = 0  # operations a second that arrive at each client; 0: a closed loop; no key of deployment files
    arrivals: int = 1  # seed of their schedule; no key of deployment files

    @property
    def whole(self) -> int:
        """Operations of each client, those that are not measured included."""
        return self.warm + self.operations


@dataclass(frozen=True)
class Port:
    """A TCP port of a program, and the host's that leads there; None: any that is free."""

    inside: int
    outside: int | None = None


@dataclass(frozen=True)
class Program:
    """Any other program: one process, on one core or several. `program` is its module's name; `elf` the module's file,
    None: the build has it."""

    program: str = key(
        keys.MISSING, Words(tuple(name for name in modules.PROGRAMS if name not in NO_APPLICATIONS)), optional=True,
        doc="A program that the build makes.",
    )  # fmt: skip
    elf: Path | None = key(
        None, keys.TEXT, optional=True, kw_only=True,
        doc="A static executable that `skerry cc` has linked; its path, from the deployment file.",
    )  # fmt: skip
    cpu: int = key(0, keys.CPU, doc="Its core, numbered in the whole machine; the first of several.")
    cores: int | str = key(
        1, Whole(1, MAX_CORES), Words((EVERY_CORE_OF_CLUSTER,)), kw_only=True,
        doc="Cores that its threads use: so many of its cluster from `cpu` on that have no switch, or all of these. "
        "For an `elf` of `skerry cc --cores`.",
    )  # fmt: skip
    cpus: tuple[int, ...] = key(
        (), keys.CPUS, optional=True, kw_only=True,
        doc="In place of `cpu` and `cores`: these cores, of one cluster, numbered in the whole machine.",
    )  # fmt: skip
    placement: str = key(
        SPREAD, Words(PLACEMENTS), kw_only=True,
        doc="On which of several cores its threads start: `spread`, one after another, or `first`; the program may "
        "move them.",
    )  # fmt: skip
    heap: int = key(16 * MIB, keys.SIZE, doc="Memory that it reserves.")
    args: tuple[str, ...] = key((), keys.ARGUMENTS, doc="Its arguments.")
    env: tuple[str, ...] = key((), keys.VARIABLES,
                               doc="Its environment, `\"NAME=VALUE\"` each; there is nothing else in it.")
    cwd: str = key("/", keys.FOLDER, doc="The folder in which it starts; made where there is none.")
    files: tuple[Mapped, ...] = key(
        (), keys.MAPPED,
        doc="Files and folders of the host that it finds in its file system, `\"host/path:/guest/path\"`; the host's "
        "path is "
        "from the deployment file. Programs share them, read-only; with `:rw` behind it each has its own to change.",
    )  # fmt: skip
    volume: tuple[Volume, ...] = key(
        (), keys.VOLUMES,
        doc="Folders of the host that it reads and writes, `\"host/folder:/guest/path\"`, with `:ro` reads; for "
        "programs of the cluster with the devices, under `run` and `deploy`.",
    )  # fmt: skip
    storage: int | None = key(
        None, keys.SIZE, optional=True,
        doc="What files that it writes may take of its heap. Default: half of it for `elf`, a sixteenth for `program`.",
    )  # fmt: skip
    threads: int = key(MAX_THREADS, Whole(1, MAX_THREADS),
                       doc="Threads that it may have at once, the first one among them.")
    processes: int = key(
        1, Whole(1, MAX_PROCESSES), kw_only=True,
        doc="Processes that it may be at once, itself among them: it may fork. Each reserves a heap when it is forked. "
        "For an `elf` of `skerry cc --processes`, on one core.",
    )  # fmt: skip
    uid: int = key(0, Whole(0, MAX_USER), doc="The user that it starts as.")
    gid: int = key(0, Whole(0, MAX_USER), doc="The group that it starts as.")
    restart: str = key(
        NEVER, Words(RESTARTS),
        doc="When it is started again after its end: `never`, `on-failure` (a fault, an exit status other than 0, a "
        "start "
        "that failed) or `always`.",
    )  # fmt: skip
    restart_limit: int = key(
        RESTART_LIMIT, Whole(0, MAX_RESTART_LIMIT),
        doc="How often it is started again in 60 s at most; after that it stays down. 0: without limit."
    )
    restart_delay: int = key(
        RESTART_DELAY, Whole(0, MAX_RESTART_DELAY),
        doc="Milliseconds before it is started again; twice as many each time that it ends within 60 s, up to 5 s.",
    )  # fmt: skip
    network: bool = key(False, keys.FLAG, doc="A TCP/IP stack with an address of its own.")
    cables: tuple[str, ...] = key(
        (), keys.PROGRAM_NAMES,
        doc="Programs of its cluster with which it exchanges frames directly, not through the switch, by name: "
        "`\"redis\"` is "
        "every instance there. A program can have 16 such cables.",
    )  # fmt: skip
    barrier: bool = key(True, keys.FLAG, doc="The machine is done only when this has ended.")
    name: str | None = key(
        None, keys.PROGRAM_NAME, optional=True, doc="What results call it. Default: the program's or the file's name."
    )
    ports: tuple[Port, ...] = key(
        (), keys.FORWARDED,
        doc="Its TCP ports that the host is to reach: `7000` at any free port of the host, `\"17000:7000\"` at 17000.",
    )  # fmt: skip
    tree: FileTree | None = None  # what `files` are on the host
    folders: tuple[Folder, ...] = ()  # what `volume` are there

    @property
    def several(self) -> str | None:
        """Returns the key that gives it several cores; None: it has one."""
        return "cpus" if len(self.cpus) > 1 else "cores" if self.cores != 1 else None


@dataclass(frozen=True)
class Metrics:
    """The program that answers Prometheus."""

    port: int = key(9100, keys.PORT, doc="Its TCP port, which the host reaches.")
    host_port: int | None = key(None, keys.PORT, optional=True, doc=HOST_PORT.format("it"))
    cpu: int = key(
        0, keys.CPU,
        doc="Its core, numbered in the whole machine; one of the cluster that has the devices, as core 0 has."
    )
    heap: int = key(16 * MIB, keys.SIZE, doc="Memory that it reserves.")


@dataclass(frozen=True)
class Subnet:
    """Addresses of the machine's programs, and whether ports of the host lead there."""

    network: IPv4Network = key(
        IPv4Network("10.0.2.0/24"), keys.SUBNET, name="subnet",
        doc="Redis instances are at its .101 and above, everything else at its .151 and above.",
    )  # fmt: skip
    gateway: IPv4Address | None = key(
        None, keys.ADDRESS, optional=True, doc="The subnet's way out. Default: its second address, as 10.0.2.2."
    )
    mtu: int = key(1500, Whole(MTU_RANGE.start, MTU_RANGE.stop - 1), doc="Bytes of a packet.")
    forward: bool = key(
        True, keys.FLAG,
        doc="Ports of the host's loopback lead to what serves; `false`: only programs in the machine reach it, or a "
        "bridge's.",
    )  # fmt: skip
    outside: bool = key(
        False, keys.FLAG,
        doc="Programs may connect to the host and its network through QEMU's user network, the services of the "
        "host's own "
        "127.0.0.1 included (at the gateway's address), and so may each client of a Redis, by `MIGRATE`. `false`: the "
        "machine "
        "answers on forwarded ports, and nothing else leaves it. A bridge is not restricted.",
    )  # fmt: skip
    driver: str | None = key(
        None, Words(tuple(drivers.every())), optional=True,
        doc=f"The network card's driver: {_CARDS}. The machine gets that card. Default: `{drivers.usual().name}`; on "
        f"real "
        "hardware (`image --live`) none, so that programs are reached from within only.",
    )  # fmt: skip

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
    granularity: str | None = None  # of kernels that have a choice, from their start on; None: coarse
    restart: str = NEVER  # when a cluster that is lost is started again
    restart_limit: int = RESTART_LIMIT
    restart_delay: int = RESTART_DELAY
    failure_timeout: int | None = None  # ms of silence after which a cluster counts as lost; None: by the machine
    spare_cores: bool = False  # kernels have room for cores that move to them
    redis: Redis | None = None
    load: Load = field(default_factory=Load)
    metrics: Metrics | None = None
    programs: tuple[Program, ...] = ()
    shutdown: str = "when-done"
    network: bool = True
    switch: str | None = None  # one, one for each socket, or what suits the machine (switches.py)
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
        """Returns the deployment on another machine; memory grows with the cores unless it is named. Without `smt` it
        has one thread a core."""
        shape = self.shape
        if sockets is not None or cores is not None:
            before = shape if isinstance(shape, Shape) else Shape()
            cores = cores or before.cores
            shape = Shape(sockets or before.sockets, cores,
                          before.memory if cores == before.cores else default_memory(cores))
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
        changed, places = self, self.places
        if layout is not None:
            places = places and places.without("clusters", "layout")
            changed = replace(changed, layout=layout, places=places)
        if lock is not None:
            places = places and places.without("clusters", "lock")
            changed = replace(changed, lock=lock, locks=(), places=places)
        return changed


DEFAULT = Deployment(name="redis", redis=Redis(), shape=Shape(2, 2, GIB), shutdown="never")
