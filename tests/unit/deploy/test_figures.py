# SPDX-License-Identifier: BSD-2-Clause
"""The papers' figures: the table of all, the sweep over every point of two, the drawing of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from typer.main import get_command

from deploy.base.parallel import Call
from deploy.bench.paper.figures import FIGURES, KINDS, NOT_MEASURED, figure
from deploy.bench.redis import architecture
from deploy.bench.redis.measure import Point as RedisPoint
from deploy.bench.scale import figure as scale_figure
from deploy.bench.scale.figure import Estimate, against_paper, locks_of, sentences, tables
from deploy.bench.scale.measure import Point, Request, ranges_of
from deploy.bench.validate import rows as row_groups
from deploy.cli.main import make_app
from deploy.emulator.machine_file import load
from tests.unit.deploy.test_validate import redis_point
from topology.errors import InputError
from topology.model import papers, published, repairman

XEON = load("xeon-e5-2683v3")


def cells(table: Table) -> list[list[str]]:
    return [list(row) for row in zip(*(list(column.cells) for column in table.columns), strict=True)]  # type: ignore[arg-type]


def test_figures() -> None:
    """papers' figures: each has a name of its own, and a command that takes these words"""
    assert len({one.id for one in FIGURES}) == len(FIGURES)
    wanted = {"elphinstone-table-1", *(f"elphinstone-{n}" for n in (3, 4, 5, 6, 7)),
              *(f"peters-{n}" for n in (1, 2, 3, 4)), *(f"uhlig-{n}" for n in (6, 7, 8))}
    assert wanted < {one.id for one in FIGURES} and not wanted & set(NOT_MEASURED)
    for one in FIGURES:
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


def test_estimate() -> None:
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
