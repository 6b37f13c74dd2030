# SPDX-License-Identifier: BSD-2-Clause
"""Comparisons on small machines: counted ones, open loop in modelled time, machines that stand where copies go on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.base.timeouts import Patience
from deploy.cli.main import main
from deploy.compare import runs
from deploy.compare.prices import RUNS, design, groups, repriced
from deploy.deployment import Deployment, Load, Redis, modules, parse
from deploy.deployment.planner import plan
from deploy.emulator import run
from deploy.load import programs
from deploy.load.case import RedisCase, case
from deploy.load.comparison import Comparison, machine as compared
from deploy.load.measure import accelerators, measure, measure_copies, measure_once
from deploy.machine import image, qemu
from deploy.machine.run import Options
from deploy.machine.snapshot import Origin, origin
from deploy.results import serial_log
from deploy.results.result import Result
from tests.boot.machine import PATIENCE, machine
from tests.boot.test_modelled import XEON, busy_host, needs_new, small, small_job
from topology.machines.machine import Shape, default_memory, emulated
from topology.units import GIB, MIB

# ---- Comparisons on small machines: one that nothing follows, counted ones, programs with metrics of their own. ----


SHAPE = Shape(2, 1, GIB)


@pytest.mark.limit(150)
def test_collect(tmp_path: Path) -> None:
    """what a machine with one serial port wrote becomes results, with reports among the console's lines"""
    load = Load(clients=1, records=100, operations=200)
    deployment = Deployment("metal", SHAPE, statistics=True, redis=Redis(heap=64 * MIB), load=load)
    what = plan(deployment, metal=emulated(SHAPE))  # a real machine's plan has no driver for a network card
    with machine(what, extra=("-append", "results=none")) as run:
        run.wait_done()
        log, iso, results = tmp_path / "metal.log", tmp_path / "metal.iso", tmp_path / "results.json"
        text = run.console
        log.write_text(text)
    assert not run.events.events
    image.make_iso(iso, image.contents(what.cluster_map), modules.loader(), notes=serial_log.notes(what))
    command = [sys.executable, "-m", "deploy.cli.main", "collect", str(iso), str(log), "--json", str(results)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(results.read_text())["results"][0]
    assert result["emulated"] and result["metrics"]["operations"] == 200 and result["metrics"]["errors"] == 0
    assert "under TCG" in done.stdout
    log.write_text(text.replace('"event":"done"', '"event":"do'))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "metal.log:" in done.stderr and "has no valid seal" in done.stderr


# ---- Instructions that the emulator counts: the host decides nothing, so the figures are the same ----

RECORDS, OPERATIONS, CLIENTS = 200, 300, 2


@pytest.mark.limit(150)
@pytest.mark.parametrize("layout", ["per-socket", pytest.param("spanning", marks=pytest.mark.drawn)])
def test_counted(layout: str) -> None:
    """two counted runs agree in every figure"""
    job = Comparison(
        shape=compared(2, 2, None, RECORDS, CLIENTS), records=RECORDS, operations=OPERATIONS, clients=CLIENTS
    )
    first, second = (measure(case(job, layout, "a"), qemu.tcg_for(4, counted=True), lambda event: None)
                     for _ in range(2))
    assert first.metrics == second.metrics
    assert first.metrics["ops_per_s"] > 0


# ---- Programs with metrics of their own, on a small modelled machine ----

@needs_new
@pytest.mark.limit(300)
def test_compare_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """modelled machine: `compare --program` has the program's metrics under each layout, their ratios with intervals
    over images and prices, a picture, and what its locks did between the program's barriers"""
    small(tmp_path)
    written = tmp_path / "result.json"
    assert main(["compare", "--program", "wakeups 30", "--machine", str(tmp_path / "small.toml"), "--images", "2",
                 "--json", str(written)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    document = json.loads(written.read_text())
    for result, clusters in zip(document["results"], (2, 1), strict=True):
        assert result["clusters"] == clusters and result["kind"] == "modelled" and len(result["draws"]) == 2
        assert len({priced["wakeups"] for priced in result["priced"]}) == len(result["priced"]) == RUNS
        assert result["of_metrics"]["wakeups"] == {"unit": "wakeups/s", "better": "higher", "programs": 2,
                                                   "combined": "sum"}
        assert result["metrics"]["longest_round"] > 0 and result["observed"]["kernel_entries"] > 2 * 30
    (ratio,) = document["ratios"]
    spread = ratio["images"]["wakeups"]
    assert spread["low"] < spread["median"] < spread["high"] and 0.5 < spread["median"] < 2
    prices = ratio["prices"]["wakeups"]
    assert prices["low"] < spread["median"] < prices["high"] and len(prices["runs"]) == RUNS
    assert "wakeups (wakeups/s): 2 kernels (per-socket) are" in printed and "of acquisitions find the lock" in printed
    assert "at other prices it is" in printed and (tmp_path / "result.png").stat().st_size > 0


@needs_new
@pytest.mark.limit(300)
def test_unmarked_program(tmp_path: Path) -> None:
    """modelled machine: a program that marks no interval is observed from its start to its end, and two runs agree in
    every figure; copies of a machine agree with machines that booted alone, at other prices, too"""
    modelled = small(tmp_path)
    text = '[[program]]\nprogram = "sleep"\ncpu = 1\nargs = ["2", "1000"]\n'
    on = parse(text).on(modelled.shape(modelled.cores, default_memory(2)))
    (one,) = programs.cases(programs.Programs(on, ["spanning"], Patience(PATIENCE), modelled=modelled))
    first = programs.measure_once(one, run.mode(modelled), lambda event: None)
    with busy_host():
        assert programs.measure_once(one, run.mode(modelled), lambda event: None) == first
    (metric,) = first.metrics
    assert metric.name == "slept" and metric.value == pytest.approx(2000, rel=0.05)
    assert first.result.observed and first.result.observed.cycles > 2 * 1e-3 * 1e9 * modelled.ghz
    assert first.result.observed.entries > 10
    dear = one.on(repriced(modelled, {"cpi_user": 1.0})).salted(3)
    copies = programs.measure_copies(one, [one, dear, one], run.mode(modelled), lambda event: None)
    assert copies == [first, programs.measure_once(dear, run.mode(modelled), lambda event: None), first]
    assert copies[1] != first


@needs_new
@pytest.mark.limit(300)
def test_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """modelled machine: two rows of `compare --suite` have ratios with their labels, the control is 1, and runs are
    kept: a second time nothing is booted"""
    small(tmp_path)
    written = tmp_path / "suite.json"
    arguments = ["compare", "--suite", "--rows", "call,no-entry", "--machine", str(tmp_path / "small.toml"), "--images",
                 "2", "--json", str(written)]
    assert main(arguments) == 0
    first, printed = json.loads(written.read_text()), capsys.readouterr()
    assert [(ratio["row"], ratio["label"], ratio["metric"]) for ratio in first["ratios"]] == [
        ("call", "structural", "call"), ("no-entry", "control", "none"),
    ]
    assert first["ratios"][1]["verdict"] == "holds" and "within their interval: no-entry." in printed.out
    assert all(result["metrics"]["call" if result["row"] == "call" else "none"] > 0 for result in first["results"])
    assert (tmp_path / "suite.png").stat().st_size > 0
    assert main(arguments) == 0
    assert "8 of 8 runs are there from before" in capsys.readouterr().err
    assert json.loads(written.read_text())["ratios"] == first["ratios"]


# ---- Open loop on a small modelled machine: operations arrive at a rate, in modelled time. ----


def measured(one: RedisCase) -> Result:
    assert one.job.modelled
    return runs.run_once(one, run.mode(one.job.modelled), lambda event: None)


@needs_new
@pytest.mark.limit(300)
def test_rates(tmp_path: Path) -> None:
    """modelled machine: arrivals are kept where the machine can, and sleeping until one costs it little; beyond what a
    closed loop does, the rate is the closed loop's and latencies grow; the host's load changes no digit"""
    job = replace(small_job(tmp_path), operations=150, warm=10)
    closed = case(job, "per-socket", "c")
    most = measured(closed.salted(1))
    clients = sum(app.program == "ycsb" for app in closed.plan.cluster_map.applications)
    each = most.metrics["ops_per_s"] / clients
    calm, over = (closed.at_rate(round(share * each), 1) for share in (0.2, 1.5))
    low, high = measured(calm), measured(over)
    with busy_host():
        assert measured(calm).metrics == low.metrics
    assert low.metrics["offered_ops_per_s"] == pytest.approx(0.2 * most.metrics["ops_per_s"], rel=1e-3)
    assert low.metrics["ops_per_s"] == pytest.approx(low.metrics["offered_ops_per_s"], rel=0.3)  # Poisson's, of 300
    assert low.metrics["pace_ratio"] == pytest.approx(1, abs=0.02)
    assert low.metrics["p50_us"] < 1.5 * most.metrics["p50_us"]
    assert high.metrics["pace_ratio"] == pytest.approx(1 / 1.5, rel=0.2)
    assert high.metrics["ops_per_s"] == pytest.approx(most.metrics["ops_per_s"], rel=0.1)
    assert high.metrics["p99_us"] > 10 * most.metrics["p99_us"]


@needs_new
@pytest.mark.drawn
@pytest.mark.limit(300)
def test_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """modelled machine: `compare --open-loop` has latencies of both layouts over loads up to saturation, and draws
    them"""
    small(tmp_path)
    written = tmp_path / "result.json"
    assert main(["compare", "--open-loop", "--machine", str(tmp_path / "small.toml"), "--quick", "--operations", "60",
                 "--clients", "1", "--json", str(written), "--plot", str(tmp_path / "plot.svg")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    found = json.loads(written.read_text())["open_loop"]
    assert [layout["layout"] for layout in found["layouts"]] == ["per-socket", "spanning"]
    for layout in found["layouts"]:
        p99 = [point["p99_us"] for point in layout["points"]]
        assert len(p99) == 4 and p99[0] < p99[-1]
        assert not layout["points"][0]["saturated"] and all(len(point["draws"]) == 2 for point in layout["points"])
    assert any(layout["points"][-1]["saturated"] for layout in found["layouts"])
    assert "p99 is within" in printed and "saturated" in printed
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")


# ---- Modelled machines that stand where copies of them go on. ----


@needs_new
@pytest.mark.limit(300)
def test_copies(tmp_path: Path) -> None:
    """modelled machine: copies that go on from the load's begin give every digit of whole runs with their salts and
    prices"""
    whole = case(small_job(tmp_path), "per-socket", "c")
    accel, _ = accelerators(whole.job, "auto", False)
    dear = runs.priced(whole, design(groups(XEON))[:1])[runs.Setting(prices=1)]
    first, second = (measure_once(one, accel, lambda event: None) for one in (whole.salted(2), dear))
    assert first.metrics["ops_per_s"] != second.metrics["ops_per_s"]
    assert measure_copies(whole, [whole.salted(2), dear, whole.salted(2)], accel, lambda event: None) == [
        first, second, first]


@contextmanager
def standing(whole: RedisCase) -> Iterator[Origin]:
    """A machine that stands where its load begins."""
    accel, _ = accelerators(whole.job, "auto", False)
    assert whole.job.modelled
    with run.marks(whole.job.modelled, whole.plan, priced=run.LOAD, copied=True) as marks, origin(
            whole.plan, Options(accel, whole.job.timeout, "kernel", extra=marks.arguments), marks.snapshot) as machine:
        yield machine


@needs_new
@pytest.mark.limit(300)
def test_interrupt(tmp_path: Path) -> None:
    """modelled machine: nothing is left of a machine and its copy where a run is interrupted"""
    whole = case(small_job(tmp_path), "per-socket", "c")
    with pytest.raises(KeyboardInterrupt), standing(whole) as machine, machine.copy(1, "") as copy:
        pids, folders = (machine.machine.pid, copy.pid), (machine.machine.directory, copy.directory)
        assert all(Path("/proc", str(pid)).exists() for pid in pids)
        raise KeyboardInterrupt
    assert not any(Path("/proc", str(pid)).exists() for pid in pids)
    assert not any(folder.exists() for folder in folders)


@needs_new
@pytest.mark.limit(300)
def test_lost_machine(tmp_path: Path) -> None:
    """modelled machine: a copy ends with the machine that it is of, and neither it nor another is waited for"""
    whole = case(small_job(tmp_path), "per-socket", "c")
    with standing(whole) as machine:
        with pytest.raises(Failure, match="ended by SIGKILL"), machine.copy(1, "") as copy:
            os.kill(machine.machine.pid, signal.SIGKILL)
            copy.wait_done()
        with pytest.raises(Failure, match="has ended"), machine.copy(1, ""):
            pass


@needs_new
@pytest.mark.limit(300)
def test_bad_prices(tmp_path: Path) -> None:
    """modelled machine: prices of another machine are refused, by the name of their file"""
    whole = case(small_job(tmp_path), "per-socket", "c")
    with standing(whole) as machine, pytest.raises(Failure, match="prices: is of another machine"), machine.copy(
            1, XEON.plugin_text(whole.plan.machine.memory)) as copy:
        copy.wait_done()
