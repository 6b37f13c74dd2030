# SPDX-License-Identifier: BSD-2-Clause
"""Tests the map of a comparison: what is run and what is kept, its ratios, its picture."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.base.parallel import Call
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.compare import map, map_plot
from deploy.compare.closed import Run
from deploy.compare.map import LOADS, Asked
from deploy.emulator.machine_file import PAPERS, load
from deploy.load.case import RedisCase

from .test_closed import FIRST, HERTZ, REDIS, SECOND

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
