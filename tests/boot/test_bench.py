# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench`: what it counts is exact, so that it may be compared with a number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy import qemu
from deploy.bench.ipc import OPERATIONS, Measured, measure, metric
from deploy.bench.ipc_table import ipc_table
from deploy.modules import REGIMES
from deploy.output import make_console
from tests.boot.machine import PATIENCE
from tests.boot.test_commands import skerry

CONTRACT = [metric(name, "instructions") for name in ("call", "reply_recv", "slow_call", "signal", "yield")]


def counted(lock: str, rounds: int = 200) -> Measured:
    return measure(lock, qemu.tcg_for(1, counted=True), rounds, PATIENCE)


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
        lengths = [of[way], *(of[f"{way}_{words}"] for words in (1, 2, 3, 4)), *(of[f"slow_{way}_{n}"] for n in (10, 120))]
        assert lengths == sorted(set(lengths))
        assert of[way] < of[f"slow_{way}_0"] < of[f"slow_{way}"]
        assert of[f"{way}_same_vspace"] < of[way]
    assert 10 < of["yield"] < of["yield_switch"]
    assert counted("none").spread["call"].median < of["call"]


@pytest.mark.limit(200)
def test_command(tmp_path: Path) -> None:
    """bench ipc --icount: table, ratios to the kernel without a lock, JSON, plot"""
    done = skerry("bench", "ipc", "--icount", "--lock", "clh", "--rounds", "50", "--json", "r.json", "--plot", "r.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["command"] == "bench ipc"
    none, clh = data["results"]
    assert (none["lock"], clh["lock"], clh["system"], clh["cores"], clh["emulated"]) == ("none", "clh", "skerry", 1, True)
    assert set(CONTRACT) <= set(clh["metrics"])
    ratio = data["ratios"][0]
    assert (ratio["of"], ratio["to"]) == ("clh", "none")
    for name in CONTRACT:
        assert ratio["metrics"][name] == clh["metrics"][name] / none["metrics"][name]
    assert "Figure 3" in done.stdout and f"{clh['metrics'][CONTRACT[0]]:g}" in done.stdout
    assert (tmp_path / "r.png").stat().st_size > 1000


def test_refusals(tmp_path: Path) -> None:
    """bench ipc refuses what it cannot do in one line"""
    for words, culprit in ((["--lock", "clh,foo"], "'foo'"), (["--plot", "nowhere/x.png"], "nowhere"), (["--rounds", "0"], "--rounds")):
        done = skerry("bench", "ipc", *words, cwd=tmp_path)
        assert done.returncode == 2
        assert culprit in done.stderr and len(done.stderr.splitlines()) == 1


def test_table_is_readable() -> None:
    """the table has a row for every operation"""
    console = make_console()
    with console.capture() as capture:
        console.print(ipc_table([counted("none", rounds=5)]))
    text = capture.get()
    assert all(title in text for title in OPERATIONS.values())
