# SPDX-License-Identifier: BSD-2-Clause
"""Benchmarks on this machine's own cores: whether what they count is right. How fast anything is, decides nothing."""

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.bench.native import (
    host as native_host,
    lock as native_lock,
    measure as native,
    present as native_present,
    runs as native_runs,
    scale as native_scale,
)
from deploy.bench.native.host import Parallel, Processors
from deploy.cli import main
from deploy.deployment.modules import REGIMES
from deploy.results.result import document
from topology.errors import InputError
from topology.machines.survey import Processor, Survey
from topology.model import fit, measured, repairman

SHORT = 10_000_000  # cycles of a window
CPUS = sorted(os.sched_getaffinity(0))
USABLE = Processors(tuple(CPUS), len(CPUS))
QUIET = Output(quiet=True)
LOCKS = [lock for lock in REGIMES if lock != "none"]
several = pytest.mark.skipif(len(CPUS) < 2, reason="needs two processors, and this process has one")


def most(lock: str) -> int:
    """Threads to try it with."""
    return 1 if lock == "none" else min(3, len(CPUS))


def run(kernel: str, bench: str, cores: int, **options: int) -> dict[str, Any]:
    """Fails where exclusion or statistics do not add up."""
    return native_runs.run_program(
        native_runs.of_kernel(kernel), bench, cpus=USABLE.listed(cores), **{"window": SHORT} | options
    )


@pytest.mark.parametrize("lock", REGIMES)
def test_exclusion(lock: str) -> None:
    """natively: as many entries are counted behind each lock as were made, and by the kernel that counts"""
    for kernel in (lock, f"{lock}+stat"):
        found = run(kernel, "contended", most(lock), section=0, delay=0, lines=1, exclusive=3)
        assert found["counter"] == found["all_entries"] > 0
        assert ("counted" in found) == kernel.endswith("+stat")
    assert found["counted"]["entries"] == found["all_entries"]


@several
def test_no_exclusion() -> None:
    """natively: that there is no lock is noticed"""
    with pytest.raises(Failure, match="does not exclude"):
        run("none", "contended", 2, nap=2000, window=250_000_000)


@pytest.mark.parametrize("lock", REGIMES)
def test_ping_pong(lock: str) -> None:
    """natively: every core's ping-pong gets on, and entries are those that the kernel counts"""
    for cores in sorted({1, min(2, len(CPUS))}):
        found = run(f"{lock}+stat", "scale", cores, delay=1000)
        assert len(found["per_core"]) == cores and all(core["entries"] for core in found["per_core"])
        assert found["counted"]["entries"] == found["all_entries"] >= found["entries"]
        assert found["clusters"] == (cores if lock == "none" else 1)


@several
def test_shared_lines() -> None:
    """natively: what cannot be taken back, and what no cache holds, is excluded, too"""
    for lock in LOCKS:
        run(f"{lock}+stat", "contended", 2, irrevocable=1, section=0, delay=0)
        run(f"{lock}+stat", "contended", 2, lines=5000, section=0, delay=0)


STATISTICS = {
    "regime": "rtm",
    "all_entries": 10,
    "counter": 10,
    "counted": {
        "entries": 10,
        "locks": {"kernel": {"acquisitions": 3, "conflicts": 1, "spins": 5, "wait": 9, "hold": 30}},
        "transactions": {"begun": 11, "committed": 7, "fallbacks": 3, "aborted": {"conflict": 4, "other": 0}},
    },
}


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        (("counter",), 9, "does not exclude"),
        (("counted", "entries"), 9, "the kernel counted 9"),
        (("counted", "locks", "kernel", "acquisitions"), 4, "taken 4 times, not 3"),
        (("counted", "locks", "kernel", "conflicts"), 4, "more conflicts"),
        (("counted", "transactions", "committed"), 8, "are not 10 entries"),
        (("counted", "transactions", "aborted", "other"), 1, r"committed \+ aborted"),
        (("regime",), "clh", "taken 3 times, not 10"),
        (("regime",), "none", "taken 3 times, not 0"),
        (("regime",), "fine", "taken 3 times, not 10"),
    ],
)
def test_sums(place: tuple[str, ...], value: Any, complaint: str) -> None:
    """natively: counts that do not add up are a failure"""
    native_runs.check_counts("x", STATISTICS)
    wrong: Any = copy.deepcopy(STATISTICS)
    inner = wrong
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(Failure, match=complaint):
        native_runs.check_counts("x", wrong)


def test_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """natively: bench lock, ipc and scale write results of the contract's shape, with median, range and host"""
    monkeypatch.setattr(native, "ensure_built", lambda output, needed: None)
    plot = str(tmp_path / "plot.png")
    cores = f"1,{min(2, len(CPUS))}"
    for arguments, metrics in (
        (("lock", "--cores", cores, "--entries", "1"), {"enter_exit_cycles", "throughput_per_cycle", "p99_cycles"}),
        (("ipc", "--native", "--rounds", "50"), {"call_kernel_cycles", "one_way_kernel_cycles"}),
        (
            ("scale", "--native", "--cores", cores, "--delays", "4000", "--lock", "none,clh"),
            {"throughput_per_cycle", "delay_cycles"},
        ),
    ):
        runs = () if arguments[0] == "scale" else ("--runs", "1")
        locks = () if "--lock" in arguments else ("--lock", "clh")
        status = main.main(["bench", *arguments, *runs, *locks, "--plot", plot, "--json", "-"])
        printed = capsys.readouterr()
        assert status == 0, printed.err
        data = json.loads(printed.out)
        assert data["command"] == f"bench {arguments[0]}" and data["host"]["tsc_hz"] > 0 and "parallel" in data["host"]
        assert metrics <= {name for entry in data["results"] for name in entry["metrics"]}
        for entry in data["results"]:
            assert entry["emulated"] is False and entry["system"] == "skerry" and entry["lock"] in ("none", "clh")
            for name, (least, greatest) in entry["min_max"].items():
                assert least <= entry["metrics"][name] <= greatest
        assert Path(plot).stat().st_size > 0


def test_fit_reads_it(tmp_path: Path) -> None:
    """natively: skerry model fit reads bench scale's results: what runs, and a machine of eight cores"""
    real = native_scale.measure({"clh": [2000.0], "none": [2000.0]}, [1, most("clh")], 10, Parts(QUIET), 1, USABLE)
    path = tmp_path / "scale.json"
    path.write_text(json.dumps(document("bench scale", {}, [], real)))
    for curve in measured.read(path):
        assert curve.nominal_delay == 2000 and not curve.emulated
        assert {cores for cores, _ in curve.points} == ({1} if curve.lock == "none" else {1, most("clh")})

    ideal = []
    for cores in range(1, 9):
        entries = round(1e9 * repairman.steady(358, 2000, cores).throughput)
        runs = native_runs.Runs([{"entries": entries, "window": 10**9, "outside": 2000.0, "inside": 400.0,
                                  "per_core": []}])
        ideal.append(native_scale._result("clh", 2000, cores, runs, {}))
    path.write_text(json.dumps(document("bench scale", {}, [], ideal)))
    (curve,) = measured.read(path)
    found = fit.fit(curve)
    assert found.service.value == pytest.approx(358, rel=0.01) and found.delay.value == pytest.approx(2000, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("lock", "--cores", "1024"), "--cores: 1024 threads"),
        (("lock", "--cores", "0"), "--cores"),
        (("lock", "--lock", "clh,spin"), "--lock: 'spin'"),
        (("lock", "--delay", "soon"), "--delay"),
        (("scale", "--native", "--cores", "1024"), "--cores: 1024 threads"),
        (("ipc", "--native", "--icount"), "--native"),
        (("ipc", "--native", "--granularity", "fine"), "--native: measures kernels as they start"),
        (("ipc", "--native", "--lock", "spin"), "--lock: 'spin'"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """natively: what cannot be is refused in a line"""
    assert main.main(["bench", *arguments]) == 2
    said = capsys.readouterr().err.strip()
    assert complaint in said and "\n" not in said


def test_program_refuses() -> None:
    """natively: the programs refuse processors that are not there, and one twice"""
    for cpus in ("4000", f"{CPUS[0]},{CPUS[0]}", "a", ""):
        with pytest.raises(Failure, match="cpus"):
            native_runs.run_program(native_runs.CORES, cpus=cpus)
    with pytest.raises(Failure, match="no such option"):
        native_runs.run_program(native_runs.CORES, colour=1)


def test_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """natively: threads go to one processor of each core first, a socket before the next"""
    both = [Processor(number, socket=core // 2, core=core, l3=None, node=0) for core in range(4)
            for number in (core, core + 4)]
    monkeypatch.setattr(native_host, "survey_live", lambda: Survey("x", both))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 2, 3, 5, 6, 7})
    found = native_host.processors()
    assert found == Processors((1, 2, 3, 5, 6, 7), 3)
    assert not found.share_cores(3) and found.share_cores(4)
    native_host.check_count(6, found)
    with pytest.raises(InputError, match="7 threads"):
        native_host.check_count(7, found)


def test_verdict() -> None:
    """natively: cores that do not run at the same time are said not to, and what was measured is labelled"""
    pair = {"from": 0, "to": 1, "batches": 9, "median": 140.0}
    look = {"overlap": 0.97, "transfer": [pair], "tsc_hz": 1e9, "privileged": True}
    assert Parallel([look, look], 2).real
    for poor in (look | {"overlap": 0.5}, look | {"transfer": [pair | {"batches": 0}], "overlap": 0.97}):
        shaky = Parallel([poor, look] if poor["overlap"] < 0.9 else [poor], 2)
        assert not shaky.real and "nothing about contention" in shaky.verdict
    assert Parallel([look | {"overlap": 0.1}], 1).real
    far = look | {"transfer": [pair | {"median": 640.0}]}
    moved = Parallel([look], 2, [far])
    assert moved.moved and moved.real and "compare with care" in moved.verdict and not Parallel([far, far], 2).moved


def test_disturbed() -> None:
    """natively: runs that had to share a processor count only where there are not enough others"""
    runs = native_runs.Runs([{"x": 1.0}, {"x": 2.0}, {"x": 4.0}], [{"x": 100.0}])
    assert runs.spread(lambda r: r["x"]) == native_runs.Spread(2.0, 1.0, 4.0)
    runs = native_runs.Runs([{"x": 1.0}], [{"x": 100.0}, {"x": 50.0}])
    assert runs.spread(lambda r: r["x"]).median == 50.0


def test_label() -> None:
    """natively: rtm without transactions is called what it is"""
    runs = native_runs.Runs([{"no_transactions": "none here"}])
    entry = native_runs.entry("rtm", "scale", 1, runs, {})
    assert native_runs.name_of(entry) == "rtm (as clh)" and entry["no_transactions"] == "none here"
    assert native_runs.counted_metrics(STATISTICS)["fallback_ratio"] == 0.3


def test_no_negative_zero() -> None:
    """natively: what is a little less than nothing is shown as nothing"""
    entry = {"metrics": {"x": -0.01}, "min_max": {"x": (-0.04, 0.02)}}
    assert native_present.spread(entry, "x") == "0.0 [0.0..0.0]" and native_present.spread(entry, "x", 1,
        2) == "-0.01 [-0.04..0.02]"


def test_aborts(capsys: pytest.CaptureFixture[str]) -> None:
    """natively: why transactions aborted is a row for each provocation, a column for each cause"""
    provoked = {what: native_runs.counted_metrics(STATISTICS) for what in native_lock.PROVOKED}
    Output(quiet=True).table(native_present.aborts(provoked))
    rows = [line for line in capsys.readouterr().out.splitlines() if "0.400" in line]
    assert [row.split()[1] for row in rows] == ["capacity", "conflict", "explicit", "interrupt"]
    assert all("30.0%" in row for row in rows)
