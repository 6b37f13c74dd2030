# SPDX-License-Identifier: BSD-2-Clause
"""Programs with metrics of their own, compared on a small modelled machine."""

import json
from pathlib import Path

import pytest

from deploy.base.timeouts import Patience
from deploy.cli.main import main
from deploy.compare.images import QUICK_IMAGES
from deploy.deployment import parse
from deploy.emulator import run
from deploy.load import programs
from tests.boot.machine import PATIENCE
from tests.boot.test_modelled import busy_host, needs_new, small
from topology.machines.machine import default_memory


@needs_new
@pytest.mark.limit(300)
def test_compare_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """modelled machine: `compare --program` has the program's metrics under each layout, their ratios with an interval,
    and what its locks did between the program's barriers"""
    small(tmp_path)
    written = tmp_path / "result.json"
    assert main(["compare", "--program", "wakeups 30", "--machine", str(tmp_path / "small.toml"), "--quick",
                 "--json", str(written)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    document = json.loads(written.read_text())
    for result, clusters in zip(document["results"], (2, 1), strict=True):
        assert result["clusters"] == clusters and result["kind"] == "modelled" and len(result["draws"]) == QUICK_IMAGES
        assert result["of_metrics"]["wakeups"] == {"unit": "wakeups/s", "better": "higher", "programs": 2,
                                                   "combined": "sum"}
        assert result["metrics"]["longest_round"] > 0 and result["observed"]["kernel_entries"] > 2 * 30
    (ratio,) = document["ratios"]
    spread = ratio["images"]["wakeups"]
    assert spread["low"] < spread["median"] < spread["high"] and 0.5 < spread["median"] < 2
    assert "wakeups (wakeups/s): 2 kernels (per-socket) are" in printed and "of acquisitions find the lock" in printed


@needs_new
@pytest.mark.limit(300)
def test_unmarked_program(tmp_path: Path) -> None:
    """modelled machine: a program that marks no interval is observed from its start to its end, and two runs agree in
    every figure"""
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


@needs_new
@pytest.mark.limit(300)
def test_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """modelled machine: two rows of `compare --suite` have ratios with their labels, the control is 1, and runs are
    kept: a second time nothing is booted"""
    small(tmp_path)
    written = tmp_path / "suite.json"
    command = ["compare", "--suite", "--rows", "call,no-entry", "--machine", str(tmp_path / "small.toml"), "--images",
               "2", "--json", str(written)]
    assert main(command) == 0
    first, printed = json.loads(written.read_text()), capsys.readouterr()
    assert [(ratio["row"], ratio["label"], ratio["metric"]) for ratio in first["ratios"]] == [
        ("call", "structural", "call"), ("no-entry", "control", "none"),
    ]
    assert first["ratios"][1]["verdict"] == "holds" and "within their interval: no-entry." in printed.out
    assert all(result["metrics"]["call" if result["row"] == "call" else "none"] > 0 for result in first["results"])
    assert (tmp_path / "suite.png").stat().st_size > 0
    assert main(command) == 0
    assert "8 of 8 runs are there from before" in capsys.readouterr().err
    assert json.loads(written.read_text())["ratios"] == first["ratios"]
