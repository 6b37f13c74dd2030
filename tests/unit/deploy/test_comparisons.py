# SPDX-License-Identifier: BSD-2-Clause
"""Comparisons of more than one pair of runs: the map, latency over offered load, the suite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.base.parallel import Call
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.base.timeouts import Patience
from deploy.cli.main import main
from deploy.compare import map, map_plot, suite, suite_plot
from deploy.compare.closed import Run
from deploy.compare.map import LOADS, Asked
from deploy.compare.open_loop import Curve, OpenLoop, Point
from deploy.compare.open_loop_plot import plot
from deploy.compare.suite import Asked as SuiteAsked, Outcome
from deploy.compare.suite_rows import (
    CONFIGURATION,
    CONTROL,
    LABELS,
    PARITY,
    ROWS,
    STRUCTURAL,
    On,
    chosen,
)
from deploy.deployment import Load
from deploy.deployment.planner import client_args
from deploy.emulator.entries import Entries
from deploy.emulator.machine_file import PAPERS, load
from deploy.load.case import RedisCase, case as load_case
from deploy.load.comparison import Comparison
from deploy.load.programs import Measured, ProgramCase
from deploy.machine.program_output import Combined
from deploy.results import ycsb
from deploy.results.result import Result
from tests.unit.deploy import synthetic
from tests.unit.deploy.test_closed import FIRST, HERTZ, REDIS, SECOND
from topology.errors import InputError
from topology.machines.machine import Shape

# ---- Tests the map of a comparison: what is run and what is kept, its ratios, its picture. ----


RUNS = 2 * (1 + len(map.runs.SHARES))
XEON, EPYC = load(PAPERS), load("epyc-7402")


def asked(lock: str = "clh") -> Asked:
    return map.asked(XEON, lock, "c", "per-socket,spanning", records=50, operations=30, clients=2)


def run(case: RedisCase) -> Run:
    """Returns what the closed model says of a case in place of a machine."""
    assert case.job.modelled
    side = FIRST if case.layout == FIRST.layout else SECOND
    side = side.scaled(cores=(case.job.modelled.cores_per_socket - 1) / 13)
    return Run(side, side.rate * HERTZ, "clh")


@pytest.fixture
def booted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was run."""
    names: list[str] = []

    def measured(calls: list[Call], most: int, on_start: Any, parts: Parts, on_result: Any, pool: None) -> None:
        for number, call in enumerate(calls):
            on_start(number)
            names.append(call.name)
            on_result(number, run(*call.arguments))

    monkeypatch.setattr(map.parallel, "run", measured)
    monkeypatch.setattr(map.fingerprint, "of_targets", lambda targets: dict.fromkeys(targets, "1"))
    return names


def test_part() -> None:
    """a part of a machine has fewer cores of each socket, or fewer L3 caches where a socket has several"""
    assert (XEON.part(0.75).cores_per_socket, XEON.part(1.0)) == (10, XEON)
    smaller = EPYC.part(0.75)
    assert (smaller.clusters_per_socket, smaller.cores_per_cluster) == (6, EPYC.cores_per_cluster)


def test_runs_are_kept(booted: list[str], tmp_path: Path) -> None:
    """a second map of the same cells runs nothing and says the same; a new cell runs alone"""
    output = Output(quiet=True)
    first = map.measure([asked()], output, Parts(output), tmp_path)
    assert len(booted) == RUNS and all(point.error == pytest.approx(0) for point in first[0].points)
    errors = list(map.table(first).columns[5].cells)
    assert errors[0] == "-" and all("%" in error for error in errors[1:])
    second = map.measure([asked()], output, Parts(output), tmp_path)
    assert len(booted) == RUNS and second == first
    map.measure([asked(), asked("mcs")], output, Parts(output), tmp_path)
    assert [name.split("-")[4] for name in booted[RUNS:]] == ["mcs"] * RUNS


def test_what_is_kept_is_of_these_images(booted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """another image, or other prices, are another run; half a file is none"""
    case = asked().pairs[0][0]
    path = map.place(case, tmp_path)
    other = replace(case, job=replace(case.job, modelled=replace(XEON, sha256="0")))
    assert map.place(other, tmp_path) != path
    monkeypatch.setattr(map.fingerprint, "of_targets", lambda targets: dict.fromkeys(targets, "2"))
    assert map.place(case, tmp_path) != path
    map.store(path, run(case))
    assert map.stored(path) == run(case)
    path.write_text(path.read_text()[:-20])
    assert map.stored(path) is None


def test_ratios() -> None:
    """at a cell's own load and cores the map has its ratio; few cores cannot load a lock much"""
    measured = [(Run(FIRST, 1.27e6, "clh"), Run(SECOND, 1.0e6, "clh"))]
    cell = map.cell(asked(), measured)
    (point,) = cell.points
    assert (point.cores, point.load, point.measured) == (13, REDIS.load, 1.27) and -0.01 < point.error < 0
    at = min(range(len(LOADS)), key=lambda n: abs(LOADS[n] - REDIS.load))
    (row,) = cell.ratios([13])
    assert row[at] == pytest.approx(REDIS.ratio, rel=0.02)
    (few,) = cell.ratios([1])
    assert few[-1] is None and few[0] is not None
    assert json.loads(json.dumps(cell.to_json()))["ratio"][12] == row


def test_picture(tmp_path: Path) -> None:
    """one panel for each cell, with contours and the points that were measured"""
    measured = [(Run(FIRST, 1.27e6, "clh"), Run(SECOND, 1.0e6, "clh"))]
    cells = [map.cell(asked(lock), measured) for lock in ("clh", "mcs")]
    map_plot.plot(cells, tmp_path / "map.svg", ("per-socket", "spanning"))
    text = (tmp_path / "map.svg").read_text()
    assert text.startswith("<?xml") and text.count("load of the lock") == 2


# ---- Latency over offered load, of results that were never measured. ----


def result(layout: str, rate: float, p99: float, pace: float = 1.0) -> Result:
    """One run: half of its operations take 10 us, and one in a hundred takes p99 and more."""
    metrics = {"ops_per_s": rate, "p50_us": 10.0, "p99_us": p99, "p999_us": 2 * p99, "max_us": 3 * p99,
               "pace_ratio": pace}
    return Result(layout, "clh", "c", 1, 4, True, metrics, [], latency_us=[(10.0, 985), (p99, 12), (2 * p99, 3)])


def curve(layout: str, of_images: list[list[float]], capacity: float = 1000.0) -> Curve:
    """`of_images`: each image's p99 at 250, 500, ... operations a second."""
    points = []
    for place, p99 in enumerate(zip(*of_images), 1):
        offered = 250.0 * place
        pace = min(1.0, capacity / offered)
        points.append(Point(offered, tuple(result(layout, pace * offered, one, pace) for one in p99)))
    return Curve(result(layout, capacity, 20.0), tuple(points))


def test_saturated() -> None:
    """Saturated is what keeps less than 98 % of the pace, no matter how high latencies are."""
    made = curve("spanning", [[20.0, 30.0, 40.0, 400.0, 4000.0]])
    assert [point.saturated for point in made.points] == [False, False, False, False, True]
    assert made.points[-1].rate == 1000


def test_crossing() -> None:
    """The load at which p99 passes a bound is between two points, by the logarithm of the latency; with its
    interval."""
    made = curve("spanning", [[20.0, 40.0, 160.0], [20.0, 40.0, 160.0]])
    assert made.crossings(80) == pytest.approx([625, 625])
    assert made.crossings(40) == pytest.approx([500, 500])  # at the bound it is within
    assert made.passes(80) == "up to 625 operations a second (625 to 625 on another image, 95 %)"
    differ = curve("spanning", [[20.0, 40.0, 160.0], [20.0, 80.0, 320.0]])
    assert differ.crossings(80) == pytest.approx([625, 500])


def test_no_crossing() -> None:
    """Without a crossing on every image there is no load, but words."""
    made = curve("spanning", [[20.0, 40.0, 160.0]])
    assert made.crossings(200) is None and "the highest load" in made.passes(200)
    assert made.crossings(10) is None and "the lowest load" in made.passes(10)
    one_does = curve("spanning", [[20.0, 40.0, 160.0], [20.0, 40.0, 70.0]])
    assert one_does.crossings(80) is None and "or beyond" in one_does.passes(80)


def test_document(tmp_path: Path) -> None:
    """Table, sentences, JSON and picture of two layouts."""
    both = OpenLoop((curve("per-socket", [[20.0, 30.0, 40.0, 80.0, 90.0]] * 2, 1300),
                     curve("spanning", [[20.0, 40.0, 160.0, 500.0, 900.0]] * 2)), 70)
    text = " ".join(both.sentences())
    assert both.most == 1300 and "(spanning) from 1,250 on" in text and "(per-socket) from" not in text
    assert both.table().row_count == 10
    first, second = both.to_json()["layouts"]
    assert first["bound_passed_at_ops_per_s"]["median"] > second["bound_passed_at_ops_per_s"]["median"]
    assert second["points"][-1]["saturated"] and second["points"][-1]["p99_us"] == 900
    for name in ("plot.svg", "plot.pdf"):
        plot(both, "modelled", tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5000


def test_pace() -> None:
    """The pace is that of all clients: the time of their arrivals over the time of their answers."""
    rates = {"rate": 500, "arrivals_ns": synthetic.HZ}
    events = synthetic.stream(*synthetic.ycsb("a", 1, 100, 10, **rates), *synthetic.ycsb("b", 2, 100, 10, **rates))
    figures = ycsb.figures(ycsb.collect(events), 2.0)
    assert (figures["offered_ops_per_s"], figures["pace_ratio"]) == (1000, 0.5)
    assert "pace_ratio" not in ycsb.figures(ycsb.collect(synthetic.stream(*synthetic.ycsb("a", 1, 100, 10))), 2.0)


def test_same_arrivals() -> None:
    """All layouts have the same clients with the same schedules; each draw has others; a closed loop has none."""
    job = Comparison(Shape(2, 2), clients=1)

    def asked(layout: str, draw: int) -> list[tuple[str, tuple[str, ...]]]:
        drawn = load_case(job, layout, "c").at_rate(70, draw)
        assert drawn.job.salt == draw
        return [(app.name, tuple(app.args[app.args.index("--rate"):][:4])) for app in
                drawn.plan.cluster_map.applications if app.program == "ycsb"]

    assert asked("per-socket", 3) == asked("spanning", 3)
    assert {words for _, words in asked("spanning", 3)} == {("--rate", "70", "--arrivals", "3")}
    assert "--rate" not in client_args(Load(1), "10.0.0.2", 6379, "redis@1", 0)


@pytest.mark.parametrize(("words", "said"), [
    (["--icount"], "--open-loop: is for a modelled machine (--machine)"),
    (["--program", "wakeups"], "--open-loop: is of Redis at fixed rates; not with --program"),
    (["--map"], "--open-loop: is of Redis at fixed rates; not with --map"),
    (["--layout", "spanning,spanning"], "--layout: an open loop is of two different layouts"),
    (["--layout", "spanning"], "--layout: an open loop is of two different layouts"),
    (["--workload", "a,c"], "--workload: an open loop is of one workload"),
    (["--verify"], "--open-loop: is of Redis at fixed rates; not with --verify"),
])
def test_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that do not fit are refused in one line."""
    assert main(["compare", "--open-loop", *words]) == 2
    assert capsys.readouterr().err.strip().removeprefix("skerry: ") == said


def test_bound_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A bound without an open loop is refused."""
    assert main(["compare", "--p99-bound", "100"]) == 2
    assert capsys.readouterr().err.strip().removeprefix("skerry: ") == "--p99-bound: is of an open loop (--open-loop)"


# ---- Tests `compare --suite`: its rows as deployments, what is kept of runs, verdicts, and controls that fail. ----


ON = On(load(PAPERS), "clh")
ROW = {row.name: row for row in ROWS}


def cases(name: str) -> list[ProgramCase]:
    return suite.row_cases(ROW[name], ON, Patience())


@pytest.mark.parametrize("name", ROW)
def test_row(name: str) -> None:
    """each row is planned under both layouts with the same programs, has a label that is explained, and one line why"""
    row = ROW[name]
    first, second = cases(name)
    assert [len(case.plan.cluster_map.clusters) for case in (first, second)] == [1 if row.label == CONTROL and
                                                                                row.layouts[0] == "spanning" else 2, 1]
    programs = [[(app.name, app.program, app.cpu) for app in case.plan.cluster_map.applications]
                for case in (first, second)]
    assert programs[0] == programs[1] and row.label in LABELS
    assert row.why and "\n" not in row.why and len(row.why) < 100


def test_labels() -> None:
    """every kind has rows, and names are not used twice"""
    assert {row.label for row in ROWS} == {STRUCTURAL, PARITY, CONTROL, CONFIGURATION} and len(ROW) == len(ROWS)


def asked_servers(name: str) -> dict[int, list[int]]:
    """By the core of each client of a row, the cores of the Redis that it asks."""
    apps = cases(name)[0].plan.cluster_map.applications
    at = {app.ipv4: app.cpu for app in apps if app.program == "redis-server"}
    return {app.cpu: [at[address] for address in app.args[2:]] for app in apps if app.program == "shards"}


def test_servers() -> None:
    """clients ask the servers that the row says"""
    cores = [*range(1, 14), *range(15, 28)]
    names = ("own-socket", "other-socket", "one-socket", "fan-out", "hot-shard")
    of_row = {name: asked_servers(name) for name in names}
    assert all(sorted(asks) == cores for asks in of_row.values())
    assert of_row["own-socket"][1] == [2] and of_row["own-socket"][27] == [15]
    assert of_row["other-socket"][1] == [15] and of_row["other-socket"][15] == [1]
    assert {servers[0] // 14 for servers in of_row["one-socket"].values()} == {0}
    assert {tuple(server // 14 for server in servers) for servers in of_row["fan-out"].values()} == {(0, 0, 1, 1)}
    assert {len(servers) for servers in of_row["hot-shard"].values()} == {8}


def test_small_machine() -> None:
    """a machine without a second socket is refused by its name"""
    with pytest.raises(InputError, match="is for machines of several sockets"):
        _ = On(replace(ON.machine, sockets=1), "clh").sockets


def test_bare() -> None:
    """ping-pong takes the manager's place in each cluster, with its cluster's cores"""
    for case, each in zip(cases("ping-pong"), (14, 28)):
        assert {cluster.root for cluster in case.plan.cluster_map.clusters} == {"pingpong"}
        assert case.plan.cluster_map.applications[0].args == ["scale", "instructions", "1680", str(each), "4000"]
    assert cases("mach-memory")[0].plan.cluster_map.applications[0].args == ["memory", "14", "4", "3", "14"]


def test_chosen() -> None:
    """rows are found by name; another name is refused, with those that there are"""
    assert [row.name for row in chosen("null, call,null")] == ["null", "call"] and chosen(None) == list(ROWS)
    with pytest.raises(InputError, match="'calls' is not one of ycsb-a, "):
        chosen("null,calls")


# ---- Runs that are kept ----


def measured(name: str, layout: str, value: float) -> Measured:
    metric = Combined(ROW[name].metric, "calls/s", "higher", (value / 2, value / 2))
    observed = Entries(0, entries=10, acquisitions=10, conflicts=1, wait=5, hold=7, moves=3, handover=1, cycles=100)
    return Measured(Result(
        layout=layout, lock="clh", workload=name, clusters=1 + (layout == "per-socket"), cores=28, emulated=True,
        metrics={metric.name: metric.value}, per_core=[{"core": 0, "cpu_utilisation": 0.5}], observed=observed,
        modelled=ON.machine.to_json(),
    ), (metric,))


@pytest.fixture
def booted_suite(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was run."""
    names: list[str] = []

    def run(calls: Sequence[Call], most: int, on_start: Any, parts: Parts) -> list[Measured]:
        made = []
        for place, call in enumerate(calls):
            on_start(place)
            names.append(call.name)
            case, path = call.arguments
            value = (2.0 if case.layout == "per-socket" else 1.0) * (1 + int(case.job.plugin["salt"]) / 1000)
            made.append(measured(call.name.split(",")[0], case.layout, value))
            path.write_text(json.dumps(suite.asdict(made[-1])))
        return made

    monkeypatch.setattr(suite.parallel, "run", run)
    monkeypatch.setattr(suite.fingerprint, "of_targets", lambda targets: dict.fromkeys(targets, "1"))
    return names


def asked_suite(*names: str, images: int = 2) -> list[SuiteAsked]:
    return [suite.asked(ROW[name], ON, images, Patience()) for name in names]


def test_goes_on(booted_suite: list[str], tmp_path: Path) -> None:
    """a suite that is run again does what is missing, and has the same outcome"""
    output = Output(quiet=True)
    first = suite.measure(asked_suite("call", "null"), output, Parts(output), tmp_path)
    assert len(booted_suite) == 8 and booted_suite[0] == "call, per-socket"
    kept = sorted(tmp_path.iterdir())
    kept[0].write_text('{"result": ')  # of a process that was ended
    kept[1].unlink()
    again = suite.measure(asked_suite("call", "null"), output, Parts(output), tmp_path)
    assert len(booted_suite) == 10 and again == first
    assert [one.spread.median for one in first] == pytest.approx([2.0, 2.0])


def test_files(booted_suite: list[str]) -> None:
    """another image, argument, machine, layout or set of executables has another file"""
    (row, other) = asked_suite("signal", "signal-rare")
    faster = On(replace(ON.machine, sha256="0"), "clh")
    every = [*row.every, *other.every, *suite.asked(ROW["signal"], faster, 2, Patience()).every]
    assert len({suite.place(case) for case in every}) == 12


def test_control_of_itself() -> None:
    """a layout beside itself is on other images"""
    (row,) = asked_suite("a-a")
    salts = [[case.job.plugin["salt"] for case in drawn] for drawn in row.drawn.values()]
    assert list(row.drawn) == ["spanning", "spanning again"] and salts == [["1", "2"], ["3", "4"]]


# ---- Verdicts ----


def outcome(name: str, *pairs: tuple[float, float]) -> Outcome:
    sides = [suite.Layout(layout, [measured(name, layout, pair[side]) for pair in pairs])
             for side, layout in enumerate(("per-socket", "spanning"))]
    return Outcome(ROW[name], suite.Beside(*sides, ON.machine))


@pytest.mark.parametrize("name, pairs, verdict", [
    ("call", ((2.0, 1.0), (2.1, 1.0)), "per-socket"), ("fan-out", ((0.80, 1.0), (0.81, 1.0)), "spanning"),
    ("call", ((1.1, 1.0), (0.95, 1.0)), "neither"), ("call", ((1.003, 1.0), (1.0031, 1.0)), "neither"),
    ("null", ((1.003, 1.0), (1.0031, 1.0)), "holds"), ("null", ((1.02, 1.0), (1.0201, 1.0)), "FAILS"),
    ("null", ((1.03, 1.0), (0.98, 1.0)), "too wide"),
])  # fmt: skip
def test_verdict(name: str, pairs: Sequence[tuple[float, float]], verdict: str) -> None:
    """who does more is said where the interval is beside 1; a ratio that prints as 1.00 is 1"""
    one = outcome(name, *pairs)
    assert one.verdict == verdict
    document = one.to_json()
    assert (document["row"], document["verdict"], document["why"]) == (name, verdict, ROW[name].why)
    json.dumps(document)


def test_sentences(tmp_path: Path) -> None:
    """words name the rows that each layout wins, parity that is none, and controls; these fail the command"""
    rows = [outcome("call", (2.0, 1.0), (2.1, 1.0)), outcome("fan-out", (0.80, 1.0), (0.81, 1.0)),
            outcome("pipeline", (1.2, 1.0), (1.21, 1.0)), outcome("null", (1.0, 1.0), (1.0, 1.0))]
    words = suite.sentences(rows)
    assert "per-socket does more: call 2.05, pipeline 1.21." in words and "spanning does more: fan-out 0.81." in words
    assert "No parity, though it was expected: pipeline." in words
    assert words[-1] == "Controls that are 1.00 within their interval: null."
    wide = outcome("a-a", (1.03, 1.0), (0.98, 1.0))
    assert suite.sentences([wide])[-1].startswith("Controls whose intervals are too wide to tell: a-a; --images")
    suite.check([*rows, wide])
    assert suite.table(rows).row_count == 4
    suite_plot.plot(rows, tmp_path / "suite.svg", "mode")
    assert "fan-out" in (tmp_path / "suite.svg").read_text()
    with pytest.raises(Failure, match=r"control without a ratio of 1.00: null 1.020 \("):
        suite.check([*rows, outcome("null", (1.02, 1.0), (1.0201, 1.0))])


# ---- Options ----


@pytest.mark.parametrize("options, culprit", [
    (["--suite", "--quick"], "--suite"), (["--suite", "--icount"], "--suite"), (["--suite", "--map"], "--suite"),
    (["--suite", "--workload", "a"], "--suite"), (["--suite", "--images", "1"], "--images"),
    (["--suite", "--rows", "nothing"], "--rows"), (["--rows", "null"], "--rows"),
    (["--suite", "--program", "wakeups"], "--suite"),
])  # fmt: skip
def test_refused_suite(options: list[str], culprit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """what does not fit is refused in one line before anything is built"""
    assert main(["compare", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"skerry: {culprit}") and error.count("\n") == 1
