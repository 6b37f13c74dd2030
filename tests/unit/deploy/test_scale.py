# SPDX-License-Identifier: BSD-2-Clause
"""Scaling, and lines fitted to it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich import box
from rich.console import Console
from rich.table import Table

from deploy.base.paths import ROOT
from deploy.base.table_layout import parts
from deploy.bench.scale import measure as scale
from deploy.bench.scale.fit import fits, models
from deploy.bench.scale.present import plot_scale, tables
from deploy.cli import main
from deploy.results.result import document
from topology.model import measured, repairman

# ---- `skerry bench scale` without a machine: what becomes of points, and what is refused ----

SERVICE, OUTSIDE, TIME = 80.0, 90.0, 1_000_000_000


def point(cores: int, delay: float, lock: str = "clh", clusters: int = 1) -> scale.Point:
    """Returns a point as the machine repairman would measure it, but for rounding."""
    throughput = clusters * repairman.steady(SERVICE, delay + OUTSIDE, cores // clusters).throughput
    rounds = round(TIME * throughput / cores / scale.ENTRIES)
    core = {"rounds": rounds, "drawn": round(2 * rounds * delay), "idle": 0, "entries": 0, "acquisitions": 0,
            "conflicts": 0}
    per_core = [core | {"cluster": n * clusters // cores, "cpu": n, "fallbacks": 0} for n in range(cores)]
    layout = "spanning" if clusters == 1 else "per-socket"
    return scale.Point(lock, layout, clusters, cores, delay, TIME, "step", per_core, emulated=True)


POINTS = [point(n, delay) for delay in (200.0, 4000.0) for n in (1, 2, 4, 8)]
FIGURE_5 = POINTS + [point(n, 4000.0, "mcs") for n in (1, 2, 4, 8)] + [point(1, 4000.0, "none")]


def text_of(points: list[scale.Point]) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        for table in tables(points, fits(points)):
            console.print(table)
    return capture.get()


def test_metrics() -> None:
    """throughput is kernel entries in a cycle, two for each round trip"""
    one = point(1, 1000.0)
    assert one.metrics["throughput_per_cycle"] == pytest.approx(1 / (SERVICE + OUTSIDE + 1000), rel=1e-5)
    assert one.metrics["drawn_delay_cycles"] == pytest.approx(1000, rel=1e-3)
    assert one.metrics["kernel_entries"] == 2 * one.metrics["round_trips"]
    assert sum(c["throughput_per_cycle"] for c in one.to_json()["per_core"]) == one.metrics["throughput_per_cycle"]


def test_model_fit_reads_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """the results file goes into `model fit`, which finds service and delay again"""
    path = tmp_path / "scale.json"
    path.write_text(json.dumps(document("bench scale", {}, [], [one.to_json() for one in POINTS])))
    assert [(c.lock, c.nominal_delay, c.emulated, c.sizes) for c in measured.read(path)] == [
        ("clh", 200.0, True, 4),
        ("clh", 4000.0, True, 4),
    ]
    assert main.main(["model", "fit", str(path), "--json", "-"]) == 0
    for result in json.loads(capsys.readouterr().out)["results"]:
        metrics = result["metrics"]
        assert metrics["service_cycles"] == pytest.approx(SERVICE, rel=0.01)
        assert metrics["delay_cycles"] == pytest.approx(metrics["nominal_delay_cycles"] + OUTSIDE, rel=0.01)


def test_clusters_count_as_one_of_them() -> None:
    """two clusters of four cores are two points of a curve of four"""
    both, one = point(8, 200.0, clusters=2), point(4, 200.0)
    assert both.throughput == pytest.approx(2 * one.throughput, rel=1e-4)
    (curve,) = [f.curve for f in fits([point(2 * n, 200.0, clusters=2) for n in (1, 2, 4, 8)]).values()]
    assert sorted(n for n, _ in curve.points) == [1, 2, 4, 8]


def test_one_service_explains_all_delays() -> None:
    """the service of the delay that determines it best predicts the others, as in the paper"""
    found = fits(POINTS)
    model = models(found)["clh"]
    assert model.form.service == pytest.approx(SERVICE, rel=0.01) and model.outside == pytest.approx(OUTSIDE, abs=2)
    for (_, delay), fit in found.items():
        assert model.worst(fit.curve) < 0.005
        assert model.throughput(delay, 8) == pytest.approx(point(8, delay).throughput, rel=0.005)


def test_tables() -> None:
    """every point stands in a table; a table of all locks only where there are several"""
    text = text_of(POINTS)
    assert all(f"{1000 * one.throughput:.3f}" in text for one in POINTS)
    assert "Figure 4" in text and "Figure 5" not in text and "emulated" in text
    text = text_of(FIGURE_5)
    assert "Figure 5" in text and "Delay 4000" in text and "Delay 200" not in text  # which mcs does not have
    assert all(f"{1000 * one.throughput:.3f}" in text for one in FIGURE_5)


def test_ranges() -> None:
    """the table explains ranges where it has some: not with --quick"""
    points = [replace(one, clock="modelled") for one in POINTS]
    for ranged in ({}, {scale.key_of(points[0]): (0.001, 0.002)}):
        table = tables(points, fits(points), ranged)[-1]
        assert ("in brackets" in str(table.caption)) == bool(ranged) and "modelled machine" in str(table.caption)


def test_figure_5() -> None:
    """of the delays that there are, those next to 500 and 4,000"""
    assert scale.figure_5_delays([125, 500, 1000, 4000, 8000]) == [500, 4000]
    assert scale.figure_5_delays([300, 800]) == [300, 800]
    assert scale.figure_5_delays([100, 200]) == [200]


def test_plot(tmp_path: Path) -> None:
    """one panel or two, in a file that was asked for"""
    for number, points in enumerate((POINTS, FIGURE_5, [point(1, 500.0)])):
        plot_scale(points, fits(points), "a mode", tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 1000


BAD = [
    (["--cores", "0"], "--cores"),
    (["--cores", "4..2"], "--cores"),
    (["--cores", "1..1025"], "--cores"),
    (["--cores", "two"], "'two'"),
    (["--delays", "0"], "--delays"),
    (["--delays", "500,x"], "'x'"),
    (["--delays", "12.5"], "12.5"),
    (["--delays", "2000000"], "2e+06"),
    (["--lock", "clh,foo"], "'foo'"),
    (["--rounds", "1"], "--rounds"),
    (["--sockets", "3", "--cores", "4"], "--sockets"),
    (["--sockets", "2", "--cores", "1..4", "--layout", "per-socket"], "--cores"),
    (["--layout", "rings"], "'rings'"),
    (["--layout", str(ROOT / "tests/unit/topology/good.dts")], "a map says itself what runs"),
    (["--stat", "--sockets", "2", "--layout", "per-socket"], "--stat"),
    (["--native", "--layout", "per-socket"], "--layout"),
    (["--native", "--icount"], "--icount"),
    (["--accel", "foo"], "'foo'"),
    (["--accel", "kvm", "--icount"], "--icount"),
    (["--plot", "nowhere/x.png"], "nowhere"),
    (["--json", "nowhere/x.json"], "nowhere"),
]


@pytest.mark.parametrize(("words", "culprit"), BAD,
                         ids=[" ".join(words).replace(f"{ROOT}/", "") for words, _ in BAD])
def test_refused(words: list[str], culprit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """bad input: one line with the culprit, exit status 2"""
    assert main.main(["bench", "scale", *words]) == 2
    error = capsys.readouterr().err
    assert culprit in error and len(error.splitlines()) == 1


# ---- Wide tables in narrow terminals ----

ROWS = ("Call, no words", "One way: half a round trip, of 100 in a row")
VALUES = ["67.7 [66.4..71.2]", "1.033"]


def wide(columns: int) -> Table:
    table = Table(title="Cycles", caption="Medians.", title_justify="left")
    table.add_column("")
    for number in range(columns):
        table.add_column(f"regime-{number}", justify="right")
        table.add_column(f"/ none{number}", justify="right")
    for row in ROWS:
        table.add_row(row, *VALUES * columns, end_section=row == ROWS[0])
    return table


def printed(table: Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    for part in parts(table, console):
        console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("width", [60, 80, 150])
def test_split(width: int) -> None:
    """a table that is too wide comes in parts: each names the rows, no word is cut off, every column is there once"""
    text = printed(wide(7), width)
    assert "…" not in text and max(map(len, text.splitlines())) <= width, text
    assert text.count("Cycles") == 1 and text.count("Medians.") == 1
    many = text.count("Call, no") + text.count("Call,  ")
    assert many == len(parts(wide(7), Console(width=width, file=io.StringIO()))) > 1
    for number in range(7):
        assert text.count(f"regime-{number}") == 1 and text.count(f"none{number}") == 1
    assert text.count("[66.4..71.2]") == text.count("67.7 ") == 7 * len(ROWS) and text.count("1.033") == 7 * len(ROWS)
    assert text.count("├") == many  # the line between the sections


def test_whole() -> None:
    """one that fits is left as it is, and so is one that has nothing to leave out"""
    console = Console(width=80, file=io.StringIO())
    fits, hopeless = wide(1), Table("", "x" * 100, box=box.SIMPLE)
    assert parts(fits, console) == [fits]
    hopeless.add_row("a", "b")
    assert [part.columns[1].header for part in parts(hopeless, console)] == ["x" * 100]


def test_row_names() -> None:
    """the columns up to one without a header name the rows, and stand in each part"""
    table = Table("delay", "cores", "", *(f"{'long' * 6}{n}" for n in range(4)))
    table.add_row("125", "2", "clh", *"abcd")
    found = parts(table, Console(width=60, file=io.StringIO()))
    assert len(found) == 4 and all([str(c.header) for c in part.columns][:3] == ["delay", "cores", ""]
                                   for part in found)
