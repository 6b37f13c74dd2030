# SPDX-License-Identifier: BSD-2-Clause
"""The Linux guest, and a profile of it."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Load, Redis
from deploy.load.linux_guest import Options, build_guest, measure
from deploy.machine import qemu
from deploy.machine.image import DirectBoot
from topology.machines.machine import Shape

# ---- The Linux guest boots, serves, and its measurement is whole ----

LOAD = Load(clients=2, workload="a", records=200, operations=300)
DEPLOYMENT = Deployment(name="linux", redis=Redis(), shape=Shape(1, 2), load=LOAD)
OPTIONS = Options(qemu.TCG_TURNS, timeout=Patience(120))


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> DirectBoot:
    folder: Path = tmp_path_factory.mktemp("linux-guest")
    return build_guest(folder)


def test_load(guest: DirectBoot) -> None:
    """two clients load, run and check Redis on the core beside core 0"""
    result = measure(DEPLOYMENT, OPTIONS, guest, time_ready=True)
    metrics = result["metrics"]
    assert metrics["operations"] == 600 and metrics["errors"] == 0
    assert 0 < metrics["p50_us"] <= metrics["p99_us"] <= metrics["max_us"] * 1.01
    assert metrics["boot_to_pong_s"] > 0
    assert [core["ops_per_s"] > 0 for core in result["per_core"]] == [False, True]
    memory = result["memory"]
    serving, end = (memory[when]["redis"]["redis@2"]["resident"] for when in ("serving", "end"))
    assert metrics["memory_per_instance"] == pytest.approx(end, rel=0.1)  # Redis's own word beside the guest's
    # so few records may fit into what it has already, and its allocator gives pages back
    assert min(serving, end) > 1 << 20


def test_one_core(guest: DirectBoot) -> None:
    """on a machine of one core everything runs on it"""
    result = measure(replace(DEPLOYMENT, shape=Shape(1, 1)), OPTIONS, guest)
    assert result["per_core"][0]["core"] == 0 and result["metrics"]["operations"] == 600


def test_server_that_does_not_start(guest: DirectBoot) -> None:
    """a Redis that refuses its arguments fails the measurement, with its name"""
    with pytest.raises(Failure, match="redis@2 ended with status"):
        measure(replace(DEPLOYMENT, redis=Redis(args=("--no-such-option", "1"))), OPTIONS, guest)


# ---- The profile of Linux beside Skerry's, of a load and of requests from outside ----

ONE_SOCKET = ("--sockets", "1", "--cores", "2")


def skerry(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ROOT / "skerry"), *words], cwd=cwd, capture_output=True, text=True)


def of_system(file: Path) -> dict[str, dict[str, Any]]:
    return {row["system"]: row for row in json.loads(file.read_text())["results"]}


def counted(row: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(line["program"], line["function"]): line["instructions"] for line in row["profile"]["functions"]}


def assert_named(row: dict[str, Any]) -> None:
    """Nearly all code is somebody's, and what is unknown does not count as something."""
    sums = counted(row)
    assert sum(count for (program, _), count in sums.items() if program == "(other code)") < sum(sums.values()) / 100


@pytest.mark.drawn
@pytest.mark.limit(900)
def test_load_profile_linux(tmp_path: Path) -> None:
    """both do the same operations; every instruction is some function's, of the kernel and of programs, and all are
    what the clock counted"""
    words = ("--baseline", "linux", *ONE_SOCKET, "--records", "100", "--operations", "100", "--flame", "flame.svg")
    done = skerry("profile", *words, "--json", "profile.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / name).read_text().startswith("<svg") for name in ("flame.svg", "flame-linux.svg"))
    rows = of_system(tmp_path / "profile.json")
    for row in rows.values():
        total = sum(counted(row).values())
        assert row["profile"]["operations"] == 200
        assert row["metrics"]["instructions_per_op"] == pytest.approx(total / 200)
        assert sum(row["metrics"]["instructions_per_op_by"].values()) == pytest.approx(total / 200)
        assert total == pytest.approx(row["metrics"]["seconds"] * 1e9, rel=0.03)  # of a clock of 1 ns an instruction
        assert counted(row)["redis-server", "processCommand"] >= 200 * 10
        assert_named(row)
    linux = counted(rows["linux"])
    assert linux["linux", "tcp_sendmsg"] and linux["linux", "do_syscall_64"]
    assert any((line["program"], line["component"]) == ("ycsb", "hiredis")
               for line in rows["linux"]["profile"]["functions"])
    assert linux["linux", "loopback_xmit"] > 400 * 5  # a request and a reply of each operation
    ours, theirs = (rows[system]["metrics"]["instructions_per_op_by"] for system in ("skerry", "linux"))
    assert theirs["application"] == pytest.approx(ours["application"], rel=0.25)  # the same sources do the same
    assert theirs["kernel"] > ours["kernel"] and theirs["idle"] >= 0 and "idle" not in ours
    assert 0 < rows["linux"]["profile"]["repeated_steps"] < sum(linux.values())


@pytest.mark.campaign
@pytest.mark.limit(900)
def test_outside(tmp_path: Path) -> None:
    """exactly as many requests are counted as were asked for, on both, and no more than is promised of ours"""
    words = ("--outside", "--baseline", "linux", *ONE_SOCKET, "--connections", "10", "--pipeline", "1", "--operations",
             "300")
    done = skerry("profile", *words, "--json", "profile.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = of_system(tmp_path / "profile.json")
    for row in rows.values():
        counts = counted(row)
        each = {name: counts["redis-server", name] / 300 for name in ("getCommand", "processCommand")}
        half = each["getCommand"] / 300 / 2  # of a request; one of 300 may take a few instructions more
        assert each["getCommand"] == pytest.approx(round(each["getCommand"]), abs=half) and each["processCommand"] > 50
        assert row["metrics"]["instructions_per_request"] == pytest.approx(sum(counts.values()) / 300)
        assert (row["connections"], row["pipeline"], row["profile"]["operations"]) == (10, 1, 300)
        assert 100 < row["metrics"]["requests_per_cpu_s"] < 1_000_000  # of the host: no more than that it is one
        assert_named(row)
    assert counted(rows["linux"])["linux", "tcp_v4_rcv"] and counted(rows["skerry"])["redis-server", "prediction_take"]
    assert (rows["skerry"]["metrics"]["instructions_per_request"] < 12_000 < rows["linux"]["metrics"][
                "instructions_per_request"])
