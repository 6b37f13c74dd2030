# SPDX-License-Identifier: BSD-2-Clause
"""The main job: the same instances and clients under several layouts. What it asks for; nothing runs here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Load, Redis, redis_memory
from deploy.deployment.planner import CLIENT_STACK_HEAP, SERVER_STACK_HEAP, redis_cores
from deploy.deployment.switches import Switches, same_for, switches
from deploy.emulator.machine_file import ModelledMachine
from deploy.machine import qemu
from topology import headers
from topology.grouping import is_layout_name
from topology.layouts import is_homed
from topology.machines.machine import Machine, Shape, default_memory, emulated, with_memory
from topology.maps.clustermap import NEVER
from topology.units import MIB

LAYOUTS = ("per-socket", "spanning")
HOMED_LOCK = "dynamic"  # for layout `homed`, whichever the others have
OPERATIONS = 5000  # for each client
VALUE_SIZE = 1000
COUNTED_RECORDS, COUNTED_OPERATIONS = 2000, 1000  # at most, where the kernel counts
PROFILED_RECORDS, PROFILED_OPERATIONS = 500, 200  # at most, where a plugin counts instructions
_PORT = headers.LIBRARY / "socket_port.h"
_SHARED = headers.constant(_PORT, "SOCKET_PORT_HEAD") + headers.constant(_PORT, "SOCKET_PORT_BUFFERS_SIZE")
SOCKET_PORT = -(-_SHARED // MIB) * MIB  # whole MiB: what a program shares with its stack process
UNLIMITED = (redis_memory.OPTION, "0")  # the load is known and fits; and limits on clients cost some time


@dataclass(frozen=True)
class Comparison:
    shape: Shape | Machine
    layouts: Sequence[str] = LAYOUTS
    workloads: Sequence[str] = ("c",)
    lock: str = "clh"
    records: int = 10_000
    operations: int = OPERATIONS
    clients: int = 2
    timeout: Patience = Patience()
    medium: str = "iso"
    binary: str = qemu.BINARY
    stack: str = Redis.stack
    server: str = Redis.server
    switch: str | None = None  # None: the one that suits all layouts
    think: int = 0  # microseconds, the mean, that a client pauses before an operation
    warm: int = 0  # operations of each client before those that are measured
    rate: int = 0  # operations a second that arrive at each client; 0: a closed loop
    arrivals: int = 1  # seed of their schedule
    modelled: ModelledMachine | None = None  # the emulator has its prices
    priced: ModelledMachine | None = None  # whose prices it has from the load's begin on; None: the same
    line_factor: float = 1.0  # factor of the costs of lines that move between its cores
    salt: int = 0  # draws an image in the emulator; 0: nothing is drawn
    relink: int | None = None  # seed of another image of the timed kernels (deploy/setup/relink.py); None: as built
    restart: str = NEVER  # when a cluster that is lost is started again
    plugin: Mapping[str, str] = field(default_factory=dict)  # options of its plugin (emulator/modelled/plugin.c)

    def lock_of(self, layout: str) -> str:
        """Objects have homes under one regime only."""
        return HOMED_LOCK if is_homed(layout) else self.lock

    def deployment(self, layout: str, workload: str, counting: bool = False) -> Deployment:
        """Its kernels are plain ones unless they are to count: counting kernels are slower."""
        return Deployment(
            name="compare",
            shape=self.shape,
            layout=layout,
            lock=self.lock_of(layout),
            statistics=counting,
            switch=self.switch,
            restart=self.restart,
            redis=Redis(server=self.server, heap=heap_for(self.records), stack=self.stack,
                        args=(*Redis.args, *UNLIMITED)),
            load=Load(self.clients, workload, self.records, self.operations, VALUE_SIZE, think=self.think,
                      warm=self.warm, rate=self.rate, arrivals=self.arrivals),
        )


def with_common_switch(job: Comparison) -> Comparison:
    """The job with the same kind of switch under all layouts."""
    deployments = [job.deployment(layout, job.workloads[0]) for layout in job.layouts if is_layout_name(layout)]
    return replace(job, switch=same_for(deployments, emulated(job.shape))) if deployments else job


def servers(job: Comparison) -> int:
    """Instances of Redis."""
    return len(redis_cores(_any(job), len(emulated(job.shape).cores), _network(job).cores))


def lower_switches(job: Comparison) -> int:
    """Switches beside the root."""
    return len(_network(job).cores) - 1


def _any(job: Comparison) -> Deployment:
    return job.deployment(job.layouts[0], job.workloads[0])


def _network(job: Comparison) -> Switches:
    return switches(_any(job), emulated(job.shape))


def heap_for(records: int) -> int:
    """Room for a Redis with so many records of 1 kB: about 3 kB each in its hash and its buffers, and 64 MiB."""
    return (64 * MIB + records * 3072 + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)


def stacks(stack: str, clients: int) -> int:
    """Returns the memory of the stack processes of a Redis and its clients, with the memory that they share with
    them."""
    if stack == "inproc":
        return 0
    return SERVER_STACK_HEAP + clients * CLIENT_STACK_HEAP + (1 + clients) * SOCKET_PORT


def machine(sockets: int, cores: int, memory: int | None, records: int, clients: int) -> Shape | Machine:
    return with_room(Shape(sockets, cores), memory, records, clients)


def with_room(
    shape: Shape | Machine, memory: int | None, records: int, clients: int, stack: str = Redis.stack
) -> Shape | Machine:
    """Enough memory in each node for every core's programs, whatever the layout takes for channels."""

    def needed(cores: int) -> int:
        needs = cores * (heap_for(records) + clients * Load.heap + stacks(stack, clients)) + 256 * MIB
        rounded = (needs + 256 * MIB - 1) // (256 * MIB) * (256 * MIB)
        return max(default_memory(cores), rounded)

    return with_memory(shape, memory or needed)


def counted(job: Comparison) -> Comparison:
    """With fewer operations: what is counted is for each of them."""
    return replace(job, records=min(job.records, COUNTED_RECORDS), operations=min(job.operations, COUNTED_OPERATIONS),
                   warm=0)


def on_part(job: Comparison, share: float) -> Comparison:
    """The job on a modelled machine with so many times the cores in each socket."""
    assert job.modelled
    machine = job.modelled.part(share)
    shape = machine.shape(machine.cores, default_memory(machine.cores_per_socket))
    return replace(job, modelled=machine, shape=with_room(shape, None, job.records, job.clients))


def profiled(job: Comparison) -> Comparison:
    """Short enough for a slow emulator."""
    return replace(job, records=min(job.records, PROFILED_RECORDS), operations=min(job.operations, PROFILED_OPERATIONS),
                   warm=0)


def steps(job: Comparison) -> Iterator[tuple[str, str]]:
    for workload in job.workloads:
        for layout in job.layouts:
            yield layout, workload
