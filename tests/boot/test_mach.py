# SPDX-License-Identifier: BSD-2-Clause
"""The Mach study's programs, booted: all is counted, and it adds up."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import ROOT
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.mach.measure import Job, Run, Work, measure
from deploy.bench.mach.present import tables
from deploy.deployment.modules import REGIMES
from deploy.emulator import lockstep
from deploy.machine import qemu

LOCKS = [name for name in REGIMES if name != "none"]
MESSAGES, MEMORY = Work.messages(5, 40), Work.memory(3, 8, 2, 2)


def one(lock: str, work: Work, stepped: bool = False) -> Run:
    """measure() fails where anything does not add up."""
    bench = Bench(lockstep.mode(2) if stepped else qemu.TCG_TURNS, Patience(60.0), stepped)
    return measure(Job(lock, 2, work), bench)


@pytest.mark.limit(90)
@pytest.mark.parametrize("lock", LOCKS)
def test_messages(lock: str) -> None:
    """clients of one server: entries, acquisitions or transactions, idle and busy time add up"""
    run = one(lock, MESSAGES)
    total = run.snapshot.total
    assert (run.operations, run.servers) == (200, 1)
    assert total.entries >= 2 * run.operations  # a call and an answer each
    assert total.syscalls >= 2 * run.operations and total.faults == 0
    assert sum(1 for check in run.checks if "idle + busy = wall" in check.what) == 2
    objects = {"endpoint", "notification", "tcb"}
    simple = {"fine": {"run_queue", *objects}, "dynamic": {"kernel", *objects}}.get(lock, {"kernel"})
    assert set(total.simple) == simple and all(lock.instances > 0 for lock in total.simple.values())


@pytest.mark.limit(90)
@pytest.mark.parametrize("lock", ["clh", *(name for name in ("fine", "rtm") if name in LOCKS)])
def test_memory(lock: str) -> None:
    """copies on write by a user-level pager: every page of every task, each round, is a fault"""
    run = one(lock, MEMORY)
    assert (run.operations, run.servers) == (3 * 8 * 2, 2)
    assert run.snapshot.total.faults == run.operations
    assert run.snapshot.total.entries > 8 * run.operations  # what the pager does for one


@pytest.mark.limit(120)
def test_contention() -> None:
    """cores that go in step meet at the lock, and spin"""
    run = one("ticket", Work.messages(6, 30), stepped=True)
    lock = run.snapshot.total.locks["kernel"]
    assert run.clock == "step" and run.time > 0
    assert 0.05 < lock.conflict_ratio < 1 and lock.spins_mean > 1
    assert any("Figure" in str(part) or "Table 3: none" in str(part) for part in tables([run]))


@pytest.mark.limit(200)
def test_command(tmp_path: Path) -> None:
    """bench mach prints the tables and writes JSON and plot"""
    words = ["bench", "mach", "--lock", "clh", "--cores", "2", "--requests", "20", "--pages", "4", "--rounds", "1"]
    done = subprocess.run([str(ROOT / "skerry"), *words, "--accel", "tcg", "--json", "mach.json", "--plot", "mach.png"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for title in ("Table 1", "Table 2", "Table 3", "Table 4", "Emulated"):
        assert title in done.stdout
    results: list[dict[str, Any]] = json.loads((tmp_path / "mach.json").read_text())["results"]
    assert [(r["workload"], r["lock"], r["cores"]) for r in results] == [("mach-messages", "clh", 2),
                                                                         ("mach-memory", "clh", 2)]
    assert all(check["holds"] for r in results for check in r["checks"])
    assert all(r["emulated"] and r["statistics"]["locks"]["kernel"]["acquisitions"] > 0 for r in results)
    assert (tmp_path / "mach.png").read_bytes().startswith(b"\x89PNG")
