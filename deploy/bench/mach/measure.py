# SPDX-License-Identifier: BSD-2-Clause
"""The Mach study's experiment (Uemura et al., section 3), for the locks that this kernel has, by apps/stress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deploy.base.errors import Failure
from deploy.bench.boot import Bench, marked_events, program_plan
from deploy.deployment import Program
from deploy.deployment.planner import Plan
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import ModelledMachine, whole_ranges
from deploy.live.lockstat import source
from deploy.live.lockstat.check import Check, checks
from deploy.live.lockstat.record import ratio
from deploy.live.lockstat.snapshot import Snapshot
from deploy.machine.events import EventStream
from deploy.machine.qemu import Accel
from deploy.results.result import Result
from topology.machines.machine import Shape, default_memory
from topology.model.papers import MACH_TOTAL

MESSAGES, MEMORY = "messages", "memory"


def stress_plan(kernel: str, cores: int, program: str, *numbers: int, modelled: ModelledMachine | None = None) -> Plan:
    """`numbers` as apps/stress/main.c takes them."""
    shape = modelled.exactly(cores, default_memory(modelled.cores_per_socket)) if modelled else Shape(1, cores,
        default_memory(cores))
    application = Program("stress", args=(program, *map(str, numbers)), barrier=False)
    return program_plan(f"bench-mach-{program}", kernel, shape, application)


STUDY = "Uemura et al., 'An Empirical Investigation of Multiprocessor Synchronization Mechanisms in the MACH Kernel'"
Ranges = Mapping[tuple[str, str, int], tuple[float, float]]  # by a run's key: operations in a million cycles
NO_RANGES: Ranges = {}
BEGIN, END = "begin", "end"  # the program's snapshots


@dataclass(frozen=True)
class Work:
    """One of the two programs and how much it does."""

    program: str
    tasks: int  # clients, or tasks that write
    numbers: tuple[int, ...]  # further arguments of the program

    @staticmethod
    def messages(clients: int, requests: int) -> Work:
        return Work(MESSAGES, clients, (clients, requests))

    @staticmethod
    def memory(tasks: int, pages: int, rounds: int, pagers: int) -> Work:
        return Work(MEMORY, tasks, (tasks, pages, rounds, pagers))


@dataclass(frozen=True)
class Job:
    """One boot."""

    lock: str
    cores: int
    work: Work
    modelled: ModelledMachine | None = None
    line_factor: float = 1.0  # factor of the costs of lines that move between the modelled machine's cores


@dataclass(frozen=True)
class Run:
    """The counts of one boot, from the program's begin to its end."""

    lock: str
    cores: int
    work: Work
    servers: int
    operations: int  # requests answered, or faults served
    time: int  # cycles; steps where the cores go in step
    clock: str  # step, modelled or tsc
    snapshot: Snapshot
    # for each core: wall, idle, busy cycles since it started, and those that reading them took
    times: list[dict[str, int]]
    emulated: bool
    late: int = 0
    modelled: ModelledMachine | None = None
    line_factor: float = 1.0

    @property
    def checks(self) -> list[Check]:
        """Idleness is what the kernel's record says, business what the threads say that they ran."""
        every = checks(self.snapshot)
        for core in self.times:
            both, wall = core["idle"] + core["busy"], core["wall"]
            every.append(Check(f"core {core['core']}: idle + busy = wall", both, wall, wall // 50 + core["taken"]))
        return every

    @property
    def conflict_ratio(self) -> float:
        """Returns the conflicts of an acquisition over all simple locks, as in the last lines of Tables 1 and 2."""
        locks = self.snapshot.total.simple.values()
        return ratio(sum(lock.conflicts for lock in locks), sum(lock.acquisitions for lock in locks))

    @property
    def metrics(self) -> dict[str, float]:
        total = self.snapshot.total
        return {
            "operations": self.operations,
            "cycles": self.time,
            "operations_per_million_cycles": ratio(1e6 * self.operations, self.time),
            "kernel_entries": total.entries,
            "acquisitions": sum(lock.acquisitions for lock in total.simple.values()),
            "conflicts": sum(lock.conflicts for lock in total.simple.values()),
            "lock_conflict_ratio": self.conflict_ratio,
            "fallback_ratio": ratio(total.transactions.fallbacks, total.entries),
        }

    @property
    def key(self) -> tuple[str, str, int]:
        return self.lock, self.work.program, self.cores

    def to_json(self) -> dict[str, Any]:
        per_core = [
            {"cluster": 0, "core": core.cpu, "cpu_utilisation": core.utilisation, "kernel_entries": core.entries}
            for core in self.snapshot.cores
        ]
        entry = Result(
            layout="spanning", lock=self.lock, workload=f"mach-{self.work.program}", clusters=1, cores=self.cores,
            emulated=self.emulated, metrics=self.metrics, per_core=per_core,
        ).to_json()
        counted = {"statistics": self.snapshot.to_json(), "checks": [check.to_json() for check in self.checks]}
        request = {"tasks": self.work.tasks, "servers": self.servers, "arguments": list(self.work.numbers),
                   "clock": self.clock}
        model = {"modelled": self.modelled.to_json(), "line_factor": self.line_factor} if self.modelled else {}
        return entry | request | counted | model | ({"steps_late": self.late} if self.late else {})


def measure(job: Job, bench: Bench) -> Run:
    """One boot, and what it counted; raises Failure if the statistics do not add up."""
    target = stress_plan(f"{job.lock}+stat", job.cores, job.work.program, *job.work.numbers, modelled=job.modelled)
    events, moments = marked_events(target, bench, job.modelled, job.line_factor)
    if bench.stepped and [mark.number for mark in moments] != [1, 2]:
        raise Failure(f"kernel {job.lock}, {job.work.program}: the emulator did not see begin and end")
    return _run(job, bench.accel, events, moments)


def ranges_of(runs: Iterable[Run]) -> Ranges:
    """Returns the range of each run that was made at all line costs of RANGE."""
    rates: dict[tuple[str, str, int], dict[float, float]] = {}
    for run in runs:
        rates.setdefault(run.key, {})[run.line_factor] = run.metrics["operations_per_million_cycles"]
    return whole_ranges(rates)


# by a run's key and a lock class, or all: conflicts of an acquisition
ClassRanges = Mapping[tuple[str, str, int, str], tuple[float, float]]
NO_CLASS_RANGES: ClassRanges = {}


def class_ranges_of(runs: Iterable[Run]) -> ClassRanges:
    """Returns the range of each class of locks."""
    ratios_at: dict[tuple[str, str, int, str], dict[float, float]] = {}
    for run in runs:
        ratios = {name: lock.conflict_ratio
                  for name, lock in run.snapshot.total.simple.items()} | {MACH_TOTAL: run.conflict_ratio}
        for name, value in ratios.items():
            ratios_at.setdefault((*run.key, name), {})[run.line_factor] = value
    return whole_ranges(ratios_at)


def _run(job: Job, accel: Accel, events: EventStream, moments: Sequence[Mark]) -> Run:
    lock, work = job.lock, job.work
    ends = events.of("stress")
    if len(ends) != 1 or ends[0]["program"] != work.program:
        raise Failure(f"kernel {lock}, {work.program}: the program did not end")
    end = ends[0]
    (snapshot,) = source.between(events, BEGIN, END)
    times = [{name: core[name] for name in ("core", "wall", "idle", "busy", "taken")}
             for core in events.of("stress-core")]
    time, late = (moments[1].clock - moments[0].clock,
                  moments[1].late - moments[0].late) if moments else (end["cycles"], 0)
    run = Run(
        lock, job.cores, work, end["servers"], end["operations"], time,
        "modelled" if job.modelled else "step" if moments else "tsc", snapshot, times, accel.emulated, late,
        job.modelled, job.line_factor,
    )
    wrong = [check for check in run.checks if not check.holds]
    if wrong:
        raise Failure(f"kernel {lock}, {work.program}: the statistics do not add up: {wrong[0]}")
    return run
