# SPDX-License-Identifier: BSD-2-Clause
"""How long a mapping takes to protect while other cores do so, too (Uhlig 2007, Figure 8), by apps/pingpong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import mean

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench, marked_events
from deploy.bench.ipc import pingpong
from deploy.emulator import lockstep, run
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import ModelledMachine
from deploy.machine.events import Event
from topology.machines.machine import default_memory

CALL, RETURNED = 1, 2  # marks of apps/pingpong/unmap.c
ROUNDS = 4
PAGES = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # as in the paper's figure
REGIME = "dynamic"
KERNEL, DOMAIN, MAPPING = "kernel", "domain", "mapping"  # the frames' guards: enum frame_guard
EVENT = "unmap"


@dataclass(frozen=True)
class Calls:
    """All calls that protect so many pages on core 0, while so many cores do the same with one page each."""

    cores: int
    pages: int
    line_factor: float
    took: tuple[int, ...]  # each call, in cycles of the modelled machine or in the kernel's instructions

    @property
    def mapping(self) -> float:
        """Returns the time of one mapping, over all calls together."""
        return mean(self.took) / self.pages

    @property
    def extent(self) -> tuple[float, float]:
        """Returns the time of one mapping in the shortest call and in the longest."""
        return min(self.took) / self.pages, max(self.took) / self.pages


@dataclass(frozen=True)
class Job:
    """One boot, with each number of cores and each number of pages."""

    granularity: str
    guard: str
    cores: Sequence[int]
    pages: Sequence[int]
    rounds: int
    machine: ModelledMachine | None  # None: instructions of the kernel are counted, on one core
    line_factor: float = 1.0


def measure(job: Job, timeout: Patience) -> list[Calls]:
    """Returns cycles of the modelled machine; without one, instructions of the kernel on one core."""
    machine = job.machine
    shape = machine.shape(max(job.cores), default_memory(machine.cores_per_socket)) if machine else None
    words = (str(job.rounds), ",".join(map(str, job.cores)), ",".join(map(str, job.pages)), job.guard)
    target = pingpong.machine(REGIME, EVENT, *words, granularity=job.granularity, shape=shape)
    bench = Bench(run.mode(machine) if machine else lockstep.mode(1), timeout, stepped=True)
    events, moments = marked_events(target, bench, machine, job.line_factor, run.POINTS)
    points = [(n, p) for n in job.cores for p in job.pages]
    return calls(points, job.rounds, job.line_factor, events.of(EVENT), moments, counted=machine is None)


def calls(
    points: Sequence[tuple[int, int]], rounds: int, line_factor: float, events: Sequence[Event],
    moments: Sequence[Mark], counted: bool
) -> list[Calls]:
    """`points`: cores and pages. `counted`: what the kernel executed on core 0 in place of the time that passed."""
    if [(event["cores"], event["pages"], event["rounds"]) for event in events] != [(n, p, rounds) for n, p in points]:
        raise Failure("unmap: the results do not have the requested numbers of cores, pages and rounds")
    lengths, results = _lengths(moments, counted), []
    for event in events:
        took = tuple(islice(lengths, event["warm_up"] + rounds))
        if len(took) != event["warm_up"] + rounds:
            raise Failure("unmap: the emulator saw fewer calls than the program made")
        results.append(Calls(event["cores"], event["pages"], line_factor, took[event["warm_up"] :]))
    if next(lengths, None) is not None:
        raise Failure("unmap: the emulator saw more calls than the program made")
    return results


def _lengths(moments: Sequence[Mark], counted: bool) -> Iterator[int]:
    if [moment.number for moment in moments] != [CALL, RETURNED] * (len(moments) // 2):
        raise Failure("unmap: the emulator did not see each call's begin and end")
    for begin, end in zip(moments[::2], moments[1::2]):
        length = end.kernel[0] - begin.kernel[0] if counted else end.clock - begin.clock
        if length <= 0:
            raise Failure("unmap: a call took no time")
        yield length
