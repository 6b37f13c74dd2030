# SPDX-License-Identifier: BSD-2-Clause
"""The main job: the same instances and clients under several layouts, one boot after another."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from deploy import kvm, qemu
from deploy.boot import Options, Run, boot
from deploy.deployment import Deployment, Load, Redis
from deploy.errors import Failure
from deploy.events import Event
from deploy.expand import CLIENT_STACK_HEAP, SERVER_STACK_HEAP, Plan, plan
from deploy.linux_guest.guest import build_guest
from deploy.linux_guest.machine import Options as LinuxOptions
from deploy.linux_guest.result import measure as measure_linux
from deploy.pong import first_pong
from deploy.results import Result, evaluate
from topology.machine import Machine, Shape, default_memory, with_memory
from topology.units import MIB

LAYOUTS = ("per-socket", "spanning")
OPERATIONS = 5000  # of each client
VALUE_SIZE = 1000
PONG_BOOTS = 3
SOCKET_PORT = 17 * MIB  # net/socket_port.h: what a program shares with its stack process
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
    timeout: float = 150.0
    medium: str = "iso"
    binary: str = qemu.BINARY
    stack: str = Redis.stack

    def deployment(self, layout: str, workload: str) -> Deployment:
        return Deployment(
            name="compare",
            shape=self.shape,
            layout=layout,
            lock=self.lock,
            statistics=True,
            redis=Redis(heap=heap_for(self.records), stack=self.stack),
            load=Load(self.clients, workload, self.records, self.operations, VALUE_SIZE),
        )


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
    """One boot, one result. A result that cannot be trusted is a failure."""
    what = plan(job.deployment(layout, workload))
    medium = "kernel" if accel.icount else job.medium  # how long a disc takes depends on the host
    how = Options(accel, job.timeout, medium, binary=job.binary, on_event=on_event)
    with boot(what, how) as machine:
        return finish(machine, f"{layout}, workload {workload}")


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


def boot_to_pong(job: Comparison, layout: str, accel: qemu.Accel) -> float:
    """Seconds from power-on until the host hears the first +PONG: the median of some boots.

    Not for a clock that counts instructions; the host measures.
    """
    deployment = replace(job.deployment(layout, "c"), load=Load(), shutdown="never", statistics=False)
    return median(_pong(plan(deployment), job, accel) for _ in range(PONG_BOOTS))


def _pong(what: Plan, job: Comparison, accel: qemu.Accel) -> float:
    with boot(what, Options(accel, job.timeout, job.medium, binary=job.binary)) as machine:
        first = what.forwards[0][0]
        machine.wait_event("serving", app=first)
        return first_pong(machine.address(first)) - machine.started


def linux(job: Comparison, workload: str, accel: qemu.Accel, outside: qemu.Accel) -> dict[str, Any]:
    """The same instances and clients on Linux, on the same machine; one entry of "results"."""
    guest = build_guest()
    deployment = job.deployment("spanning", workload)
    result = measure_linux(deployment, LinuxOptions(accel, LINUX_PATIENCE * job.timeout, binary=job.binary), guest)
    idle = replace(deployment, load=Load(), shutdown="never")
    options = LinuxOptions(outside, job.timeout, binary=job.binary)
    boots = [measure_linux(idle, options, guest, pong=True)["metrics"]["boot_to_pong_s"] for _ in range(PONG_BOOTS)]
    result["metrics"]["boot_to_pong_s"] = median(boots)
    return result


def accelerators(job: Comparison, wanted: str, icount: bool) -> tuple[qemu.Accel, qemu.Accel]:
    """For the load, and for what is timed from outside."""
    cores = job.shape.cpus
    load = kvm.choose(wanted, cores, repeatable=True, icount=icount)
    return load, qemu.tcg_for(cores) if load.icount else load


def steps(job: Comparison) -> Iterator[tuple[str, str]]:
    for workload in job.workloads:
        for layout in job.layouts:
            yield layout, workload
