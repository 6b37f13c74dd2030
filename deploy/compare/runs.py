# SPDX-License-Identifier: BSD-2-Clause
"""All runs of a comparison on a modelled machine. None depends on another: they go side by side, as many as the host has processors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from deploy.base import parallel
from deploy.base.parallel import Call
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.compare.verdict import Answer
from deploy.deployment.planner import plan
from deploy.emulator.machine_file import RANGE
from deploy.load import measure as comparison
from deploy.load.measure import Comparison
from deploy.machine.events import Event
from deploy.machine.qemu import Accel
from deploy.profile.run import profile
from deploy.results.counting import with_counts
from deploy.results.result import Result
from topology.units import MIB

BESIDE = 768 * MIB  # what a run takes beside its programs: the emulator, kernels, ports

Follow = Callable[[str, Callable[..., None]], Callable[[Event], None]]


def run_once(job: Comparison, accel: Accel, layout: str, workload: str, counting: bool, on_event: Callable[[Event], None]) -> Result:
    return comparison.measure_once(job, accel, layout, workload, on_event, counting=counting)


def instructions(job: Comparison, layout: str, workload: str, on_event: Callable[[Event], None]) -> dict[str, float]:
    found, _ = profile(comparison.profiled(job), layout, workload, False, on_event)
    return found.metrics()


def factors(job: Comparison, quick: bool) -> list[float]:
    """Of what lines cost that move, the machine's own first. One layout has no ratio, and so no range of it."""
    return [1.0] if quick or len(job.layouts) == 1 else [1.0, *(factor for factor in RANGE if factor != 1)]


def calls(job: Comparison, accel: Accel, quick: bool) -> list[Call]:
    """Of each layout and workload, what is counted or timed without prices; then, for each factor, a plain run."""
    steps = list(comparison.steps(job))
    found = [
        Call(f"{layout}, workload {workload.upper()}, counting", run_once, (comparison.counted(job), accel, layout, workload, True))
        for layout, workload in steps
    ]
    found += [
        Call(f"{layout}, workload {workload.upper()}, counting instructions", instructions, (job, layout, workload)) for layout, workload in steps
    ]
    for factor in factors(job, quick):
        costs = "" if factor == 1 else f", line costs x {factor:g}"
        found += [
            Call(f"{layout}, workload {workload.upper()}{costs}", run_once, (replace(job, line_factor=factor), accel, layout, workload, False))
            for layout, workload in steps
        ]
    if len(job.layouts) > 1:
        for factor in factors(job, quick):
            found += pausing(job, accel, factor, comparison.PAUSE_US)
    return found


def pausing(job: Comparison, accel: Accel, factor: float, pause_us: int) -> list[Call]:
    """Plain runs of clients that pause: of each layout and workload."""
    costs = "" if factor == 1 else f", line costs x {factor:g}"
    calm = replace(comparison.calm(job, pause_us), line_factor=factor)
    return [
        Call(f"{layout}, workload {workload.upper()}, pauses{costs}", run_once, (calm, accel, layout, workload, False))
        for layout, workload in comparison.steps(job)
    ]


def at_once(job: Comparison) -> int:
    """How many runs the host has room for: a processor for each, and the memory that its programs reserve.

    The rest of a machine's memory is never touched, and takes none of the host's.
    """
    programs = plan(job.deployment(job.layouts[0], job.workloads[0])).cluster_map.applications
    needed = BESIDE + sum(program.heap for program in programs)
    return max(1, min(len(parallel.processors()), _available() // max(1, needed)))


def _available() -> int:
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 1024 * MIB


def run_all(
    job: Comparison, every: Sequence[Call], output: Output, follow: Follow, milestones: int, parts: Parts | None = None
) -> list[Any]:
    """Each on a processor of the host. `parts`: see side_by_side.run()."""
    following: dict[int, Callable[[Event], None]] = {}
    with output.several(milestones) as start:

        def begin(place: int) -> None:
            name = every[place].name
            following[place] = follow(name, start(f"{name}: booting"))

        return parallel.run(every, at_once(job), begin, lambda place, event: following[place](event), parts)


def measure(job: Comparison, accel: Accel, quick: bool, parts: Parts, follow: Follow, milestones: int) -> dict[float, list[Result]]:
    """The results at each factor of the line costs, those at factor 1 with what the counting runs counted.

    Of a layout and workload that a run has failed of there is none. Other factors are there if all of their runs are.
    `follow` makes of a run's name and of its bar on the terminal what is called at the run's events.
    """
    every = calls(job, accel, quick)
    done = run_all(job, every, parts.output, follow, milestones, parts)
    count = len(list(comparison.steps(job)))
    groups: list[Sequence[Any]] = [done[at : at + count] for at in range(0, len(done), count)]
    counting, by_part, *timed = groups
    costs = factors(job, quick)
    plain, calm = timed[: len(costs)], timed[len(costs) :]  # of each factor, the machine's own first
    own = [counting, by_part, *plain[:1], *calm[:1]]
    kept = [place for place in range(count) if all(group[place] is not None for group in own)]
    found: dict[float, list[Result]] = {}
    for at, factor in enumerate(costs):
        with_pauses = calm[at] if calm else [None] * count
        results = [with_pause(plain[at][place], with_pauses[place]) for place in kept if plain[at][place] and (with_pauses[place] or not calm)]
        if len(results) == len(kept):
            found[factor] = results
    if len(found) < len(costs):  # a range has all factors, or there is none
        found = {1.0: found[1.0]}
    found[1.0] = [with_counts(result, counting[place]) for place, result in zip(kept, found[1.0])]
    for place, result in zip(kept, found[1.0]):
        result.metrics |= by_part[place]
    return found


def with_pause(result: Result, paused: Result | None) -> Result:
    result.calm = paused
    return result


def verified(job: Comparison, accel: Accel, answer: Answer, output: Output, follow: Follow, milestones: int) -> Answer:
    """With runs of both layouts at the pause with which they should do as many operations, if there is one."""
    pause = answer.turn and answer.turn.pause_us
    if not pause:
        return answer
    layouts = (answer.first.layout, answer.second.layout)
    wanted = replace(job, layouts=layouts, workloads=(answer.first.workload,))
    first, second = run_all(job, pausing(wanted, accel, 1.0, max(1, round(pause))), output, follow, milestones)
    return replace(answer, verified=(first.metrics["mean_us"], second.metrics["mean_us"]))
