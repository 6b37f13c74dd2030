# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps of which a part fails or that are interrupted: the finished parts stay."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.base import parallel
from deploy.base.errors import Failure
from deploy.base.parallel import Call
from deploy.base.partial import MOST_IN_A_ROW, Parts
from deploy.base.terminal import Output
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.ipc import measure as ipc
from deploy.bench.native import runs as native_runs
from deploy.bench.native.runs import Job
from deploy.bench.redis import measure as redis
from deploy.bench.scale import measure as scale
from deploy.bench.scale.fit import curves
from deploy.cli import main
from deploy.compare import runs
from deploy.compare.images import RANGED, Draw, Images
from deploy.compare.verdict import answers
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import PAPERS, RANGE, load, whole_ranges
from deploy.load.case import RedisCase, cases
from deploy.load.comparison import Comparison
from deploy.load.request import checked
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.results.result import Result
from deploy.setup import relink
from topology.machines.machine import Shape

from . import test_closed
from .test_redis import point as redis_point
from .test_scale import point as scale_point, text_of

QUIET = Output(quiet=True)


def starved(one: scale.Point) -> scale.Point:
    """With a core that came through no round trip."""
    return replace(one,
                   per_core=[core | ({"rounds": 0, "drawn": 0} if core["cpu"] == 1 else {}) for core in one.per_core])


def test_parts() -> None:
    """a part that fails leaves the others; the exception at the end names it and says where the others are"""
    parts, done = Parts(QUIET), []
    for number in parts.of(range(4)):
        with parts.part(f"part {number}"):
            if number == 1:
                raise Failure("it broke")
            done.append(number)
    assert done == [0, 2, 3] and parts.to_json() == {"incomplete": [{"part": "part 1", "why": "it broke"}]}
    parts.require(done)
    with pytest.raises(Failure, match="part 1 failed; the results have the others: it broke"):
        parts.finish()


def test_parts_that_all_fail() -> None:
    """a cause that is in no part ends the sweep soon; where nothing is finished, nothing is written"""
    parts = Parts(QUIET)
    for number in parts.of(range(100)):
        with parts.part(f"part {number}"):
            raise Failure("the disk is full")
    assert len(parts.failed) == MOST_IN_A_ROW
    with pytest.raises(Failure, match="part 0 failed .and 2 more., and the parts behind them were not begun; nothing "
                       "was finished"):
        parts.require([])


def test_interrupt() -> None:
    """an interrupt ends the sweep, which is one that was interrupted"""
    parts, done = Parts(QUIET), []
    for number in parts.of(range(4)):
        with parts.part(f"part {number}"):
            if number == 2:
                raise KeyboardInterrupt
            done.append(number)
    assert done == [0, 1] and parts.to_json()["incomplete"] == [{"part": "part 2", "why": "interrupted"}]
    with pytest.raises(KeyboardInterrupt):
        parts.finish()


def test_other_exceptions_are_not_kept() -> None:
    """a mistake of the program is no part that failed"""
    with pytest.raises(ValueError), Parts(QUIET).part("x"):
        raise ValueError


def test_whole_ranges() -> None:
    """a range has all line costs, or there is none"""
    assert whole_ranges({"a": dict(zip(RANGE, (3.0, 2.0, 1.0)))}) == {"a": (1.0, 3.0)}
    assert whole_ranges({"a": {1.0: 2.0, 2.0: 1.0}}) == {}


def test_starved(tmp_path: Path) -> None:
    """a point in which a core starved is marked in table, JSON and CSV; no model is fitted to it"""
    points = [scale_point(1, 500.0), starved(scale_point(2, 500.0)), scale_point(4, 500.0)]
    text = text_of(points)
    assert f"{1000 * points[1].throughput:.3f}  starved: 1" in text and text.count("starved: 1") == 1
    assert "fits leave it out" in " ".join(text.split())
    assert points[1].to_json()["starved"] == [1] and "starved" not in points[0].to_json()
    (curve,) = curves(points)
    assert [cores for cores, _ in curve.points] == [1, 4]
    from deploy.results.result import document

    Output(quiet=True, json_to=str(tmp_path / "x.json")).results(document("bench scale", {}, [],
                                                                          [one.to_json() for one in points]))
    rows = list(csv.DictReader((tmp_path / "x.csv").open()))
    assert [row["starved"] for row in rows] == ["", "1", ""] and {row["kind"] for row in rows} == {"counted"}


def events(counts: list[tuple[int, ...]], delay: int) -> list[Event]:
    found = []
    for rounds in counts:
        for cpu, of in enumerate(rounds):
            data = {"cluster": 0, "cpu": cpu, "rounds": of, "drawn": 1000 * of, "idle": 0, "entries": 0,
                    "acquisitions": 0, "conflicts": 0, "fallbacks": 0}
            found.append(Event("scale-core", data))
        found.append(Event("scale", {"cores": len(rounds), "delay": delay, "cycles": 0}))
    return found


def marks(points: int) -> list[Mark]:
    return [Mark(1 + at % 2, 1000 * at, 0, [0] * 4, [0] * 4) for at in range(2 * points)]


@pytest.mark.parametrize("error", [Failure("hung"), KeyboardInterrupt()])
def test_a_boot_that_ends_early(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """the points before its end are finished; the one at which it ended is not"""
    request = scale.Request("clh", [1, 2, 4], [500.0], 100)
    told = [*events([(100,), (50, 50)], 500), Event("scale-core", {"cluster": 0, "cpu": 0, "rounds": 7})]

    class Machine:
        events = SimpleNamespace(events=told)

        def __enter__(self) -> Machine:
            return self

        def __exit__(self, *what: object) -> None:
            pass

        def wait_done(self) -> None:
            raise error

    class Clocks(Machine):
        arguments = ()

        def read(self) -> list[Mark]:
            return [*marks(2), Mark(1, 9000, 0, [0] * 4, [0] * 4)]

    monkeypatch.setattr(scale, "boot", lambda target, options: Machine())
    monkeypatch.setattr(scale, "clocks", lambda *rest: Clocks())
    found: list[scale.Point] = []
    with pytest.raises(type(error)):
        scale.measure(scale.case(request), Bench(qemu.TCG_COUNTED, Patience(), stepped=True), finished=found)
    assert [one.cores for one in found] == [1, 2]


def test_only_a_sweep_takes_points_that_starve(monkeypatch: pytest.MonkeyPatch) -> None:
    """what must have every core, as a validation, is told that one did nothing"""
    case = scale.case(scale.Request("clh", [2], [500.0], 100))
    one, = scale._points(case, qemu.TCG_COUNTED, events([(100, 0)], 500), marks(1))
    assert one.starved == [1] and "core 1 came through no round trip" in scale.starved_words(one)
    with pytest.raises(Failure, match="no core did anything"):
        scale._points(case, qemu.TCG_COUNTED, events([(0, 0)], 500), marks(1))


def of_scale(case: Any, *rest: Any, finished: list[scale.Point], **more: Any) -> None:
    request = case.job
    finished += [scale_point(n, request.delays[0], request.lock) for n in request.cores[:2]]
    if request.lock == "mcs":
        raise of_scale.error  # type: ignore[attr-defined]


def of_ipc(lock: str, *rest: Any) -> ipc.Measured:
    if lock == "mcs":
        raise of_scale.error  # type: ignore[attr-defined]
    spread = {name: ipc.Spread(100.0, 100.0, 100.0) for name in (*ipc.OPERATIONS, ipc.ONE_WAY)}
    return ipc.Measured(lock, "instructions", True, 100, spread)


def of_redis(case: Any, *rest: Any) -> redis.Point:
    job = case.job
    if job.lock == "mcs":
        raise of_scale.error  # type: ignore[attr-defined]
    return redis_point(job.shape.cpus, job.lock)


COMMANDS: list[tuple[list[str], Callable[..., Any], list[str]]] = [
    (["bench", "scale", "--cores", "1,2,4", "--delays", "500", "--lock", "clh,mcs,fine", "--accel", "tcg"], of_scale,
     ["clh", "fine", "mcs"]),
    (["bench", "ipc", "--lock", "clh,mcs,fine", "--icount"], of_ipc, ["none", "clh", "fine"]),
    (["bench", "redis", "--lock", "clh,mcs,fine", "--cores", "3", "--accel", "tcg", "--no-pong"], of_redis,
     ["clh", "fine"]),
]


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize(("words", "measure", "kept"), COMMANDS, ids=[" ".join(words[:2]) for words, _, _ in COMMANDS])
def test_commands(
    words: list[str], measure: Callable[..., Any], kept: list[str], interrupted: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """a lock that fails, or an interrupt, leaves table, JSON, CSV and plot of the finished points; the status says that
    not all is there"""
    module = main.command_module(".".join(words[:2]))
    of_scale.error = KeyboardInterrupt() if interrupted else Failure("it hung")  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "ensure_built", lambda output, needed: None)
    monkeypatch.setattr(module.experiment, "measure", measure)
    monkeypatch.setattr("deploy.emulator.lockstep.plugin", lambda name: name)
    results = tmp_path / "x.json"
    status = main.main([*words, "--json", str(results), "--plot", str(tmp_path / "x.svg"), "--quiet"])
    out, err = capsys.readouterr()
    assert status == (130 if interrupted else 1)
    data = json.loads(results.read_text())
    found = [one["lock"] for one in data["results"]]
    assert "clh" in found and (set(found) <= set(kept) if interrupted else set(found) == set(kept))
    assert [one["why"] for one in data["incomplete"]] == ["interrupted" if interrupted
                                                          else "it hung"] and "mcs" in data["incomplete"][0]["part"]
    assert (tmp_path / "x.csv").stat().st_size and (tmp_path / "x.svg").stat().st_size and "clh" in out
    last = err.strip().splitlines()[-1]
    assert (
        last == "skerry: interrupted" if interrupted else "mcs" in last
        and "the results have the others: it hung" in last
    )


def test_native(monkeypatch: pytest.MonkeyPatch) -> None:
    """a job that fails is not run again, and has no result"""
    asked: list[str] = []

    def run(kernel: str, bench: str, **options: Any) -> dict[str, Any]:
        asked.append(kernel)
        if kernel == "mcs":
            raise Failure("does not exclude")
        return {"share": 1.0}

    monkeypatch.setattr(native_runs, "of_kernel", lambda kernel: kernel)
    monkeypatch.setattr(native_runs, "run_program", run)
    jobs, parts = [Job(lock, "idle", ()) for lock in ("clh", "mcs")], Parts(QUIET)
    found = native_runs.collect(jobs, 3, parts, "x")
    assert [job.kernel for job in found] == ["clh"] and asked.count("clh") == 3 and asked.count("mcs") == 1
    with pytest.raises(Failure, match="kernel mcs, idle"):
        parts.finish()


def three(number: int, report: Callable[[object], None]) -> int:
    if number == 1:
        raise Failure("it broke")
    return number


def test_side_by_side() -> None:
    """calls in processes of their own: one that fails has no result, the others have theirs"""
    parts = Parts(QUIET)
    assert parallel.run([Call(f"call {n}", three, (n,)) for n in range(3)], 2, parts=parts) == [0, None, 2]
    assert parts.failed == {"call 1": "it broke"}


CASES = cases(Comparison(Shape(2, 2), modelled=load(PAPERS)))
IMAGES = 3
SHOWN = runs.Follower(QUIET, lambda *rest: lambda event: None, 1)


def test_certain_prices() -> None:
    """where no price has an interval there are no price sets, and no runs of them"""
    machine = load(PAPERS)
    certain = {name: replace(price, low=None, high=None) for name, price in machine.prices.items()}
    assert len(runs.price_sets(CASES, quick=False)) == 12
    known = replace(CASES[0].job, modelled=replace(machine, prices=certain))
    assert runs.price_sets([replace(case, job=known) for case in CASES], quick=False) == []


@pytest.mark.parametrize(
    ("lost", "studied", "salts", "layouts"),
    [
        (None, True, [1, 2, 3], ["per-socket", "spanning"]),
        ("spanning, workload C, prices 12", False, [1, 2, 3], ["per-socket", "spanning"]),
        ("per-socket, workload C, prices 1", False, [1, 2, 3], ["per-socket", "spanning"]),
        ("spanning, workload C, image 2", True, [1, 3], ["per-socket", "spanning"]),
        ("spanning, workload C, counting", False, [], ["per-socket"]),
        ("per-socket, workload C", False, [], ["spanning"]),
        ("spanning, workload C, counting instructions", False, [], ["per-socket"]),
    ],
)
def test_comparison(lost: str | None, studied: bool, salts: list[int], layouts: list[str],
                    monkeypatch: pytest.MonkeyPatch) -> None:
    """a run that fails costs its layout, its image or, at other prices, the interval over prices, which is made of all
    price sets or not at all"""
    def run_all(most: int, every: dict[runs.Key, Call], shown: runs.Follower, parts: Parts) -> dict[runs.Key, Any]:
        made: dict[runs.Key, Any] = {}
        for key, call in every.items():
            result = Result(key[2], "clh", "c", 1, 28, True, dict.fromkeys(RANGED, 1.0), [])
            if call.function is runs.run_each:
                case, part, _ = call.arguments
                made[key] = {one: Failure("it broke") if f"{case.name}{one}" == lost else result for one in part}
            elif call.name == lost:
                parts.record(call.name, Failure("it broke"))
            else:
                made[key] = {} if call.function is runs.instructions else result
        return made

    monkeypatch.setattr(runs, "run_all", run_all)
    monkeypatch.setattr(runs, "with_counts", lambda plain, counting: plain)
    parts = Parts(QUIET)
    found = runs.measure(CASES, qemu.TCG_COUNTED, False, IMAGES, parts, SHOWN)
    assert [study is not None for study in found.studies] == [studied] * (len(layouts) - 1)
    assert [one.layout for one in found.results] == layouts
    assert [draw.salts for of in found.images for draw in of.draws] == [(salt, salt) for salt in salts]
    assert parts.complete == (lost is None)


def test_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """layouts with a model are run with fewer and with more cores; half a pair is no check"""
    measured = [test_closed.measured(side) for side in (test_closed.FIRST, test_closed.SECOND)]
    (said,) = answers(load(PAPERS), [(measured[0], measured[1])])
    sizes: list[int] = []

    def run_all(most: int, every: dict[runs.Key, Call], shown: runs.Follower, parts: Parts) -> dict[runs.Key, Any]:
        sizes.extend(call.arguments[0].job.modelled.cores_per_socket for call in every.values())
        return {key: key[2:] for key in every if key[1].share < 1 or key[2] == "spanning"}

    monkeypatch.setattr(runs, "run_all", run_all)
    (checked,) = runs.checked(CASES, qemu.TCG_COUNTED, [said], Parts(QUIET), SHOWN)
    assert sizes == [10, 10, 18, 18]
    assert checked.checks == {0.75: (("per-socket", "c"), ("spanning", "c"))}
    sizes.clear()
    other = replace(said, first=replace(said.first, lock="rtm"), images=Images((Draw((0, 0), *[
        replace(one, lock="rtm") for one in measured]),)))
    assert runs.checked(CASES, qemu.TCG_COUNTED, [other], Parts(QUIET), SHOWN)[0].checks == {} and not sizes


def test_control() -> None:
    """one layout twice: each side has kernels and salts of its own, and a name; the same for all layouts otherwise"""
    job = CASES[0].job
    control = checked(replace(job, layouts=("spanning", "spanning")))
    assert [case.key for case in control] == [("spanning", "c"), ("spanning again", "c")]
    assert [[runs.salt(case, draw, IMAGES) for draw in range(IMAGES)] for case in control] == [[1, 2, 3], [4, 5, 6]]
    assert [[runs.salt(case, draw, IMAGES) for draw in range(IMAGES)] for case in CASES] == [[1, 2, 3]] * 2
    timed = [case.job.salt for key, call in runs.calls(control, qemu.TCG_COUNTED, True, IMAGES).items()
             if key[0] is runs.What.TIMED for case in call.arguments[1].values()]
    assert sorted(timed) == [1, 2, 3, 4, 5, 6]
    assert [[runs.kernel(case, draw, IMAGES) for draw in range(IMAGES)] for case in control] == [[0, 1, 2], [3, 4, 5]]
    assert [[runs.kernel(case, draw, IMAGES) for draw in range(IMAGES)] for case in CASES] == [[0, 1, 2]] * 2


def test_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """the first image boots the kernel that is built, each other one that of its seed; --relink has one for all, and
    the emulator's own kernel of rtm is never linked anew"""
    def booted(every: Sequence[RedisCase]) -> list[object]:
        return [case.plan.own.get(case.kernel) for case in runs.drawn(every, IMAGES)]

    names = [None, relink.path_of("kernel-clh", 1), relink.path_of("kernel-clh", 2)]
    assert booted(CASES) == names * 2
    assert booted(cases(replace(CASES[0].job, relink=7))) == [relink.path_of("kernel-clh", 7)] * 6
    assert booted(cases(replace(CASES[0].job, lock="rtm"))) == [None] * 6
    linked: list[Path] = []
    monkeypatch.setattr(relink, "ensure_linked", linked.extend)
    runs.link(runs.drawn(CASES, IMAGES))
    assert linked == names[1:] * 2
    calls = runs.calls(CASES, qemu.TCG_COUNTED, True, IMAGES).values()
    assert all(setting.draw == 0 or case.plan.own for call in calls if call.function is runs.run_each
               for setting, case in call.arguments[1].items())


@pytest.mark.parametrize(("processors", "boots"), [(1, 3), (2, 3), (4, 4), (64, 15)])
def test_boots(processors: int, boots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """each run of a comparison is in one call, whose runs are of one kernel; each kernel that is linked anew has a
    boot, and the others have as many as a layout has processors"""
    monkeypatch.setattr(parallel, "processors", lambda: list(range(processors)))
    for layout in ("per-socket", "spanning"):
        found = [list(call.arguments[1]) for key, call in runs.calls(CASES, qemu.TCG_COUNTED, False, IMAGES).items()
                 if key[0] is runs.What.TIMED and key[2] == layout]
        assert len(found) == boots
        assert all(len(part) == 1 or not any(setting.draw for setting in part) for part in found)
        assert sorted((one for part in found for one in part), key=str) == sorted(runs.settings(CASES, False, IMAGES),
                                                                                  key=str)


def test_comparison_without_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """where every run was interrupted there is no result, and the command was interrupted"""
    def run_all(most: int, every: dict[runs.Key, Call], shown: runs.Follower, parts: Parts) -> dict[runs.Key, Any]:
        parts.interrupt()
        return {}

    monkeypatch.setattr(runs, "run_all", run_all)
    parts = Parts(QUIET)
    assert runs.measure(CASES, qemu.TCG_COUNTED, False, IMAGES, parts, SHOWN).results == []
    with pytest.raises(KeyboardInterrupt):
        parts.require([])
