# SPDX-License-Identifier: BSD-2-Clause
"""All runs of a comparison on a modelled machine. None depends on another: they go side by side, as many as the host
has processors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from deploy.base import parallel
from deploy.base.parallel import Call
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.compare.verdict import Answer
from deploy.emulator.machine_file import RANGE
from deploy.load import measure as load
from deploy.load.case import RedisCase
from deploy.machine.events import Event
from deploy.machine.qemu import Accel
from deploy.profile.run import profile
from deploy.results.counting import with_counts
from deploy.results.result import Result
from topology.units import MIB

BESIDE = 768 * MIB  # memory of a run beside its programs: the emulator, kernels, ports

Follow = Callable[[str, Callable[..., None]], Callable[[Event], None]]
What = Enum("What", ["COUNTED", "INSTRUCTIONS", "TIMED", "PAUSING"])
Key = tuple[What, float, str, str]  # the factor of the line costs, layout, workload


@dataclass(frozen=True)
class Follower:
    """Shows a run's progress: `follow` makes of its name and of its bar a function to be called at its events."""

    output: Output
    follow: Follow
    milestones: int


def run_once(case: RedisCase, accel: Accel, on_event: Callable[[Event], None]) -> Result:
    return load.measure_once(case, accel, on_event)


def instructions(case: RedisCase, on_event: Callable[[Event], None]) -> dict[str, float]:
    counted, _ = profile(case, on_event)
    return counted.metrics()


def factors(cases: Sequence[RedisCase], quick: bool) -> list[float]:
    """Returns the factors of the costs of moving lines, the machine's own first. One layout has no ratio, so no range
    of it."""
    return [1.0] if quick or not _several(cases) else [1.0, *(factor for factor in RANGE if factor != 1)]


def _several(cases: Sequence[RedisCase]) -> bool:
    return len({case.layout for case in cases}) > 1


def calls(cases: Sequence[RedisCase], accel: Accel, quick: bool) -> dict[Key, Call]:
    """Returns, for each case, the runs that count or time without prices; then, for each factor, a plain run, and one
    of clients that pause."""
    made: dict[Key, Call] = {}
    for case in cases:
        made[What.COUNTED, 1.0, *case.key] = Call(f"{case.name}, counting", run_once, (case.counted(), accel))
    for case in cases:
        made[What.INSTRUCTIONS, 1.0, *case.key] = Call(f"{case.name}, counting instructions", instructions,
                                                       (case.profiled(),))
    for factor in factors(cases, quick):
        for case in cases:
            made[What.TIMED, factor, *case.key] = Call(f"{case.name}{_costs(factor)}", run_once,
                                                       (case.at_costs(factor), accel))
    if _several(cases):
        pausing = [case.pausing() for case in cases]
        for factor in factors(cases, quick):
            made |= _pausing(pausing, accel, factor)
    return made


def _pausing(cases: Sequence[RedisCase], accel: Accel, factor: float = 1.0) -> dict[Key, Call]:
    """Plain runs of cases with clients that pause."""
    return {
        (What.PAUSING, factor, *case.key): Call(f"{case.name}, pauses{_costs(factor)}", run_once,
                                                (case.at_costs(factor), accel)) for case in cases
    }


def _costs(factor: float) -> str:
    return "" if factor == 1 else f", line costs x {factor:g}"


def at_once(case: RedisCase) -> int:
    """Returns how many runs the host has room for: a processor for each, and the memory that its programs reserve.

    The rest of a machine's memory is never touched, and takes none of the host's.
    """
    needed = BESIDE + sum(program.heap for program in case.plan.cluster_map.applications)
    return max(1, min(len(parallel.processors()), _available() // max(1, needed)))


def _available() -> int:
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 1024 * MIB


def run_all(most: int, every: Mapping[Key, Call], shown: Follower, parts: Parts | None = None) -> dict[Key, Any]:
    """Each on a processor of the host, `most` at once. `parts`: see parallel.run(); what failed has no key."""
    following: dict[int, Callable[[Event], None]] = {}
    listed = list(every.values())
    with shown.output.several(shown.milestones) as start:

        def begin(place: int) -> None:
            name = listed[place].name
            following[place] = shown.follow(name, start(f"{name}: booting"))

        done = parallel.run(listed, most, begin, lambda place, event: following[place](event), parts)
    return {key: result for key, result in zip(every, done) if result is not None}


def measure(cases: Sequence[RedisCase], accel: Accel, quick: bool, parts: Parts,
            shown: Follower) -> dict[float, list[Result]]:
    """The results at each factor of the line costs, those at factor 1 with what the counting runs counted.

    Of a layout and workload that a run has failed of there is none. Other factors are there if all of their runs are.
    """
    every = calls(cases, accel, quick)
    done = run_all(at_once(cases[0]), every, shown, parts)
    own = [key for key in every if key[1] == 1]
    kept = [case for case in cases if all(key in done for key in own if key[2:] == case.key)]
    results_at: dict[float, list[Result]] = {}
    for factor in factors(cases, quick):
        results = [result for case in kept if (result := _timed(done, every, factor, case))]
        if len(results) == len(kept):
            results_at[factor] = results
    if len(results_at) < len(factors(cases, quick)):  # a range has all factors, or there is none
        results_at = {1.0: results_at[1.0]}
    results_at[1.0] = [_with_counts(done, case, result) for case, result in zip(kept, results_at[1.0])]
    return results_at


def _timed(done: Mapping[Key, Any], every: Mapping[Key, Call], factor: float, case: RedisCase) -> Result | None:
    """The timed run, with that of clients that pause where there is to be one."""
    timed, pausing = (What.TIMED, factor, *case.key), (What.PAUSING, factor, *case.key)
    if timed not in done or (pausing in every and pausing not in done):
        return None
    result: Result = done[timed]
    return replace(result, pausing=done.get(pausing))


def _with_counts(done: Mapping[Key, Any], case: RedisCase, result: Result) -> Result:
    counted = with_counts(result, done[What.COUNTED, 1.0, *case.key])
    return counted.with_metrics(done[What.INSTRUCTIONS, 1.0, *case.key])


def verified(cases: Sequence[RedisCase], accel: Accel, answer: Answer, shown: Follower) -> Answer:
    """With runs of both layouts at the pause with which they should do as many operations, if there is one."""
    pause = answer.crossover and answer.crossover.pause_us
    if not pause:
        return answer
    pair = [next(case for case in cases if case.key == (one.layout, one.workload))
            for one in (answer.first, answer.second)]
    pausing = [case.pausing(max(1, round(pause))) for case in pair]
    done = run_all(at_once(pausing[0]), _pausing(pausing, accel), shown)
    first, second = (done[What.PAUSING, 1.0, *case.key] for case in pausing)
    return replace(answer, verified=(first.metrics["mean_us"], second.metrics["mean_us"]))
