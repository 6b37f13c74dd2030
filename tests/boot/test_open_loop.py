# SPDX-License-Identifier: BSD-2-Clause
"""Open loop on a small modelled machine: operations arrive at a rate, in modelled time."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.cli.main import main
from deploy.compare import runs
from deploy.emulator import run
from deploy.load.case import RedisCase, case
from deploy.results.result import Result
from tests.boot.test_modelled import busy_host, needs_new, small, small_job


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
