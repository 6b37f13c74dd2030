# SPDX-License-Identifier: BSD-2-Clause
"""All runs of a comparison on a modelled machine. None depends on another: they go side by side, as many as the host
has processors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from deploy.base import parallel
from deploy.base.errors import Failure
from deploy.base.parallel import Call
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.compare import closed
from deploy.compare.closed import Model
from deploy.compare.images import Draw, Images
from deploy.compare.prices import Positions, Study, design, groups, repriced
from deploy.compare.tables import pairs, ratios
from deploy.compare.verdict import Answer
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import ModelledMachine
from deploy.load import measure as load
from deploy.load.case import Case, RedisCase
from deploy.load.programs import Measured as MeasuredPrograms, ProgramCase, measure_copies
from deploy.machine.events import Event
from deploy.machine.qemu import Accel
from deploy.profile.run import profile
from deploy.results.counting import with_counts
from deploy.results.result import Result
from deploy.setup import relink
from topology.errors import InputError
from topology.units import MIB

SHARES = (0.75, 1.25)  # of each socket's cores: with so many the closed model is checked
BESIDE = 768 * MIB  # memory of a run beside its programs: the emulator, kernels, ports

Follow = Callable[[str, Callable[..., None]], Callable[[Event], None]]
What = Enum("What", ["COUNTED", "INSTRUCTIONS", "TIMED"])


@dataclass(frozen=True)
class Setting:
    """In what a run differs from the machine as it is, on the first image. `draw`: which image, 0... `prices`: which
    price set, 1...; 0: the machine file's own prices."""

    draw: int = 0
    prices: int = 0
    share: float = 1.0  # of each socket's cores

    def __str__(self) -> str:
        return (f", prices {self.prices}" * (self.prices > 0)) + (f", image {1 + self.draw}" * (self.draw > 0)) + (
            f", {self.share:.0%} of the cores" * (self.share != 1))


PLAIN = Setting()
Key = tuple[What, Setting, str, str]  # layout, workload
K = TypeVar("K")
C = TypeVar("C", RedisCase, ProgramCase)


@dataclass(frozen=True)
class Follower:
    """Shows a run's progress: `follow` makes of its name and of its bar a function to be called at its events."""

    output: Output
    follow: Follow
    milestones: int


def run_once(case: RedisCase, accel: Accel, on_event: Callable[[Event], None]) -> Result:
    return load.measure_once(case, accel, on_event)


def run_each(case: RedisCase, part: Mapping[Setting, RedisCase], accel: Accel,
             on_event: Callable[[Event], None]) -> dict[Setting, Result | Failure]:
    """Boots `case` once, and runs it in each setting from the load's begin on."""
    return dict(zip(part, load.measure_copies(case, list(part.values()), accel, on_event)))


def run_each_program(case: ProgramCase, part: Mapping[Setting, ProgramCase], accel: Accel,
                     on_event: Callable[[Event], None]) -> dict[Setting, MeasuredPrograms | Failure]:
    """Boots `case` once, and runs it in each setting from where pricing begins."""
    return dict(zip(part, measure_copies(case, list(part.values()), accel, on_event)))


def instructions(case: RedisCase, on_event: Callable[[Event], None]) -> dict[str, float]:
    counted, _ = profile(case, on_event)
    return counted.metrics()


def price_sets(cases: Sequence[Case[Any]], quick: bool) -> list[dict[str, float]]:
    """Returns the price sets of the design; none for one layout, which has no ratio, for a control, and where no price
    has an interval."""
    if quick or not _several(cases) or any(case.again for case in cases):
        return []
    names = groups(_machine(cases))
    return design(names) if names else []


def _machine(cases: Sequence[Case[Any]]) -> ModelledMachine:
    machine: ModelledMachine | None = cases[0].job.modelled
    assert machine
    return machine


def _several(cases: Sequence[Case[Any]]) -> bool:
    return len({case.key[0] for case in cases}) > 1


def settings(cases: Sequence[RedisCase], quick: bool, images: int) -> list[Setting]:
    """Returns those of the timed runs: each image, then each price set."""
    drawn = images if _several(cases) else 1
    return [Setting(draw) for draw in range(drawn)] + [Setting(prices=number + 1)
                                                       for number in range(len(price_sets(cases, quick)))]


def salt(case: Case[Any], draw: int, images: int) -> int:
    """Returns the salt of a draw, from 1 on: the same for all layouts, and others for the second side of a control.

    Without a salt all cores have their code and pages at the same places, so that nothing averages out over cores.
    """
    return 1 + draw + images * case.again


def kernel(case: Case[Any], draw: int, images: int) -> int:
    """Returns the seed by which the kernel of a draw is linked anew, as its salt is the same for all layouts. 0: it is
    as built: on the first image, and where an option or the emulator says which kernel runs."""
    return 0 if case.lock == modelled_run.RTM or case.kernel in case.plan.own else salt(case, draw, images) - 1


def on_image(case: C, draw: int, images: int) -> C:
    """Returns the case on the image of a draw: with its kernel and its salt."""
    return with_kernel(case.salted(salt(case, draw, images)), kernel(case, draw, images))


def with_kernel(case: C, seed: int) -> C:
    return case.relinked(seed) if seed else case


def drawn(cases: Sequence[C], images: int) -> list[C]:
    """Returns the cases on all images."""
    return [on_image(case, draw, images) for case in cases for draw in range(images)]


def link(cases: Iterable[Case[Any]]) -> None:
    """Links the kernels of these cases anew, but those that are kept."""
    kernels = [case.plan.own.get(case.kernel) for case in cases]
    relink.ensure_linked(own for own in kernels if isinstance(own, Path) and own.parent == relink.RELINKED)


def calls(cases: Sequence[RedisCase], accel: Accel, quick: bool, images: int = 1) -> dict[Key, Call]:
    """Returns, for each case, the runs that count or time without prices; then plain runs of all images and price
    sets (timed())."""
    made: dict[Key, Call] = {}
    for case in cases:
        made[What.COUNTED, PLAIN, *case.key] = Call(f"{case.name}, counting", run_once, (case.counted(), accel))
    for case in cases:
        made[What.INSTRUCTIONS, PLAIN, *case.key] = Call(f"{case.name}, counting instructions", instructions,
                                                         (case.profiled(),))
    draws, sets = range(images if _several(cases) else 1), price_sets(cases, quick)
    return made | timed([
        (case, {Setting(draw): on_image(case, draw, images) for draw in draws} | priced(case, sets))
        for case in cases
    ], accel)


def priced(case: C, sets: Sequence[Positions]) -> dict[Setting, C]:
    """Returns the case at each price set, on the first image."""
    return {Setting(prices=number): case.on(repriced(_machine([case]), positions)).salted(salt(case, 0, images=1))
            for number, positions in enumerate(sets, 1)}


def timed(every: Sequence[tuple[C, Mapping[Setting, C]]], accel: Accel,
          each: Callable[..., Any] = run_each) -> dict[Key, Call]:
    """Returns plain runs of each case in its settings. One call, of `each`, is of several of one kernel, which share a
    boot; there are enough calls for the host's processors. Its key has its first setting (see separate())."""
    made: dict[Key, Call] = {}
    boots = max(1, len(parallel.processors()) // max(1, len(every)))
    case: C
    for case, settings in every:
        for same in _by_kernel(settings):
            for place, first in enumerate(list(same)[:boots]):
                part = dict(list(same.items())[place::boots])
                name = f"{case.name}, {len(part)} runs" if len(part) > 1 else f"{case.name}{first}"
                key: Key = (What.TIMED, first, *case.key)
                made[key] = Call(name, each, (case.booting(part[first].plan), part, accel))
    return dict(sorted(made.items(), key=lambda one: -len(one[1].arguments[1])))  # the longest begin first


def _by_kernel(settings: Mapping[Setting, C]) -> list[dict[Setting, C]]:
    """Returns the settings in parts that boot the same."""
    parts: dict[object, dict[Setting, C]] = {}
    for setting, case in settings.items():
        parts.setdefault(case.plan.own.get(case.kernel), {})[setting] = case
    return list(parts.values())


def _ycsb(workload: str) -> str:
    return f", workload {workload.upper()}"


def separate(done: Mapping[Key, Any], parts: Parts, workload_of: Callable[[str], str] = _ycsb) -> dict[Key, Any]:
    """Returns the results with each of several in one call by a key of its own. Records what failed, with the words
    of `workload_of` for its workload."""
    found: dict[Key, Any] = {}
    for (what, setting, layout, workload), result in done.items():
        results = result if what == What.TIMED else {setting: result}
        for one, outcome in results.items():
            if isinstance(outcome, Failure):
                parts.record(f"{layout}{workload_of(workload)}{one}", outcome)
            else:
                found[what, one, layout, workload] = outcome
    return found


def checks(cases: Sequence[RedisCase], accel: Accel) -> dict[Key, Call]:
    """Returns plain runs of pairs of cases with fewer and with more cores, where these fit; one layout has no ratio."""
    made: dict[Key, Call] = {}
    for share in SHARES if _several(cases) else ():
        setting = Setting(share=share)
        with suppress(InputError):
            made |= {(What.TIMED, setting, *case.key): Call(
                f"{case.name}{setting}", run_once, (case.on_part(share).salted(salt(case, 0, images=1)), accel)
            ) for case in cases}
    return made


def at_once(case: Case[Any]) -> int:
    """Returns how many runs the host has room for: a processor for each, and the memory that its programs reserve.

    The rest of a machine's memory is never touched, and takes none of the host's.
    """
    needed = BESIDE + sum(program.heap * program.processes for program in case.plan.cluster_map.applications)
    return max(1, min(len(parallel.processors()), _available() // max(1, needed)))


def _available() -> int:
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 1024 * MIB


def run_all(most: int, every: Mapping[K, Call], shown: Follower, parts: Parts | None = None) -> dict[K, Any]:
    """Each on a processor of the host, `most` at once. `parts`: see parallel.run(); what failed has no key."""
    following: dict[int, Callable[[Event], None]] = {}
    listed = list(every.values())
    with shown.output.several(shown.milestones) as start:

        def begin(place: int) -> None:
            name = listed[place].name
            following[place] = shown.follow(name, start(f"{name}: booting"))

        done = parallel.run(listed, most, begin, lambda place, event: following[place](event), parts)
    return {key: result for key, result in zip(every, done) if result is not None}


@dataclass(frozen=True)
class Measured:
    """The results, with what the counting runs counted; and of each pair of them the images and the price sets."""

    results: list[Result]
    images: list[Images]
    studies: list[Study | None]


def measure(cases: Sequence[RedisCase], accel: Accel, quick: bool, images: int, parts: Parts,
            shown: Follower) -> Measured:
    """Returns results of the layouts and workloads without a failed run on the first image; other images where all of
    their runs ended well, and price sets where all runs of all sets did."""
    every = calls(cases, accel, quick, images)
    done = separate(run_all(at_once(cases[0]), every, shown, parts), parts)
    own = [key for key in every if key[1] == PLAIN]
    kept = [case for case in cases if all(key in done for key in own if key[2:] == case.key)]
    of_setting: dict[Setting, list[Result]] = {}
    for setting in settings(cases, quick, images):
        results = [result for case in kept if (result := _timed(done, setting, case))]
        if len(results) == len(kept):
            of_setting[setting] = results
    drawn = _images(kept, of_setting, images)
    studies = [_study(_machine(cases), of_setting, place, len(price_sets(cases, quick)), one)
               for place, one in enumerate(drawn)]
    return Measured([_with_counts(done, case, result) for case, result in zip(kept, of_setting[PLAIN])], drawn, studies)


def _study(machine: ModelledMachine, of_setting: Mapping[Setting, list[Result]], place: int, sets: int,
           images: Images) -> Study | None:
    """The price sets of the pair of results at `place`; None unless there are all."""
    known = [pairs(results)[place] for number in range(sets) if (results := of_setting.get(Setting(prices=number + 1)))]
    if not known or len(known) < sets:
        return None
    return Study(machine, [ratios(*pair) for pair in known], images.draws[0].ratios,
                 {metric: spread.median for metric, spread in images.spreads().items()}, models(known, machine))


def models(known: Sequence[tuple[Result, Result]], machine: ModelledMachine) -> list[Model]:
    """Returns the closed model of each pair; none if one of them has none, or one that takes long to solve."""
    made = [closed.model([pair], machine) for pair in known]
    return [one for one in made if one] if all(one and not one.first.growth for one in made) else []


def _images(cases: Sequence[RedisCase], of_setting: Mapping[Setting, list[Result]], images: int) -> list[Images]:
    """Returns the images of each pair of results."""
    by_key = {case.key: case for case in cases}
    draws: list[list[Draw]] = [[] for _ in pairs(of_setting[PLAIN])]
    for setting, results in of_setting.items():
        for place, (first, second) in enumerate(() if setting.prices else pairs(results)):
            of = [by_key[result.layout, result.workload] for result in (first, second)]
            salts, kernels = ((number(of[0], setting.draw, images), number(of[1], setting.draw, images))
                              for number in (salt, kernel))
            draws[place].append(Draw(salts, first, second, kernels))
    return [Images(tuple(drawn)) for drawn in draws]


def _timed(done: Mapping[Key, Any], setting: Setting, case: RedisCase) -> Result | None:
    result: Result | None = done.get((What.TIMED, setting, *case.key))
    return result


def _with_counts(done: Mapping[Key, Any], case: RedisCase, result: Result) -> Result:
    counted = with_counts(result, done[What.COUNTED, PLAIN, *case.key])
    return counted.with_metrics(done[What.INSTRUCTIONS, PLAIN, *case.key])


def checked(cases: Sequence[RedisCase], accel: Accel, verdicts: Sequence[Answer], parts: Parts,
            shown: Follower) -> list[Answer]:
    """Returns the answers with runs of both layouts with fewer and with more cores, where their model says of these
    what they should do."""
    asked = {key: call for key, call in checks(cases, accel).items()
             if any(answer.model and key[2:] in answer.keys for answer in verdicts)}
    done = run_all(at_once(cases[0]), asked, shown, parts) if asked else {}
    settings = dict.fromkeys(setting for _, setting, *_ in done)
    return [replace(answer, checks={
        setting.share: (first, second) for setting in settings
        if all(one in done for one in ((What.TIMED, setting, *key) for key in answer.keys))
        for first, second in [[done[What.TIMED, setting, *key] for key in answer.keys]]
    }) for answer in verdicts]
