# SPDX-License-Identifier: BSD-2-Clause
"""Redis under YCSB in the machine, on 1 to n cores under each lock; the papers' macrobenchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.regimes import BASELINE
from deploy.deployment.engines import is_server
from deploy.emulator import lockstep
from deploy.emulator.machine_file import ModelledMachine, whole_ranges
from deploy.emulator.run import LOAD, clocks
from deploy.live.lockstat.snapshot import Core as Counts
from deploy.load import comparison, measure as load
from deploy.load.case import RedisCase, case
from deploy.load.comparison import Comparison
from deploy.machine.run import Options, Run, boot
from deploy.results.result import Result
from deploy.results.snapshots import between, mean, ratio
from topology.machines.machine import Shape, default_memory

LAYOUT = "spanning"
RECORDS, OPERATIONS, CLIENTS, CORES = 1000, 1000, 2, "1,2,4"
PER = 1_000_000  # cycles, of throughputs in a clock that is no real machine's
STEP, MODELLED, COUNTED, TSC = "step", "modelled", "instructions", "tsc"  # a cycle's meaning; see NOTES in present.py


@dataclass(frozen=True)
class Core:
    """One core while all clients ran. Times are cycles of the point's clock."""

    cluster: int
    core: int
    cycles: int
    busy: int
    kernel: int  # a part of `busy`
    entries: int
    interrupts: int = 0  # a part of `entries`

    @property
    def delay(self) -> float:
        """User time between kernel entries."""
        return ratio(self.busy - self.kernel, self.entries)

    @property
    def idle_ratio(self) -> float:
        return 1 - min(1.0, ratio(self.busy, self.cycles))

    def to_json(self) -> dict[str, float]:
        return {
            "cpu_utilisation": 1 - self.idle_ratio,
            "delay_cycles": self.delay,
            "kernel_cycles_per_entry": ratio(self.kernel, self.entries),
            "kernel_entries": self.entries,
        }


@dataclass(frozen=True)
class Point:
    """One boot: so many cores under one lock, with lwIP inside the processes or apart."""

    stack: str
    clock: str
    result: Result
    cores: tuple[Core, ...]
    late: int = 0
    line_factor: float = 1.0  # factor of a modelled machine's line costs

    @property
    def lock(self) -> str:
        return self.result.lock

    @property
    def size(self) -> int:
        return self.result.cores

    @property
    def key(self) -> tuple[str, str, int]:
        return self.stack, self.lock, self.size

    @property
    def operations(self) -> float:
        return self.result.metrics["operations"]

    @property
    def throughput(self) -> float:
        """Operations in PER cycles."""
        return PER * self.operations / max(core.cycles for core in self.cores)

    @property
    def utilisation(self) -> float:
        return 1 - mean([core.idle_ratio for core in self.cores])

    @property
    def normalised(self) -> float:
        """Throughput over the mean utilisation of all cores: Peters' Xput."""
        return ratio(self.throughput, self.utilisation)

    def with_metrics(self, more: Mapping[str, float]) -> Point:
        return replace(self, result=self.result.with_metrics(more))

    @property
    def metrics(self) -> dict[str, float]:
        network, others = self.cores[0], self.cores[1:]
        entries, busy = sum(core.entries for core in self.cores), sum(core.busy for core in self.cores)
        metrics = {
            "ops_per_mcycle": self.throughput,
            "ops_per_mcycle_over_utilisation": self.normalised,
            "cpu_utilisation": self.utilisation,
            "idle_ratio": 1 - self.utilisation,
            "delay_core0_cycles": network.delay,
            "kernel_entries_per_op": ratio(entries, self.operations),
            "interrupts_per_op": ratio(sum(core.interrupts for core in self.cores), self.operations),
            "kernel_cycles_per_entry": ratio(sum(core.kernel for core in self.cores), entries),
        }
        if others:
            user = sum(core.busy - core.kernel for core in others)
            metrics["delay_cycles"] = ratio(user, sum(core.entries for core in others))
        if self.clock == STEP:
            metrics["instructions_per_op"] = ratio(busy, self.operations)
        return {**self.result.metrics, **metrics}

    def to_json(self) -> dict[str, Any]:
        mine = {(core.cluster, core.core): core.to_json() for core in self.cores}
        per_core = [entry | mine[entry["cluster"], entry["core"]] for entry in self.result.per_core]
        entry = replace(self.result, metrics=self.metrics, per_core=per_core).to_json()
        factor = {"line_factor": self.line_factor} if self.clock == MODELLED else {}
        return entry | {"stack": self.stack,
                        "clock": self.clock} | factor | ({"steps_late": self.late} if self.late else {})


Ranges = Mapping[tuple[str, str, int], tuple[float, float]]  # throughput by a point's key
NO_RANGES: Ranges = {}


def ranges_of(points: Iterable[Point]) -> Ranges:
    """Returns the range of each point that was measured at all line costs of RANGE."""
    rates: dict[tuple[str, str, int], dict[float, float]] = {}
    for point in points:
        rates.setdefault(point.key, {})[point.line_factor] = point.throughput
    return whole_ranges(rates)


@dataclass(frozen=True)
class Request:
    """Locks, sizes and stacks to be measured, each with each."""

    locks: Sequence[str]
    cores: Sequence[int]
    stacks: Sequence[str] = ("process",)
    workload: str = "c"
    records: int = RECORDS
    operations: int = OPERATIONS
    clients: int = CLIENTS
    timeout: Patience = Patience()
    modelled: ModelledMachine | None = None
    factors: Sequence[float] = (1.0,)  # factors of the modelled machine's line costs
    think: int = 0  # microseconds, the mean, that a client pauses before an operation

    def job(self, lock: str, cores: int, stack: str) -> Comparison:
        places = self.modelled.exactly(cores, default_memory(cores)) if self.modelled else Shape(1, cores)
        shape = comparison.with_room(places, None, self.records, self.clients, stack)
        return Comparison(
            shape=shape, layouts=(LAYOUT,), workloads=(self.workload,), lock=lock, records=self.records,
            operations=self.operations, clients=self.clients, timeout=self.timeout, medium="kernel", stack=stack,
            modelled=self.modelled, think=self.think,
        )

    def cases(self, counting: bool = True) -> list[RedisCase]:
        """One for each boot. A kernel without a lock runs on one core only. `counting`: by kernels that count; what a
        core does in the kernel is the question."""
        plain = [
            case(self.job(lock, cores, stack), LAYOUT, self.workload, counting)
            for stack in self.stacks
            for cores in self.cores
            for lock in self.locks
            if cores == 1 or lock != BASELINE
        ]
        return [one.at_costs(factor) for factor in self.factors for one in plain]


def measure(case: RedisCase, bench: Bench) -> Point:
    """One boot. Where the case's kernels do not count, entries are not known."""
    job, what = case.job, case.plan
    with ExitStack() as stack:
        marks = stack.enter_context(clocks(job.modelled, bench.stepped, what, job.line_factor, bench.build,
                                           priced=LOAD))
        options = Options(bench.accel, bench.timeout, job.medium, binary=job.binary, build=bench.build,
                          extra=marks.arguments if marks else ())
        machine = stack.enter_context(boot(what, options))
        result = load.finish(machine, f"{job.lock}, {job.shape.cpus} cores, stack {job.stack}", job.modelled)
        result = result.with_metrics(_stack_memory(machine))
        cores = [core for cluster in what.cluster_map.clusters for core in between(machine.events, cluster.number)]
        if marks:
            return _stepped(job, result, cores, marks.read())
    clock = COUNTED if bench.accel.icount else TSC
    return Point(job.stack, clock, result, tuple(_by_counters(core) for core in cores))


def _by_counters(core: Counts) -> Core:
    """Returns a core by the kernel's counters: its own time is that for which it held the lock."""
    counters = core.counters
    busy = max(0, core.wall - counters["idle"])
    kernel = min(busy, counters["lock_hold"])
    return Core(core.cluster, core.cpu, core.wall, busy, kernel, counters["entries"], counters["interrupts"])


def _stepped(job: Comparison, result: Result, cores: Sequence[Counts], marks: Sequence[lockstep.Mark]) -> Point:
    if [mark.number for mark in marks] != [1, 2]:
        raise Failure(f"{job.lock}, {job.shape.cpus} cores: the emulator did not see the load's begin and end")
    before, after = marks
    time = after.clock - before.clock
    if time <= 0 or len(before.executed) != len(cores):
        raise Failure(f"{job.lock}, {job.shape.cpus} cores: no time passed, or a core did nothing")
    measured = []
    for core in cores:
        busy, kernel = (getattr(after, of)[core.cpu] - getattr(before, of)[core.cpu] for of in ("executed", "kernel"))
        entries, interrupts = core.counters["entries"], core.counters["interrupts"]
        measured.append(Core(core.cluster, core.cpu, time, busy, kernel, entries, interrupts))
    clock = MODELLED if job.modelled else STEP
    return Point(job.stack, clock, result, tuple(measured), after.late - before.late, job.line_factor)


def _stack_memory(machine: Run) -> dict[str, float]:
    """Bytes that each Redis's stack process was given, the mean of all; nothing where there is none."""
    sizes = {name: size for event in machine.events.of("memory") for name, size in event["per_app"].items()}
    names = [a.stack for a in machine.plan.cluster_map.applications if is_server(a) and a.stack]
    return {"memory_of_stack": mean([sizes.get(name, 0) for name in names])} if names else {}
