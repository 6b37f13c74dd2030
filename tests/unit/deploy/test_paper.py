# SPDX-License-Identifier: BSD-2-Clause
"""The papers' figures, and `skerry paper`: runs that are kept, repeats, and the page beside the published points."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from typer.main import get_command

from deploy.base.parallel import Call
from deploy.base.terminal import Output
from deploy.bench.paper import figures, page, work
from deploy.bench.paper.figures import (
    FIGURES as ALL_FIGURES,
    KINDS,
    MODELLED,
    NATIVE,
    NOT_MEASURED,
    Figure,
    figure,
)
from deploy.bench.redis import architecture
from deploy.bench.redis.measure import Point as RedisPoint
from deploy.bench.scale import figure as scale_figure
from deploy.bench.scale.figure import Estimate, against_paper, locks_of, sentences, tables
from deploy.bench.scale.measure import Point, Request, ranges_of
from deploy.bench.validate import rows as row_groups
from deploy.cli.commands.measure import paper as command
from deploy.cli.main import main, make_app
from deploy.emulator.machine_file import load
from deploy.setup import build
from tests.unit.deploy.test_validate import redis_point
from topology.errors import InputError
from topology.model import papers, published, repairman

from .test_parallel import Elsewhere

# ---- `skerry paper`: runs that are kept, goes on after an end, repeats, and the page of ours beside the published
# points. ----


HOST = {"cpu": "a cpu", "cores": 2, "qemu": "10.0", "mode": "modelled"}
ROWS = {
    "skerry": "0", "command": "bench validate", "host": HOST,
    "results": [
        {"row": "lock service", "metrics": {"reference": 100.0, "modelled": 110.0, "error": 0.1},
         "range": {"modelled": [90.0, 130.0]},
         "met": True, "source": "its Section 4", "emulated": True},
        {"row": "plateau", "metrics": {"modelled": 5.0}, "bounds": [6.0, 8.0], "met": False, "emulated": True},
        {"row": "collapse", "metrics": {}, "not_run": "no such machine", "met": None},
    ],
}  # fmt: skip
CURVE = {
    "skerry": "0", "command": "bench scale", "host": HOST,
    "results": [
        {"lock": "clh", "cores": n, "metrics": {"delay_cycles": 500, "throughput_per_cycle": 0.001 * min(n, 3)},
         "emulated": True,
         "range": {"throughput_per_cycle": [0.0009 * n, 0.0011 * n]}, "published": {"fit": 0.001 * n, "met": n <= 3}}
        for n in (1, 2, 3, 4)
    ],
    "ratios": [{"of": "fine", "to": "none", "metrics": {"one_way": 1.25}, "published": {"one_way": 1.2}}],
}  # fmt: skip
FIGURES = (
    Figure("rows", "A paper", "Table 1", "Rows of a table", ("rows",), "each row", MODELLED, 1, ""),
    Figure("curve", "A paper", "Figure 2", "Throughput", ("curve",), "each point", NATIVE, 2, ""),
)


class Runs:
    """In the place of the commands: writes what each would."""

    def __init__(self, folder: Path) -> None:
        self.made: list[str] = []
        self.broken: set[str] = set()
        self.folder = folder

    def command(self, task: work.Task) -> list[str]:
        self.made.append(task.name)
        if task.figure.id in self.broken:
            return [sys.executable, "-c", "import sys; sys.exit('skerry: it broke')"]
        document = {"rows": ROWS, "curve": CURVE}[task.figure.id] | {"run": task.run}
        return [sys.executable, "-c",
                f"import pathlib; pathlib.Path({str(task.path)!r}).write_text({json.dumps(document)!r})"]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs(tmp_path)
    monkeypatch.setattr(work, "command", made.command)
    monkeypatch.setattr(command, "FIGURES", FIGURES)
    monkeypatch.setattr(figures, "FIGURES", FIGURES)
    monkeypatch.setattr(work, "state", lambda: {"commit": "a"})
    return made


def paper(folder: Path, *words: str) -> int:
    return main(["paper", *words, "--into", str(folder / "paper"), "--quiet"])


def test_goes_on(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                 capsys: pytest.CaptureFixture[str]) -> None:
    """figures that are there are not run again; what failed is, and what other sources made"""
    runs.broken = {"curve"}
    assert paper(tmp_path) == 1
    said = capsys.readouterr().err
    assert "curve: it broke" in said and "curve.log" in said and (tmp_path / "paper/report.html").is_file()
    assert runs.made == ["rows", "curve", "curve-2", "curve-3"]  # only what differs from run to run is repeated
    runs.broken.clear()
    assert paper(tmp_path) == 0 and runs.made[4:] == ["curve", "curve-2", "curve-3"]
    assert paper(tmp_path) == 0 and len(runs.made) == 7
    assert paper(tmp_path, "--repeats", "4") == 0 and runs.made[7:] == ["curve-4"]
    assert paper(tmp_path, "rows", "--fresh") == 0 and runs.made[8:] == ["rows"]
    monkeypatch.setattr(work, "state", lambda: {"commit": "b"})
    assert paper(tmp_path, "rows") == 0 and runs.made[9:] == ["rows"]
    (tmp_path / "paper/rows.json").unlink()
    assert paper(tmp_path, "--list") == 0 and len(runs.made) == 10
    assert paper(tmp_path, "rows") == 0 and runs.made[10:] == ["rows"]


def test_page(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """for each figure its kind, ours beside the published values, their ratio, and what was not run"""
    to = tmp_path / "paper.json"
    assert paper(tmp_path, "--repeats", "2", "--json", str(to)) == 0
    text = (tmp_path / "paper/report.html").read_text()
    assert "A paper, Table 1: Rows of a table" in text and "Modelled: " in text and "Native: " in text
    assert (
        "lock service (goal met)" in text and "plateau (goal not met)" in text
        and "Not run: collapse: no such machine" in text
    )
    assert re.search(r'<data value="1.1">1.100</data>', text) and "Ours over the published value" in text
    assert "Kernel entries in 1,000 cycles over cores" in text and "<script" not in text
    known = json.loads(to.read_text())
    assert [(one["id"], one["run"], one["done"]) for one in known["figures"]] == [("rows", 1, True), ("curve", 1, True),
        ("curve", 2, True)]
    assert known["report"].endswith("report.html")


def test_points() -> None:
    """rows, points of a curve and ratios, each with what is published; repeats are runs of one point"""
    rows, curve = page.of_documents([ROWS]), page.of_documents([CURVE, CURVE])
    assert [(p.name, p.ratio, p.bounds, p.met) for p in rows] == [("lock service", pytest.approx(1.1), None, True),
                                                                  ("plateau", None, (6.0, 8.0), False)]
    assert rows[0].extent == (90.0, 130.0) and rows[0].source == "its Section 4"
    assert len(curve) == 5 and curve[0].ours == (0.001, 0.001) and curve[3].ratio == pytest.approx(0.75)
    assert curve[4].name == "fine / none: one way" and curve[4].ratio == pytest.approx(1.25 / 1.2)
    assert page.not_run([ROWS]) == ["collapse: no such machine"]
    assert list(page.curves([CURVE])) == ["clh, delay 500"] and page.curves([ROWS]) == {}


def test_other_shapes(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a drawing has words and no metrics; a figure of the same command is not run twice; another paper's values stand
    in place of the file's"""
    drawing = {"skerry": "0", "command": "bench redis", "host": {}, "results": [
        {"core": 0, "programs": {"network": 1}, "published": {"network": 1}, "same": True},
        {"core": 1, "programs": {"Redis": 1}, "published": {"Redis": 1, "lwIP": 3}, "same": False},
    ]}  # fmt: skip
    ipc = {"skerry": "0", "command": "bench ipc", "host": HOST,
           "results": [{"lock": "clh", "metrics": {"cycles": 1.0}}],
           "ratios": [{"of": "clh", "to": "none", "metrics": {"one_way_kernel_cycles": 1.09}, "published": {"one_way": 1.03}}]}  # fmt: skip
    assert page.of_documents([ipc])[0].ratio == pytest.approx(1.09 / 1.03)
    documents = {"drawing": drawing, "ipc": ipc}
    three = (
        Figure("drawing", "P", "Figure 6", "Cores", ("drawing",), "cores", figures.DRAWN, 1, ""),
        Figure("elphinstone-3", "P", "Figure 3", "IPC", ("ipc",), "ratios", MODELLED, 1, ""),
        Figure("peters-1", "Q", "Figure 1", "IPC", ("ipc",), "ratios", MODELLED, 1, ""),
    )
    monkeypatch.setattr(command, "FIGURES", three)
    monkeypatch.setattr(work, "command", lambda task: runs.made.append(task.name) or [
        sys.executable, "-c", f"import pathlib; pathlib.Path({str(task.path)!r}).write_text({json.dumps(documents[task.figure.command[0]])!r})"])  # fmt: skip
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper/elphinstone-3.csv").write_text("lock,one_way\n")
    assert paper(tmp_path) == 0 and runs.made == ["drawing", "elphinstone-3"]
    assert (tmp_path / "paper/peters-1.csv").read_text() == "lock,one_way\n"
    text = (tmp_path / "paper/report.html").read_text()
    assert "Core 0: 1 × network; as published." in text and "published: 1 × Redis, 3 × lwIP." in text
    assert '<data value="1.03">' in text and '<data value="1.1">' in text  # theirs, of either paper


def test_rows_of_several_figures() -> None:
    """of a command that measures rows of several figures, each figure has its own, and none is told by its number
    alone"""
    rows = [page.Point(name, (1.0,)) for name in ("Figure 7: fine / clh", "Peters, Figure 4: throughput",
                                                    "lock service")]
    names = {one.id: [point.name for point in page._own(one, rows)] for one in figures.FIGURES
             if one.id in ("elphinstone-7", "peters-4")}
    assert names == {"elphinstone-7": ["fine / clh", "lock service"], "peters-4": ["throughput", "lock service"]}
    assert page._label("delay between entries on the others, 5 cores").replace("\n",
                                                                               " ") == "delay between entries on the others, 5 cores"


class Reached(Exception):
    """The command has checked what it was told, and would build."""


@pytest.mark.parametrize("one", figures.FIGURES, ids=lambda figure: figure.id)
def test_commands(one: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a figure's command is accepted by the tool"""

    def reached(*_: Any) -> None:
        raise Reached

    monkeypatch.setattr(build, "build_lock", reached)
    try:
        status = main([*one.command, "--json", str(tmp_path / "x.json"), "--quiet"])
    except Reached:
        status = 0
    assert status == 0, one.command


def test_estimate(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """how long it takes is said before, by how long what is done took"""
    todo = work.tasks(FIGURES, tmp_path, 3, {}, False)
    assert work.remaining(todo, 1.0) == "about 7 min" and work.remaining(todo, 20.0) == "about 2.3 h"
    assert work.run(todo, {}, Output()) == []
    said = capsys.readouterr().err
    assert "1 of 4: rows; about 7 min left" in said and "4 of 4: curve-3; about" in said


@pytest.mark.parametrize("words, culprit",
                         [(("nothing",), "nothing: is "), (("--into", "file"), "--into file: is no folder")])
def test_bad_input(words: tuple[str, ...], culprit: str, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                   capsys: pytest.CaptureFixture[str]) -> None:
    """a figure that there is not, a folder that is none"""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert main(["paper", *words]) == 2
    assert culprit in capsys.readouterr().err and not runs.made


def test_state() -> None:
    """results are stale when the sources, the version or the host change"""
    assert {"skerry", "commit", "changes", "cpu", "cores"} == set(work.state())


def test_in_a_pool(runs: Runs, tmp_path: Path) -> None:
    """what is the same on each host runs in a pool, a command once, and its files come back; the rest runs here"""
    twin = replace(FIGURES[0], id="twin")
    broken = Figure("broken", "A paper", "Table 2", "None", ("broken",), "nothing", MODELLED, 1, "")
    tasks = work.tasks([FIGURES[0], twin, FIGURES[1], broken], tmp_path, 1, {"commit": "a"}, False)
    runs.broken = {"broken"}
    failed = work.run(tasks, {"commit": "a"}, Output(quiet=True), Elsewhere())
    assert [(task.name, why) for task, why in failed] == [("broken", "it broke")]
    assert runs.made == ["rows", "broken", "curve"]
    assert [work._is_done(task, {"commit": "a"}) for task in tasks] == [True, True, True, False]
    assert json.loads((tmp_path / "twin.json").read_text()) == json.loads((tmp_path / "rows.json").read_text())
    assert (tmp_path / "broken.log").read_text() == "skerry: it broke\n"


# ---- The papers' figures: the table of all, the sweep over every point of two, the drawing of one. ----


XEON = load("xeon-e5-2683v3")


def cells(table: Table) -> list[list[str]]:
    return [list(row) for row in zip(*(list(column.cells) for column in table.columns), strict=True)]  # type: ignore[arg-type]


def test_figures() -> None:
    """papers' figures: each has a name of its own, and a command that takes these words"""
    assert len({one.id for one in ALL_FIGURES}) == len(ALL_FIGURES)
    wanted = {"elphinstone-table-1", *(f"elphinstone-{n}" for n in (3, 4, 5, 6, 7)),
              *(f"peters-{n}" for n in (1, 2, 3, 4)), *(f"uhlig-{n}" for n in (6, 7, 8))}
    assert wanted < {one.id for one in ALL_FIGURES} and not wanted & set(NOT_MEASURED)
    for one in ALL_FIGURES:
        assert one.kind in KINDS and one.minutes > 0 and figure(one.id) is one
        command, words = get_command(make_app()), list(one.command)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        command.make_context("skerry", [*words, "--json", "r.json", "--quiet"])


@pytest.mark.parametrize(("name", "said"),
                         [("elphinstone-1", "rtm.h"), ("peters-33", "did you mean peters-3"), ("zzz", "peters-3")])
def test_unknown_figure(name: str, said: str) -> None:
    """papers' figures: what is not one is named, with what was meant"""
    with pytest.raises(InputError) as error:
        figure(name)
    assert name in str(error.value) and said in str(error.value)


def points_of(request: Request, service: float = 358.0) -> list[Point]:
    (delay,) = request.delays
    made = []
    for n in request.cores:
        rate = repairman.steady(service * (1 if n <= 14 else 1.3) * request.line_factor, delay, n).throughput
        made.append(Point(request.lock, "spanning", 1, n, delay, round(2_000_000 / rate), "modelled",
                          [{"rounds": 1_000_000}], True, 0, request.line_factor))
    return made


class Host:
    """Counts boots in their place, and ends them after so many."""

    def __init__(self, last: int = 1000) -> None:
        self.booted: list[Request] = []
        self.last = last

    def run(self, calls: Sequence[Call], most: int, on_start: Callable[[int], None]) -> list[Any]:
        found = []
        for at, call in enumerate(calls):
            on_start(at)
            request, path = call.arguments
            if len(self.booted) == self.last:
                raise KeyboardInterrupt
            self.booted.append(request)
            found.append(points_of(request))
            scale_figure.store(path, found[-1])
        return found


@pytest.fixture(autouse=True)
def images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_figure, "_digest", lambda path: path.name)
    monkeypatch.setattr(scale_figure.qemu, "version", lambda: (10, 0))


def test_resumes(tmp_path: Path) -> None:
    """bench scale --figure: a sweep that was ended boots what is missing, and its points are those of one that was
    not"""
    wanted = scale_figure.requests(XEON, ("clh", "fine"), [1, 14, 28], [500.0, 4000.0], (0.5, 1.0))
    assert [request.line_factor for request in wanted] == [1.0] * 4 + [0.5] * 4
    first, second, steps = Host(last=3), Host(), list[str]()
    with pytest.raises(KeyboardInterrupt):
        scale_figure.measure(wanted, steps.append, tmp_path, first.run, lambda: 0.0)
    found = scale_figure.measure(wanted, steps.append, tmp_path, second.run, lambda: 0.0)
    assert len(first.booted) == 3 and len(second.booted) == 5 and any("3 of 8 boots are there" in step
                                                                      for step in steps)
    assert found == [point for request in wanted for point in points_of(request)]
    assert scale_figure.measure(wanted, steps.append, tmp_path, Host(last=0).run) == found
    damaged = scale_figure.place(wanted[0], tmp_path)
    damaged.write_text(damaged.read_text()[:100])
    third = Host()
    assert scale_figure.measure(wanted, steps.append, tmp_path, third.run) == found and third.booted == wanted[:1]


def test_other_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """bench scale --figure: points of another kernel, machine, emulator or line cost are other points"""
    (request,) = scale_figure.requests(XEON, ("clh",), [1], [500.0], (1.0,))
    known = {scale_figure.key(request), scale_figure.key(replace(request, line_factor=2.0)),
             scale_figure.key(replace(request, lock="mcs")),
             scale_figure.key(replace(request, modelled=load("epyc-7402")))}
    monkeypatch.setattr(scale_figure.qemu, "version", lambda: (10, 1))
    known.add(scale_figure.key(request))
    monkeypatch.setattr(scale_figure, "_digest", lambda path: "other")
    assert scale_figure.key(request) not in known and len(known) == 5


def test_estimate_figures() -> None:
    """bench scale --figure: the estimate is by how long the boots so far took"""
    assert Estimate(10, 0.0).text(60.0) == "10 boots to go"
    assert Estimate(10, 0.0, 4).text(120.0) == "4 of 10 boots, about 3 min to go"


def test_beside_the_paper() -> None:
    """bench scale --figure 4: one lock stands beside the paper's fit and bounds, and what is off is marked"""
    wanted = scale_figure.requests(XEON, ("clh",), [1, 14, 28], [500.0, 4000.0], (0.5, 1.0, 2.0))
    points = [point for request in wanted for point in points_of(request)]
    own = [point for point in points if point.line_factor == 1]
    rows = cells(against_paper(own))
    assert [row[0] for row in rows] == ["1", "14", "28"] and "+0%" in rows[1][1] and not any("*" in cell for row in rows
        for cell in row)
    assert "1.63..3.1)" in rows[2][1]
    slow = [point for request in wanted for point in points_of(request, 700.0)]
    assert "*" in cells(against_paper([point for point in slow if point.line_factor == 1]))[1][1]
    said = " ".join(sentences(own, "4"))
    assert (
        "4 of 4 points are within 10%" in said and "2 of 2 points are between its bounds" in said
        and "lower plateau on both sockets: agrees" in said
    )
    assert "[" in str(cells(tables(own, ranges_of(points), "4")[0])[0][1])


def test_by_lock() -> None:
    """bench scale --figure 5: locks stand side by side, and one that does not scale disagrees with the paper"""
    wanted = scale_figure.requests(XEON, ("clh", "fine", "none"), [1, 14, 28], [published.SPANS_SOCKET], (1.0,))
    points = [point for request in wanted for point in points_of(request)]
    rows = cells(tables(points, {}, "5")[0])
    assert rows[0][3] != "-" and rows[2][3] == "-"
    assert "fine" in (said := " ".join(sentences(points, "5"))) and "scales perfectly (Figure 5a): disagrees" in said


@pytest.mark.parametrize(("figure_number", "lock", "said"),
                         [("6", None, "--figure"), ("4", "none", "is not in this figure"),
                          ("5", "big", "is no lock regime")])
def test_refusals(figure_number: str, lock: str | None, said: str) -> None:
    """bench scale --figure: other figures and locks are refused"""
    with pytest.raises(InputError, match=said):
        locks_of(figure_number, lock)
    assert locks_of("4", "mcs,clh") == ("clh", "mcs")


def test_architecture() -> None:
    """bench redis --figure 6: each core has the programs that the paper's has"""
    found = architecture.places()
    assert [place.core for place in found] == [0, 1, 2, 3, 4] and all(place.same for place in found)
    assert cells(architecture.table(found))[1][1:] == ["Redis, 2 x YCSB client, 3 x lwIP"] * 2 + ["yes"]
    found[1].programs[architecture.CLIENT] = 1
    assert not found[1].same and not found[1].to_json()["same"]


def test_idle() -> None:
    """validate: where clients pause, throughput is the same under all locks, and cores idle"""
    def measured(clh: float, busy: int) -> row_groups.MeasureRedis:
        def one(lock: str, cores: int, workload: str, counting: bool) -> RedisPoint:
            point = redis_point(lock, cores, 100.0 * (clh if lock == "clh" else 1.0))
            return replace(point, cores=tuple(replace(core, busy=core.cycles * busy // 1000) for core in point.cores))

        return one

    rows = list(row_groups.idle_rows(measured(1.0, 500)))
    assert len(rows) == 5 and all(row.met for row in rows) and rows[0].reference == papers.PETERS_FIGURE_3.value
    assert [row.met for row in row_groups.idle_rows(measured(2.0, 990))] == [False] * 5
