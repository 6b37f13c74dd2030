# SPDX-License-Identifier: BSD-2-Clause
"""The main job: the same instances and clients under several layouts, one boot after another."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from deploy.base.errors import Failure
from deploy.base.readiness import PATIENCE as PONG_PATIENCE, first_pong
from deploy.base.timeouts import Patience
from deploy.compare.crossover import PAUSE_US
from deploy.deployment import Deployment, Load, Redis, redis_memory
from deploy.deployment.planner import CLIENT_STACK_HEAP, SERVER_STACK_HEAP, Plan, plan, redis_cores
from deploy.deployment.switches import Switches, same_for, switches
from deploy.emulator import entries, run as modelled_run
from deploy.emulator.lockstep import Marks
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.linux_guest.guest import build_guest
from deploy.load.linux_guest.machine import Options as LinuxOptions
from deploy.load.linux_guest.result import measure as measure_linux
from deploy.machine import kvm, qemu
from deploy.machine.events import Event
from deploy.machine.run import Options, Run, boot
from deploy.results.counting import with_counts
from deploy.results.result import Result, evaluate
from topology.grouping import is_layout_name
from topology.layouts import is_homed
from topology.machines.machine import Machine, Shape, default_memory, emulated, with_memory
from topology.maps.clustermap import NEVER
from topology.units import MIB

LAYOUTS = ("per-socket", "spanning")
HOMED_LOCK = "dynamic"  # of layout `homed`, whichever the others have
OPERATIONS = 5000  # of each client
VALUE_SIZE = 1000
COUNTED_RECORDS, COUNTED_OPERATIONS = 2000, 1000  # at most, where the kernel counts
PROFILED_RECORDS, PROFILED_OPERATIONS = 500, 200  # at most, where a plugin counts instructions
PONG_BOOTS = 3
SOCKET_PORT = 17 * MIB  # lib/include/skerry/socket_port.h: what a program shares with its stack process
UNLIMITED = (redis_memory.OPTION, "0")  # the load is known and fits; and limits on clients cost some time
LINUX_PATIENCE = 3  # it takes longer to boot and for each operation


@dataclass(frozen=True)
class Comparison:
    shape: Shape | Machine
    layouts: Sequence[str] = LAYOUTS
    workloads: Sequence[str] = ("c",)
    lock: str = "clh"
    records: int = 10_000
    operations: int = OPERATIONS
    clients: int = 2
    patience: Patience = Patience()
    medium: str = "iso"
    binary: str = qemu.BINARY
    stack: str = Redis.stack
    switch: str | None = None  # what suits all layouts
    think: int = 0  # microseconds, the mean, that a client pauses before an operation
    modelled: ModelledMachine | None = None  # whose prices the emulator has
    line_factor: float = 1.0  # of what lines cost that move between its cores
    restart: str = NEVER  # when a cluster that is lost is started again
    plugin: Mapping[str, str] = field(default_factory=dict)  # options of its plugin (plugins/modelled/plugin.c)

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
            redis=Redis(heap=heap_for(self.records), stack=self.stack, args=(*Redis.args, *UNLIMITED)),
            load=Load(self.clients, workload, self.records, self.operations, VALUE_SIZE, think=self.think),
        )


def settled(job: Comparison) -> Comparison:
    """With the same kind of switch under all layouts."""
    wanted = [job.deployment(layout, job.workloads[0]) for layout in job.layouts if is_layout_name(layout)]
    return replace(job, switch=same_for(wanted, emulated(job.shape))) if wanted else job


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
    """What the stack processes of a Redis and its clients take, with the memory that they share with them."""
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
        wanted = cores * (heap_for(records) + clients * Load.heap + stacks(stack, clients)) + 256 * MIB
        rounded = (wanted + 256 * MIB - 1) // (256 * MIB) * (256 * MIB)
        return max(default_memory(cores), rounded)

    return with_memory(shape, memory or needed)


def measure(
    job: Comparison, accel: qemu.Accel, layout: str, workload: str, on_event: Callable[[Event], None]
) -> Result:
    """Two boots, one result: times of plain kernels, counts of counting ones. A result that cannot be trusted is a failure."""
    plain = measure_once(job, accel, layout, workload, on_event)
    return with_counts(plain, measure_once(counted(job), accel, layout, workload, on_event, counting=True))


def counted(job: Comparison) -> Comparison:
    """With fewer operations: what is counted is for each of them."""
    return replace(job, records=min(job.records, COUNTED_RECORDS), operations=min(job.operations, COUNTED_OPERATIONS))


def calm(job: Comparison, pause_us: int = PAUSE_US) -> Comparison:
    """With clients that pause; fewer operations are enough for a mean."""
    return replace(job, think=pause_us, operations=max(1, job.operations // 2))


def profiled(job: Comparison) -> Comparison:
    """Short enough for a slow emulator."""
    return replace(job, records=min(job.records, PROFILED_RECORDS), operations=min(job.operations, PROFILED_OPERATIONS))


def measure_once(
    job: Comparison, accel: qemu.Accel, layout: str, workload: str, on_event: Callable[[Event], None], counting: bool = False
) -> Result:
    """One boot."""
    name = f"{layout}, workload {workload}{', counting' if counting else ''}"
    what = plan(job.deployment(layout, workload, counting))
    medium = "kernel" if accel.icount or job.modelled else job.medium  # how long a disc takes depends on the host
    watched = entries.watching(job.lock_of(layout)) if job.modelled and not counting else nullcontext()
    with watched as watch, _plugin(job, what, watch) as plugin:
        how = Options(
            accel, job.patience, medium, binary=job.binary, on_event=on_event, extra=plugin.arguments if plugin else ()
        )
        with boot(what, how) as machine:
            result = finish(machine, name)
        if plugin and [mark.number for mark in plugin.read()] != [1, 2]:
            raise Failure(f"{name}: the emulator did not see the load's begin and end")
        if watch:
            result.observed = watch.read(round(result.metrics["operations"]))
    result.turns = accel.turns and not job.modelled
    result.modelled = job.modelled.to_json() if job.modelled else None
    return result


def _plugin(job: Comparison, what: Plan, watch: entries.Watch | None) -> AbstractContextManager[Marks | None]:
    if not job.modelled:
        return nullcontext()
    options = {**(watch.options if watch else {}), **job.plugin}
    return modelled_run.marks(job.modelled, what, job.line_factor, options=options, priced=modelled_run.LOAD)


def finish(machine: Run, what: str) -> Result:
    """The result of a machine that is to end by itself; `what` was measured, for a message."""
    accel = machine.options.accel
    machine.wait_done()
    result = evaluate(machine.plan, machine.events, accel.emulated)
    if accel.icount:  # one clock of 1 ns an instruction for all cores
        result.metrics["instructions_per_op"] = result.metrics["seconds"] * 1e9 / result.metrics["operations"]
    if result.problems:
        more = f" (and {len(result.problems) - 1} more)" if len(result.problems) > 1 else ""
        raise Failure(f"{what}: {result.problems[0]}{more}")
    return result


def boot_to_pong(job: Comparison, layout: str, accel: qemu.Accel, boots: int = PONG_BOOTS) -> float:
    """Seconds from power-on until the host hears the first +PONG: the median of some boots.

    Not for a clock that counts instructions; the host measures.
    """
    deployment = replace(job.deployment(layout, "c"), load=Load(), shutdown="never")
    return median(_pong(plan(deployment), job, accel) for _ in range(boots))


def _pong(what: Plan, job: Comparison, accel: qemu.Accel) -> float:
    with boot(what, Options(accel, job.patience, job.medium, binary=job.binary)) as machine:
        first = what.forwards[0][0]
        machine.wait_event("serving", app=first)
        return first_pong(machine.address(first), machine.pid, max(PONG_PATIENCE, job.patience.silence)) - machine.started


def linux(job: Comparison, workload: str, accel: qemu.Accel, outside: qemu.Accel) -> dict[str, Any]:
    """The same instances and clients on Linux, on the same machine; one entry of "results"."""
    guest = build_guest()
    deployment = job.deployment("spanning", workload)
    result = measure_linux(deployment, LinuxOptions(accel, job.patience.times(LINUX_PATIENCE), binary=job.binary), guest)
    idle = replace(deployment, load=Load(), shutdown="never")
    options = LinuxOptions(outside, job.patience, binary=job.binary)
    boots = [measure_linux(idle, options, guest, pong=True)["metrics"]["boot_to_pong_s"] for _ in range(PONG_BOOTS)]
    result["metrics"]["boot_to_pong_s"] = median(boots)
    return result


def accelerators(job: Comparison, wanted: str, icount: bool) -> tuple[qemu.Accel, qemu.Accel]:
    """For the load, and for what is timed from outside."""
    cores = job.shape.cpus
    if job.modelled:
        mode = modelled_run.mode(job.modelled)
        return mode, mode
    load = kvm.choose(wanted, cores, repeatable=True, icount=icount)
    return load, qemu.tcg_for(cores) if load.icount else load


def steps(job: Comparison) -> Iterator[tuple[str, str]]:
    for workload in job.workloads:
        for layout in job.layouts:
            yield layout, workload
