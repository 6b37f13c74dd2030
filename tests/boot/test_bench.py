# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench`: what it counts is exact; the Mach study's programs."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import ROOT
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.fork.measure import TITLES
from deploy.bench.ipc import latency
from deploy.bench.ipc.measure import OPERATIONS, Spread, metric
from deploy.bench.ipc.present import FIGURE_RATIOS
from deploy.bench.mach.measure import Job, Run, Work, measure
from deploy.bench.mach.present import tables
from deploy.cli.main import main
from deploy.deployment.modules import REGIMES
from deploy.emulator import lockstep
from deploy.machine import qemu
from tests.boot import ipc_counts
from tests.boot.ipc_counts import counted
from tests.boot.machine import PATIENCE
from tests.boot.test_commands import skerry
from topology.maps.clustermap import FINE

# ---- `skerry bench`: what it counts is exact, so that it may be compared with a number. ----


CONTRACT = [metric(name, "instructions") for name in ("call", "reply_recv", "slow_call", "signal", "yield")]


# Instructions, one way: half of what seL4 takes, and what the slow path and signals may.
BOUNDS = {
    "none": {"call": 120, "reply_recv": 140, "slow_call": 450, "slow_reply_recv": 450, "signal": 250,
             "signal_wait": 235},
    "clh": {"call": 160, "reply_recv": 180, "slow_call": 450, "slow_reply_recv": 450, "signal": 250,
            "signal_wait": 250},
    "ticket": {"call": 165, "reply_recv": 190, "slow_call": 455, "slow_reply_recv": 490, "signal": 250},
    "mcs": {"call": 165, "reply_recv": 190, "slow_call": 455, "slow_reply_recv": 490, "signal": 250},
    "dynamic": {"call": 148, "reply_recv": 172, "slow_call": 490, "slow_reply_recv": 545, "signal": 262,
                "signal_wait": 270},
    "fine": {"call": 170, "reply_recv": 198, "slow_call": 540, "slow_reply_recv": 610, "signal": 300},
}


FINE_BUDGET = 32  # instructions that regime dynamic takes beyond regime fine, while it is fine


@cache
def once(lock: str) -> dict[str, Spread]:
    return counted(lock).spread


@pytest.mark.limit(120)
@pytest.mark.parametrize("lock", REGIMES)
def test_exact(lock: str) -> None:
    """instructions of system calls are the same in every round and every run"""
    first, second = counted(lock), counted(lock, rounds=300)
    assert first.spread == second.spread
    assert set(OPERATIONS) < set(first.spread)
    for name, value in first.spread.items():
        assert value.least == value.median == value.most, f"{name}: {value}"


@pytest.mark.limit(120)
def test_plausible() -> None:
    """what does more takes more instructions"""
    of = {name: value.median for name, value in counted("clh").spread.items()}
    for way in ("call", "reply_recv"):
        names = [way, *(f"{way}_{n}" for n in (1, 2, 3, 4)), *(f"slow_{way}_{n}" for n in (10, 120))]
        lengths = [of[name] for name in names]
        assert lengths == sorted(lengths) and lengths[0] < lengths[1] < lengths[-1]
        assert of[way] < of[f"slow_{way}_0"] and of[way] < of[f"slow_{way}"]
        assert of[f"{way}_same_vspace"] < of[way]
    assert 10 < of["yield"] < of["yield_switch"]
    assert counted("none").spread["call"].median < of["call"]


@pytest.mark.limit(120)
@pytest.mark.parametrize(("lock", "name", "most"),
                         [(lock, *bound) for lock, of in BOUNDS.items() for bound in of.items()])
def test_bounds(lock: str, name: str, most: int) -> None:
    """no system call takes more instructions than it should"""
    assert once(lock)[name].median <= most


@pytest.mark.limit(120)
@pytest.mark.parametrize("name", ipc_counts.columns())
def test_recorded(name: str) -> None:
    """each system call takes exactly as many instructions as recorded (python -m tests.boot.ipc_counts)"""
    assert ipc_counts.counts(ipc_counts.columns()[name]) == ipc_counts.recorded()[name]


FAST = [name for name in OPERATIONS if name.startswith(("call", "reply_recv"))]
FORK_BUDGET = {"fork_instructions": 350_000, "copy_2m_instructions": 300_000, "regain_instructions": 1200,
               "interrupt_rounds": 12}
COARSE_BUDGET = 8  # instructions for the choice, on the fast path


@pytest.mark.limit(120)
@pytest.mark.parametrize("name", FAST)
def test_coarse_budget(name: str) -> None:
    """regime dynamic while coarse takes at most 8 instructions more than clh on the fast path"""
    assert once("clh")[name].median <= once("dynamic")[name].median <= once("clh")[name].median + COARSE_BUDGET


@pytest.mark.limit(120)
def test_fine_dynamic() -> None:
    """regime dynamic while fine: its counts are exact, and near those of regime fine"""
    measured = counted("dynamic", granularity=FINE)
    assert measured.granularity == FINE and counted("dynamic", 300, FINE).spread == measured.spread
    for name in FAST:
        value = measured.spread[name]
        assert value.least == value.median == value.most, f"{name}: {value}"
        assert once("fine")[name].median < value.median <= once("fine")[name].median + FINE_BUDGET


@pytest.mark.limit(200)
def test_command(tmp_path: Path) -> None:
    """bench ipc --icount: table, ratios to the kernel without a lock, JSON, plot"""
    words = ["--icount", "--lock", "clh", "--rounds", "50", "--json", "r.json", "--plot", "r.png"]
    done = skerry("bench", "ipc", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["command"] == "bench ipc"
    none, clh = data["results"]
    assert (none["lock"], clh["lock"]) == ("none", "clh")
    assert (clh["system"], clh["cores"], clh["emulated"]) == ("skerry", 1, True)
    assert set(CONTRACT) <= set(clh["metrics"])
    ratio = data["ratios"][0]
    assert (ratio["of"], ratio["to"]) == ("clh", "none")
    for name in CONTRACT:
        assert ratio["metrics"][name] == clh["metrics"][name] / none["metrics"][name]
    assert ratio["published"] == {"one_way": FIGURE_RATIOS["clh"]} and f"{FIGURE_RATIOS['clh']:.2f}" in done.stdout
    assert all(title in done.stdout for title in OPERATIONS.values())
    assert "Figure 3" in done.stdout and f"{clh['metrics'][CONTRACT[0]]:g}" in done.stdout
    assert (tmp_path / "r.png").stat().st_size > 1000


@pytest.mark.limit(200)
def test_fork(tmp_path: Path) -> None:
    """bench fork: a fork of 100 MiB, copies and what the parent writes behind its child's end take no more than they
    did, and a fork interrupts other cores for many frames at once"""
    done = skerry("bench", "fork", "--json", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    (cost,) = data["results"]
    assert (data["command"], cost["system"], cost["lock"], cost["mib"]) == ("bench fork", "skerry", "clh", 100)
    metrics = cost["metrics"]
    for name, most in FORK_BUDGET.items():
        assert 0 < metrics[name] <= most, f"{name}: {metrics[name]}"
    assert metrics["child_instructions"] > metrics["fork_instructions"]
    assert all(title in done.stdout for title in TITLES.values())


@pytest.mark.limit(200)
def test_command_fine(tmp_path: Path) -> None:
    """bench ipc --granularity fine: regime dynamic is named with it, in the table and in JSON"""
    words = ["--icount", "--lock", "dynamic", "--granularity", "fine", "--rounds", "20", "--json", "r.json", "--plot",
             "r.png"]
    done = skerry("bench", "ipc", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    none, fine = data["results"]
    assert "granularity" not in none and (fine["lock"], fine["granularity"]) == ("dynamic", FINE)
    assert data["ratios"][0]["granularity"] == FINE and "dynamic, fine" in done.stdout
    assert fine["metrics"][CONTRACT[0]] > once("dynamic")["call"].median


REFUSED = [
    (("ipc", "--lock", "clh,foo"), "'foo'"),
    (("ipc", "--plot", "nowhere/x.png"), "--plot"),
    (("ipc", "--rounds", "0"), "--rounds"),
    (("ipc", "--granularity", "medium"), "--granularity"),
    (("ipc", "--granularity", "fine", "--lock", "clh,fine"),
     "--granularity: is for --lock dynamic, not for none,clh,fine"),
    (("ipc", "--local", "--lock", "dynamic"), "--local: needs --granularity fine"),
    (("scale", "--local", "--lock", "dynamic"), "--local: needs --granularity fine"),
]


@pytest.mark.parametrize("words,culprit", REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_refusals(words: tuple[str, ...], culprit: str, capfd: pytest.CaptureFixture[str]) -> None:
    """bench refuses what it cannot do in one line"""
    assert main(["bench", *words]) == 2
    complaint = capfd.readouterr().err
    assert culprit in complaint and len(complaint.splitlines()) == 1


@pytest.mark.limit(120)
def test_latency() -> None:
    """no stretch with the lock held is longer than what the watching thread saw"""
    seen = latency.measure("clh+stat", qemu.tcg_for(1, counted=True), Patience(PATIENCE))
    assert len({one.name for one in seen.operations}) == len(seen.operations) >= 20
    assert 0 < seen.held <= seen.worst
    at_rest = next(one for one in seen.operations if one.name == "nothing")
    assert at_rest.delay < 100
    for one in seen.operations:
        assert one.delay < one.response
        assert one.entries >= 1
        assert one is at_rest or one.delay > at_rest.delay
        assert one.delay < 8_000, one  # docs/security.md, *Length of a kernel entry*
    pages = next(one for one in seen.operations if one.name == "revoke: 512 pages of the space that runs")
    assert pages.entries <= 50  # each entry has all cores forget once, not once for each page
    frame = next(one for one in seen.operations if one.name == "retype: the largest frame")
    assert frame.entries > 1000  # a gigabyte, not the 2 MiB of a small machine


# ---- The Mach study's programs, booted: all is counted, and it adds up. ----


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
def test_command_mach(tmp_path: Path) -> None:
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
