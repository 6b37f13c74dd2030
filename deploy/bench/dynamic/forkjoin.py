# SPDX-License-Identifier: BSD-2-Clause
"""How long a coordinator's signals take to workers on other cores (Uhlig 2007, Figure 7), by apps/pingpong on a
modelled machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench, marked_events
from deploy.bench.ipc import pingpong
from deploy.emulator import run
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import ModelledMachine
from deploy.machine.events import Event
from topology.machines.machine import default_memory

FIRST_SIGNAL, WORKER_RUNS, LAST_SIGNAL = 1, 2, 3  # marks of apps/pingpong/forkjoin.c
ROUNDS, MOST_ROUNDS = 16, 10_000
FEWEST_CORES, MOST_CORES = 2, pingpong.FEW_CORES  # a coordinator and a worker; stacks of the program
EVENT = "forkjoin"


@dataclass(frozen=True)
class Round:
    """Cycles from the moment before the first signal."""

    running: int  # to the moment when the last worker runs
    signalled: int  # to the moment when the coordinator has made all signals


@dataclass(frozen=True)
class Latency:
    """All rounds on so many cores, at one line cost."""

    cores: int
    line_factor: float
    rounds: tuple[Round, ...]

    @property
    def running(self) -> float:
        return median(one.running for one in self.rounds)

    @property
    def signalled(self) -> float:
        return median(one.signalled for one in self.rounds)

    @property
    def extent(self) -> tuple[int, int]:
        """Returns the least and the most time until all run, over the rounds."""
        return min(one.running for one in self.rounds), max(one.running for one in self.rounds)


@dataclass(frozen=True)
class Job:
    """One boot, on each number of cores."""

    kernel: str
    granularity: str | None  # for kernels that have a choice
    cores: Sequence[int]
    rounds: int
    machine: ModelledMachine
    line_factor: float = 1.0
    local: bool = False  # each notification is at home on the core of the thread that waits
    at_once: bool = False  # one call signals all workers


def measure(job: Job, timeout: Patience) -> list[Latency]:
    machine = job.machine
    shape = machine.shape(max(job.cores), default_memory(machine.cores_per_socket))
    target = pingpong.machine(job.kernel, EVENT, str(job.rounds), ",".join(map(str, job.cores)),
                              *pingpong.AT_HOME[job.local], *(("set",) if job.at_once else ()),
                              granularity=job.granularity, shape=shape)
    bench = Bench(run.mode(machine), timeout, stepped=True)
    events, moments = marked_events(target, bench, machine, job.line_factor, run.POINTS)
    return latencies(job.cores, job.rounds, job.line_factor, events.of(EVENT), moments)


def latencies(cores: Sequence[int], rounds: int, line_factor: float, events: Sequence[Event],
              moments: Sequence[Mark]) -> list[Latency]:
    if [(event["cores"], event["rounds"]) for event in events] != [(n, rounds) for n in cores]:
        raise Failure("fork and join: the results do not have the requested numbers of cores and rounds")
    results, of = [], _rounds(moments)
    for event in events:
        made = [_round(next(of, []), event["cores"] - 1) for _ in range(event["warm_up"] + rounds)]
        results.append(Latency(event["cores"], line_factor, tuple(made[event["warm_up"] :])))
    if next(of, None) is not None:
        raise Failure("fork and join: the emulator saw more rounds than the program made")
    return results


def _rounds(moments: Sequence[Mark]) -> Iterator[list[Mark]]:
    """Each from its first signal to the next one's."""
    made: list[Mark] = []
    for moment in moments:
        if moment.number == FIRST_SIGNAL and made:
            yield made
            made = []
        made.append(moment)
    if made:
        yield made


def _round(moments: Sequence[Mark], workers: int) -> Round:
    if sorted(moment.number for moment in moments) != [FIRST_SIGNAL, *[WORKER_RUNS] * workers, LAST_SIGNAL]:
        raise Failure(f"fork and join: the emulator did not see the signals and {workers} workers of each round")
    begin = moments[0].clock
    running = max(moment.clock for moment in moments if moment.number == WORKER_RUNS) - begin
    (signalled,) = (moment.clock - begin for moment in moments if moment.number == LAST_SIGNAL)
    if moments[0].number != FIRST_SIGNAL or running <= 0 or signalled <= 0:
        raise Failure("fork and join: a moment comes before the first signal")
    return Round(running, signalled)
