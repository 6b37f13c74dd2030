# SPDX-License-Identifier: BSD-2-Clause
"""The form of a deployment file: every key with its type, range, default and meaning.

The reader checks files against it; the JSON schema and the reference in docs/ are made of it.
"""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from deploy import modules
from deploy.addresses import LAST, REDIS_FIRST
from deploy.deployment.model import EVERY_CORE, STACKS, WORKLOADS, Load, Metrics, Redis, Subnet
from deploy.deployment.model import Program as ProgramDefaults
from deploy.deployment.values import (
    HOST_PORT,
    NAME_PATTERN,
    Address,
    Arguments,
    Cpu,
    Forwarded,
    Lock,
    Name,
    Port,
    ProgramName,
    Size,
    Subnetwork,
    integer,
    one_of,
    size_text,
    wrong,
)
from topology.layouts import NAMES
from topology.network_check import MTU_RANGE

# Programs that nobody deploys: some are a cluster's first task, stacks come with what they serve, others by keys.
NO_APPLICATIONS = ("root", "ktest", "pingpong", "stress", "stack", "switch", "virtio-net", "metrics")


class Table(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", alias_generator=lambda name: name.replace("_", "-"), frozen=True
    )


class Machine(Table):
    """The machine that is emulated, or that a libvirt domain is made of: so many sockets, all alike, or one that a
    file describes."""

    sockets: integer(1, 16) = Field(2, description="Sockets.")
    cores: integer(1, 64) = Field(2, description="Cores of each socket.")
    threads: integer(1, 8) = Field(1, description="Hardware threads of each core.")
    l3_caches: integer(0, 64) = Field(1, description="L3 caches of each socket, for the layout `per-l3`; 0: none.")
    numa_nodes: integer(1, 64) = Field(1, description="NUMA nodes of each socket, for the layout `per-numa`.")
    memory: Size | None = Field(
        None, description="Memory of each NUMA node. Default: 512M for each of its threads, at least 1G."
    )
    topology: str | None = Field(
        None,
        min_length=1,
        description="A machine in place of the numbers above: hwloc's XML (`lstopo FILE.xml`), a libvirt host's "
        "capabilities or its URI, or `live`: one like that at hand. The path is relative to the deployment file.",
        json_schema_extra={"x-expected": "a file of hwloc's or libvirt's XML, a libvirt URI, or 'live'"},
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
            raise wrong("is about the machine of 'topology', and there is none; 'threads' says how many a core has", "smt")
        return self


class Clusters(Table):
    """How the machine's cores are divided into clusters, and which kernel each runs."""

    layout: str = Field(
        "per-socket",
        min_length=1,
        description="`per-socket`, `per-l3`, `per-numa`, `spanning`, `size=N`, or a cluster map (`.dts`, `.dtb`), "
        "which then says all that runs. Its path is relative to the deployment file.",
        json_schema_extra={
            "examples": ["per-socket", "per-l3", "per-numa", "spanning", "size=4", "mine.dts"],
            "x-expected": f"one of {NAMES}",
        },
    )
    lock: Lock | Annotated[list[Lock], Field(min_length=1, max_length=64)] = Field(
        "clh", description="Lock regime of every kernel; a list names one for each cluster. `none` runs on one core."
    )
    statistics: bool = Field(
        False, description="The kernel image that counts entries, conflicts, waits and what else the regime knows."
    )


class RedisTable(Table):
    """Instances of Redis. Without this table there are none."""

    instances: integer(0, 64) | one_of(EVERY_CORE) = Field(
        Redis.instances,
        description="One on every core but the network's (core 0, unless there is no other), or so many from core 1 on.",
    )
    cpus: Annotated[list[Cpu], Field(min_length=1, max_length=64)] | None = Field(
        None, description="In place of `instances`: an instance on each of these cores, numbered in the whole machine."
    )
    heap: Size = Field(Redis.heap, description="Memory that each reserves, a multiple of 2 MiB.")
    port: Port = Field(Redis.port, description="TCP port of each, at its own address.")
    host_port: Port | None = Field(
        None, description=HOST_PORT.format("the first instance, the next one to the second, and so on")
    )
    args: Arguments = Field(
        list(Redis.args), description="Arguments of redis-server behind `--port`. The default turns persistence off."
    )
    stack: one_of(*STACKS) = Field(
        Redis.stack,
        description="Where an instance's TCP/IP is: `inproc`, in its process (few kernel entries), or `process`, in a "
        "process of its own beside it, as in the papers (many).",
    )

    @model_validator(mode="after")
    def _agree(self) -> "RedisTable":
        if self.cpus is not None and "instances" in self.model_fields_set:
            raise wrong("contradicts 'cpus', which has one instance for each core that it names", "instances")
        if "--port" in self.args:
            raise wrong("says '--port', which the key 'port' is for", "args")
        return self


class Ycsb(Table):
    """The load: YCSB clients beside each Redis, on its core. They load the records together and begin together."""

    clients: integer(0, 16) = Field(Load.clients, description="Clients of each Redis; 0: no load.")
    workload: one_of(*WORKLOADS) = Field(
        Load.workload,
        description="YCSB's core workload: `a` half reads and half updates, `b` 95 % reads, `c` reads only, `f` "
        "read-modify-write.",
    )
    records: integer(1, 1 << 28) = Field(Load.records, description="Records of each Redis.")
    operations: integer(1, 1 << 40) = Field(Load.operations, description="Operations of each client.")
    value_size: Annotated[int, Field(ge=240, le=64 << 20, multiple_of=10)] = Field(
        Load.value_size, description="Bytes of a record, in ten fields."
    )
    pipeline: integer(1, 1024) = Field(Load.pipeline, description="Requests that a client has on the way at once.")
    heap: Size = Field(Load.heap, description="Memory that each client reserves.")


class MetricsTable(Table):
    """An endpoint for Prometheus at an address of its own in the machine, `http://HOST:PORT/metrics`: what clusters, cores,
    locks and Redis instances count. Without this table there is none."""

    port: Port = Field(Metrics.port, description="Its TCP port, which the host reaches.")
    host_port: Port | None = Field(None, description=HOST_PORT.format("it"))
    cpu: Cpu = Field(
        Metrics.cpu, description="Its core, numbered in the whole machine; one of the cluster that has the devices, as core 0 has."
    )
    heap: Size = Field(Metrics.heap, description="Memory that it reserves.")


class ProgramTable(Table):
    """Any other program of the image, as often as wanted: one process on one core."""

    program: one_of(*(name for name in modules.PROGRAMS if name not in NO_APPLICATIONS)) = Field(
        description="Its name in the image."
    )
    cpu: Cpu = Field(ProgramDefaults.cpu, description="Its core, numbered in the whole machine.")
    heap: Size = Field(ProgramDefaults.heap, description="Memory that it reserves.")
    args: Arguments = Field([], description="Its arguments.")
    network: bool = Field(ProgramDefaults.network, description="A TCP/IP stack with an address of its own.")
    barrier: bool = Field(ProgramDefaults.barrier, description="The machine is done only when this has ended.")
    name: ProgramName | None = Field(None, description="What results call it. Default: the program's name.")
    forward: list[Forwarded] = Field(
        [], description="Its TCP ports that the host is to reach: `7000` at any free port of the host, `\"17000:7000\"` at 17000."
    )

    @model_validator(mode="after")
    def _agree(self) -> "ProgramTable":
        if self.forward and not self.network:
            raise wrong(f"'{self.program}' forwards ports, but has no network; set network = true", "forward")
        inside = [port.inside for port in self.forward]
        if twice := next((port for port in inside if inside.count(port) > 1), None):
            raise wrong(f"names the program's port {twice} twice", "forward")
        return self


class NetworkTable(Table):
    """The network in the machine, which is there without this table too. The host is its gateway; two machines on one
    bridge need subnets of their own."""

    subnet: Subnetwork = Field(
        Subnet.network, description="Redis instances are at its .101 and above, everything else at its .151 and above."
    )
    gateway: Address | None = Field(None, description="The subnet's way out. Default: its second address, as 10.0.2.2.")
    mtu: integer(MTU_RANGE.start, MTU_RANGE.stop - 1) = Field(Subnet.mtu, description="Bytes of a packet.")
    forward: bool = Field(
        Subnet.forward, description="Ports of the host's loopback lead to what serves; `false`: only programs in the machine "
        "reach it, or a bridge's."
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
            raise wrong(f"{self.gateway} is one that programs get: from {self.subnet[REDIS_FIRST]} to {self.subnet[LAST]}", "gateway")
        return self


class File(Table):
    """A deployment: which programs run on which machine, under which kernels."""

    name: Name | None = Field(None, description="In results, logs and GRUB's menu. Default: the file's name.")
    shutdown: one_of("when-done", "never") = Field(
        "when-done", description="Power off when every program that counts (`barrier`, and every client) has ended, if "
        "there is one; or never."
    )
    network: bool | NetworkTable = Field(
        True, description="A switch and a network driver on core 0; as a table, with these addresses."
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
        if self.ycsb.clients and self.redis and size > self.redis.heap:
            what = f"{self.ycsb.records} records of {self.ycsb.value_size} bytes"
            key = "records" if "records" in self.ycsb.model_fields_set else "value-size"
            raise wrong(f"{what} do not fit into a heap of {size_text(self.redis.heap)} ('heap' of [redis])", "ycsb", key)
        if isinstance(self.network, NetworkTable) and not self.network.forward:
            self._check_inside()
        if not self.network:
            if self.redis:
                raise wrong("contradicts [redis], which needs the network", "network")
            if self.metrics:
                raise wrong("contradicts [metrics], which needs the network", "network")
            for program in self.program:
                if program.network:
                    raise wrong(f"contradicts '{program.program}', which needs the network", "network")
        return self


    def _check_inside(self) -> None:
        """Without ports of the host, nobody can ask for one."""
        for name, table in (("redis", self.redis), ("metrics", self.metrics)):
            if table and table.host_port is not None:
                raise wrong("contradicts forward = false of [network]", name, "host-port")
        for number, program in enumerate(self.program):
            if program.forward:
                raise wrong("contradicts forward = false of [network]", "program", number, "forward")


def is_name(text: str) -> bool:
    return re.fullmatch(NAME_PATTERN.strip("^$"), text) is not None
