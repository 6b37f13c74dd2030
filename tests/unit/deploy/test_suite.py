# SPDX-License-Identifier: BSD-2-Clause
"""Tests `compare --suite`: its rows as deployments, what is kept of runs, verdicts, and controls that fail."""

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
from deploy.compare import suite, suite_plot
from deploy.compare.suite import Asked, Outcome
from deploy.compare.suite_rows import CONFIGURATION, CONTROL, LABELS, PARITY, ROWS, STRUCTURAL, On, chosen
from deploy.emulator.entries import Entries
from deploy.emulator.machine_file import PAPERS, load
from deploy.load.programs import Measured, ProgramCase
from deploy.machine.program_output import Combined
from deploy.results.result import Result
from topology.errors import InputError

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
    asked = {name: asked_servers(name) for name in ("own-socket", "other-socket", "one-socket", "fan-out", "hot-shard")}
    assert all(sorted(asks) == cores for asks in asked.values())
    assert asked["own-socket"][1] == [2] and asked["own-socket"][27] == [15]
    assert asked["other-socket"][1] == [15] and asked["other-socket"][15] == [1]
    assert {servers[0] // 14 for servers in asked["one-socket"].values()} == {0}
    assert {tuple(server // 14 for server in servers) for servers in asked["fan-out"].values()} == {(0, 0, 1, 1)}
    assert {len(servers) for servers in asked["hot-shard"].values()} == {8}


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
def booted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
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


def asked(*names: str, images: int = 2) -> list[Asked]:
    return [suite.asked(ROW[name], ON, images, Patience()) for name in names]


def test_goes_on(booted: list[str], tmp_path: Path) -> None:
    """a suite that is run again does what is missing, and has the same outcome"""
    output = Output(quiet=True)
    first = suite.measure(asked("call", "null"), output, Parts(output), tmp_path)
    assert len(booted) == 8 and booted[0] == "call, per-socket"
    kept = sorted(tmp_path.iterdir())
    kept[0].write_text('{"result": ')  # of a process that was ended
    kept[1].unlink()
    again = suite.measure(asked("call", "null"), output, Parts(output), tmp_path)
    assert len(booted) == 10 and again == first
    assert [one.spread.median for one in first] == pytest.approx([2.0, 2.0])


def test_files(booted: list[str]) -> None:
    """another image, argument, machine, layout or set of executables has another file"""
    (row, other) = asked("signal", "signal-rare")
    faster = On(replace(ON.machine, sha256="0"), "clh")
    every = [*row.every, *other.every, *suite.asked(ROW["signal"], faster, 2, Patience()).every]
    assert len({suite.place(case) for case in every}) == 12


def test_control_of_itself() -> None:
    """a layout beside itself is on other images"""
    (row,) = asked("a-a")
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
def test_refused(options: list[str], culprit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """what does not fit is refused in one line before anything is built"""
    assert main(["compare", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"skerry: {culprit}") and error.count("\n") == 1
