# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench redis`: small, and with cores in step, so that a busy host changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.boot.test_commands import skerry


@pytest.mark.limit(180)
def test_redis(tmp_path: Path) -> None:
    """two stacks on two cores: what was counted adds up, and lwIP apart means more kernel entries"""
    words = ["--lock", "clh", "--cores", "2", "--stack", "process,inproc", "--records", "100", "--operations", "100"]
    words += ["--no-pong", "--accel", "tcg", "--json", "r.json", "--plot", "r.png"]
    done = skerry("bench", "redis", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    apart, inside = ({"stack": entry["stack"], **entry["metrics"]} for entry in results)
    assert (apart["stack"], inside["stack"]) == ("process", "inproc")
    assert apart["operations"] == inside["operations"] == 200 and not apart["errors"] + inside["errors"]
    assert apart["kernel_entries_per_op"] > 1.3 * inside["kernel_entries_per_op"]
    assert apart["instructions_per_op"] > inside["instructions_per_op"]
    assert apart["memory_of_stack"] > 0 and "memory_of_stack" not in inside
    for entry in results:
        m = entry["metrics"]
        assert entry["emulated"] and entry["clock"] == "step"
        assert m["ops_per_mcycle_over_utilisation"] == pytest.approx(m["ops_per_mcycle"] / m["cpu_utilisation"])
        cycles = 1e6 * m["operations"] / m["ops_per_mcycle"]
        busy = sum(c["kernel_entries"] * (c["delay_cycles"] + c["kernel_cycles_per_entry"]) for c in entry["per_core"])
        assert busy == pytest.approx(m["instructions_per_op"] * m["operations"])
        assert busy <= len(entry["per_core"]) * cycles * 1.01
    assert (tmp_path / "r.png").stat().st_size > 10_000
