# SPDX-License-Identifier: BSD-2-Clause
"""The form of a deployment file: every key with its type, range, default and meaning.

The reader checks files against it; the JSON schema and the reference in docs/ are made of it.
"""

import re
from dataclasses import fields
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, create_model, model_validator

from deploy.deployment import redis_memory
from deploy.deployment.addresses import LAST, REDIS_FIRST
from deploy.deployment.keys import Key
from deploy.deployment.model import OF_DATA, SWITCHES, Deployment, Load, Metrics, Program, Redis, Subnet
from deploy.deployment.replicas.placement import FENCE
from deploy.deployment.replicas.settings import LAST_PORT
from deploy.deployment.values import (
    LONGEST_PROGRAM_NAME,
    NAME_PATTERN,
    Lock,
    Name,
    OneOf,
    Size,
    between,
    kind_of,
    size_text,
    wrong,
)
from topology import regimes
from topology.grouping import NAMES, WORDS
from topology.layouts import EVERY
from topology.limits import MAX_PATIENCE, MAX_RESTART_DELAY, MAX_RESTART_LIMIT, MIN_PATIENCE
from topology.machines.machine import Shape
from topology.maps.clustermap import GRANULARITIES, NEVER, ON_FAILURE


class Table(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", alias_generator=lambda name: name.replace("_", "-"), frozen=True
    )


def keys_of(model: type) -> type[Table]:
    """The table whose keys the model declares (keys.py)."""
    members: dict[str, Any] = {}
    for member in fields(model):
        declared: Key | None = member.metadata.get("key")
        if declared is None:  # files do not set it
            continue
        default = None if declared.optional else list(member.default) if isinstance(member.default,
            tuple) else member.default
        kinds = [kind_of(kind) for kind in declared.kinds] + ([None] if declared.optional else [])
        members[declared.name or member.name] = (reduce(or_, kinds), Field(default, description=declared.doc))
    return create_model(model.__name__, __base__=Table, **members)


class Machine(Table):
    """The machine that is emulated, or that a libvirt domain is made of: equal sockets, or a machine that a file
    describes."""

    sockets: Annotated[int, between(1, 16)] = Field(Shape.sockets, description="Sockets.")
    cores: Annotated[int, between(1, 64)] = Field(Shape.cores, description="Cores of each socket.")
    threads: Annotated[int, between(1, 8)] = Field(Shape.threads, description="Hardware threads of each core.")
    l3_caches: Annotated[int, between(0, 64)] = Field(Shape.caches,
                                                      description="L3 caches of each socket, for the layout `per-l3`; "
                                                      "0: none.")
    numa_nodes: Annotated[int, between(1, 64)] = Field(Shape.nodes,
                                                       description="NUMA nodes of each socket, for the layout "
                                                       "`per-numa`.")
    memory: Size | None = Field(
        None, description="Memory of each NUMA node. Default: 512M for each of its threads, at least 1G."
    )
    topology: str | None = Field(
        None,
        min_length=1,
        description="A machine in place of the numbers above: hwloc's XML (`lstopo FILE.xml`), a libvirt host's "
        "capabilities, or `live`: one like that at hand. The path is relative to the deployment file. A libvirt URI is "
        "taken "
        "from the command line only (`--topology URI`): libvirt runs programs that a URI names.",
        json_schema_extra={"x-expected": "a file of hwloc's or libvirt's XML, or 'live'"},
    )
    smt: bool | None = Field(
        None, description="Of the machine of `topology` all threads of each core (the default), or, if false, one."
    )

    @model_validator(mode="after")
    def _agree(self) -> "Machine":
        for name in ("sockets", "cores", "threads", "l3_caches", "numa_nodes"):
            key = name.replace("_", "-")
            if self.topology and name in self.model_fields_set:
                raise wrong("contradicts 'topology', which says it already", key)
        for name, what in (("l3_caches", "L3 caches"), ("numa_nodes", "NUMA nodes")):
            parts = getattr(self, name)
            if self.cores % max(parts, 1):
                raise wrong(f"{self.cores} cores of a socket do not divide into {parts} {what}", name.replace("_", "-"))
        if self.smt is not None and not self.topology:
            raise wrong("is about the machine of 'topology', and there is none; 'threads' says how many a core has",
                        "smt")
        return self


class Clusters(Table):
    """How the machine's cores are divided into clusters, and which kernel each runs."""

    layout: str = Field(Deployment.layout, min_length=1,
                        description=f"{', '.join(f'`{name}`' for name in EVERY)}, or a cluster map (`.dts`, `.dtb`), "
                        "which then says all that runs. Its path is relative to the deployment file.",
                        json_schema_extra={"examples": [*WORDS, "size=4", "mine.dts"], "x-expected": f"one of {NAMES}"})
    lock: Lock | Annotated[list[Lock], Field(min_length=1, max_length=64)] = Field(
        Deployment.lock,
        description="Lock regime of every kernel; a list names one for each cluster. `none` runs on one core."
    )
    statistics: bool = Field(
        Deployment.statistics,
        description="The kernel image that counts entries, conflicts, waits and what else the regime knows."
    )
    granularity: Annotated[str, OneOf(*GRANULARITIES)] | None = Field(
        Deployment.granularity,
        description=f"Of kernels with lock `{'`, `'.join(regimes.names(regimes.SWITCHED))}`, from their start on: "
        f"`coarse`, one lock (the default), "
        "or `fine`, one for each object. `skerry granularity` changes it later.",
    )  # fmt: skip
    restart: Annotated[str, OneOf(NEVER, ON_FAILURE)] = Field(
        Deployment.restart,
        description="`on-failure`: a cluster that is lost is fenced, loaded and started again, and its programs "
        "with it, while the others go on.",
    )  # fmt: skip
    restart_limit: Annotated[int, between(0, MAX_RESTART_LIMIT)] = Field(
        Deployment.restart_limit,
        description="How often a cluster is started again in 60 s at most; after that it stays down. 0: without limit."
    )
    restart_delay: Annotated[int, between(0, MAX_RESTART_DELAY)] = Field(
        Deployment.restart_delay, description="Milliseconds before it is started again; twice as many each time that "
        "it is lost within 60 s, up to 5 s."
    )
    failure_timeout: Annotated[int, between(MIN_PATIENCE, MAX_PATIENCE)] | None = Field(
        Deployment.failure_timeout,
        validation_alias=AliasChoices("failure-timeout", "patience"),  # problems.py: FORMER
        description="Milliseconds of silence after which a cluster counts as lost; for its manager two thirds more. "
        "Default: 100; in QEMU's emulator 3000.",
    )  # fmt: skip
    spare_cores: bool = Field(
        Deployment.spare_cores,
        description="Each kernel has room for the machine's other cores, which `skerry move` can give it. "
        "For `restart = \"on-failure\"`.",
    )  # fmt: skip


class RedisTable(keys_of(Redis)):  # type: ignore[misc]  # made of the model's keys
    """Instances of Redis. Without this table there are none."""

    @property
    def room(self) -> int:
        """Returns the bytes that data may take."""
        return self.heap if redis_memory.OPTION in self.args else redis_memory.maxmemory(self.heap)

    @model_validator(mode="after")
    def _agree(self) -> "RedisTable":
        if self.cpus is not None and "instances" in self.model_fields_set:
            raise wrong("contradicts 'cpus', which has one instance for each core that it names", "instances")
        for option, name in (("--port", "port"), *((f"--{word}", "data") for word in OF_DATA if self.data is not None)):
            if option in self.args:
                raise wrong(f"says '{option}', which the key '{name}' is for", "args")
        if self.children and self.stack != "inproc":
            raise wrong(f"contradicts 'stack' = '{self.stack}': a stack process serves one process", "children")
        for name in ("append", "save"):
            if getattr(self, name) and self.data is None:
                raise wrong("is about a folder for the data, and there is none; 'data' names it", name)
        self._agree_of_masters()
        return self

    def _agree_of_masters(self) -> None:
        """Refuses keys that cannot stand beside `masters`, or not without them."""
        if not self.masters:
            for name in ("replicas", "arbiter", "node_timeout"):
                if name in self.model_fields_set:
                    raise wrong("is about a Redis Cluster, and there is none; 'masters' says how many it has",
                                name.replace("_", "-"))
            return
        for name, why in (("instances", "has an instance for each master and replica"),
                          ("host_port", "has the same ports on the host as within; 'port' says the first"),
                          ("data", "spreads its instances over clusters that have no volumes")):
            if name in self.model_fields_set:
                raise wrong(f"contradicts 'masters', which {why}", name.replace("_", "-"))
        if self.replicas and self.stack != "inproc":
            raise wrong(f"contradicts 'stack' = '{self.stack}': a master sends its data from a child, which a stack "
                        f"process does not serve", "replicas")
        count = self.masters * (1 + self.replicas)
        if self.cpus is not None and len(self.cpus) != count:
            raise wrong(f"names {len(self.cpus)}, and {self.masters} masters with their replicas are {count} instances",
                        "cpus")
        if self.port + count - 1 > LAST_PORT:
            raise wrong(f"{self.port} leaves no room for {count} ports up to {LAST_PORT}, 10,000 below the last one, "
                        f"where the cluster's own begin", "port")


class Ycsb(keys_of(Load)):  # type: ignore[misc]  # made of the model's keys
    """The load: YCSB clients beside each Redis, on its core. They load the records together, read some of them, and
    begin together."""

    @model_validator(mode="after")
    def _agree(self) -> "Ycsb":
        if self.model_fields_set and "clients" not in self.model_fields_set:
            raise wrong("lacks 'clients', how many beside each Redis: there would be no load")
        return self


class MetricsTable(keys_of(Metrics)):  # type: ignore[misc]  # made of the model's keys
    """An endpoint for Prometheus at an address of its own in the machine, `http://HOST:PORT/metrics`: what clusters,
    cores, locks and Redis instances count. Without this table there is none."""


class ProgramTable(keys_of(Program)):  # type: ignore[misc]  # made of the model's keys
    """Any other program, as often as wanted: one process, on one core or several. Of the build (`program`), or your own
    (`elf`)."""

    @model_validator(mode="after")
    def _agree(self) -> "ProgramTable":
        if self.program is None and self.elf is None:
            raise wrong("has neither 'program' nor 'elf'")
        if self.program is not None and self.elf is not None:
            raise wrong("contradicts 'program': one of them says what runs", "elf")
        for key in ("cpu", "cores"):
            if self.cpus is not None and key in self.model_fields_set:
                raise wrong("contradicts 'cpus', which names its cores", key)
        if self.program is not None and (self.cores != 1 or len(self.cpus or ()) > 1):
            raise wrong(f"'{self.program}' is of the build and for one core; several are for 'elf'",
                        "cpus" if self.cpus else "cores")
        if self.processes > 1 and (other := self._not_of_families()):
            raise wrong(f"is for programs of 'elf', of one core; this one has {other}",
                        "processes")
        if self.ports and not self.network:
            raise wrong(f"'{self.program or self.elf}' forwards ports, but has no network; set network = true", "ports")
        if self.cables and not self.network:
            raise wrong(f"'{self.program or self.elf}' has cables, but no network; set network = true", "cables")
        inside = [port.inside for port in self.ports]
        if twice := next((port for port in inside if inside.count(port) > 1), None):
            raise wrong(f"names the program's port {twice} twice", "ports")
        if self.storage and self.storage > self.heap:
            raise wrong(f"{size_text(self.storage)} is more than its heap, {size_text(self.heap)}", "storage")
        return self


    def _not_of_families(self) -> str | None:
        """Returns the key that cannot stand beside several processes."""
        several = self.cores != 1 or len(self.cpus or ()) > 1
        return next((f"'{key}'" for key, there in (("program", self.program), ("cores", several)) if there), None)


class NetworkTable(keys_of(Subnet)):  # type: ignore[misc]  # made of the model's keys
    """The network in the machine, which is there without this table too. The host is its gateway; two machines on one
    bridge need subnets of their own."""

    switch: Annotated[str, OneOf(*SWITCHES)] | None = Field(
        None,
        description="`one` on core 0, as in the papers, or one on the first core of each socket (`per-socket`), which "
        "gets no Redis then. Default: `per-socket` where there are several sockets of three cores or more, each "
        "within one "
        "cluster."
    )

    @model_validator(mode="after")
    def _agree(self) -> "NetworkTable":
        if self.gateway is None:
            return self
        if self.gateway not in self.subnet:
            raise wrong(f"{self.gateway} is not in the subnet {self.subnet}", "gateway")
        if self.gateway in (self.subnet[0], self.subnet[-1]):
            which = "its broadcast address" if self.gateway == self.subnet[-1] else "its own"
            raise wrong(f"{self.gateway} is no station of the subnet {self.subnet}, but {which}", "gateway")
        if self.subnet[REDIS_FIRST] <= self.gateway <= self.subnet[LAST]:
            raise wrong(f"{self.gateway} is one that programs get: from {self.subnet[REDIS_FIRST]} to "
                        f"{self.subnet[LAST]}", "gateway")
        return self


class File(Table):
    """A deployment: which programs run on which machine, under which kernels."""

    name: Name | None = Field(None, description="In results, logs and GRUB's menu. Default: the file's name.")
    shutdown: Annotated[str, OneOf("when-done", "never")] = Field(
        Deployment.shutdown,
        description="Power off when every program that counts (`barrier`, and every client) has ended, if "
        "there is one; or never. The run is over then either way: no program and no cluster that ends later is started "
        "again."
    )
    network: bool | NetworkTable = Field(
        Deployment.network, description="A switch and a network driver on core 0, or a switch on each socket; as a "
        "table, with what it says."
    )
    machine: Machine = Field(Machine(), description="The machine.")
    clusters: Clusters = Field(Clusters(), description="Clusters and kernels.")
    redis: RedisTable | None = Field(None, description="Instances of Redis.")
    ycsb: Ycsb = Field(Ycsb(), description="The load.")
    metrics: MetricsTable | None = Field(None, description="An endpoint for Prometheus.")
    program: list[ProgramTable] = Field([], description="Other programs.")

    @model_validator(mode="after")
    def _agree(self) -> "File":
        if self.ycsb.clients and self.redis is None:
            raise wrong("has clients, but there is no [redis] for them", "ycsb", "clients")
        size = self.ycsb.records * self.ycsb.value_size
        room = self.redis.room if self.redis else 0
        if self.ycsb.clients and self.redis and size > room:
            what = f"{self.ycsb.records} records of {self.ycsb.value_size} bytes"
            key = "records" if "records" in self.ycsb.model_fields_set else "value-size"
            heap = f"a heap of {size_text(self.redis.heap)} ('heap' of [redis])"
            raise wrong(f"{what} do not fit into {heap}, of which Redis may fill {size_text(room)}", "ycsb", key)
        if self.redis and self.redis.masters:
            self._check_replicas(self.redis)
        if isinstance(self.network, NetworkTable) and not self.network.forward:
            self._check_inside()
        if not self.network:
            if self.redis:
                raise wrong("contradicts [redis], which needs the network", "network")
            if self.metrics:
                raise wrong("contradicts [metrics], which needs the network", "network")
            for program in self.program:
                if program.network:
                    raise wrong(f"contradicts '{program.program or program.elf}', which needs the network", "network")
        return self


    def _check_replicas(self, redis: RedisTable) -> None:
        """Refuses what a Redis Cluster has no use for, or lacks."""
        if self.ycsb.clients:
            raise wrong("contradicts 'masters' of [redis]: a client here asks one Redis, which has a part of the keys",
                        "ycsb", "clients")
        if self.metrics:
            raise wrong("contradicts 'masters' of [redis], whose instances have ports of their own", "metrics")
        if isinstance(self.network, NetworkTable) and not self.network.forward:
            raise wrong("contradicts 'masters' of [redis]: they are formed through ports of the host", "network",
                        "forward")
        if redis.arbiter == FENCE and self.clusters.restart == NEVER:
            raise wrong(f"'{FENCE}' needs restart = \"{ON_FAILURE}\" of [clusters]: a lost cluster is not fenced "
                        f"otherwise", "redis", "arbiter")

    def _check_inside(self) -> None:
        """Refuses ports of the host where none are forwarded."""
        for name, table in (("redis", self.redis), ("metrics", self.metrics)):
            if table and table.host_port is not None:
                raise wrong("contradicts forward = false of [network]", name, "host-port")
        for number, program in enumerate(self.program):
            if program.ports:
                raise wrong("contradicts forward = false of [network]", "program", number, "ports")


def is_name(text: str) -> bool:
    return re.fullmatch(NAME_PATTERN.strip("^$"), text) is not None


def is_program_name(text: str) -> bool:
    return is_name(text) and len(text) <= LONGEST_PROGRAM_NAME
