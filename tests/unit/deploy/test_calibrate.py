# SPDX-License-Identifier: BSD-2-Clause
"""A machine file of this host: what becomes of measurements, without trusting the host's time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.bench.validate import calibrate
from deploy.bench.validate.calibrate import Cache, Calibration, Figure, Places
from deploy.cli.main import main
from deploy.emulator.machine_file import load, price_names
from topology.machines.survey import Processor, Survey

ALONE = {
    "cpi": 0.5, "l1": 4.0, "l2": 14.0, "l3": 42.0, "dram": 200.0, "nothing": 5.0, "atomic": 25.0, "fence": 40.0, "pause": 45.0,
    "rdtsc": 29.0, "divide": 15.0, "copy_64": 37.0, "xsave_pair": 205.0, "system_call": 245.0, "segment_base_pair": 25.0,
}
MOVED = {"read": 106.0, "write": 130.0, "upgrade": 110.0, "read_own": 6.0, "write_own": 20.0}
CACHES = {"l1": Cache(64, 8), "l1i": Cache(64, 8), "l2": Cache(1024, 16), "l3": Cache(4096, 16)}
NEAR = {"cluster": (0, 1)}


def figures(medians: dict[str, float], times: float = 1.0) -> dict[str, Figure]:
    return {name: Figure(times * value, times * value - 1, times * value + 1, 300) for name, value in medians.items()}


def found(pair: dict[str, tuple[int, int]] = NEAR, places: tuple[int, int, int] = (1, 1, 2)) -> Calibration:
    moved = {place: figures(MOVED, times) for times, place in zip((1.0, 2.0, 4.0), ("cluster", "socket", "machine")) if place in pair}
    return Calibration(Places(*places, pair), CACHES, 2.5, figures(ALONE), moved)


def test_prices() -> None:
    """calibrate: a price is what was measured less what the loop around it takes, and says when and how often"""
    given = calibrate.prices(found())
    assert set(given) == set(price_names())
    cycles = {name: value for name, (value, _) in given.items()}
    assert (cycles["l2"], cycles["dram_near"]) == (10, 196)
    assert cycles["l3"] == 2 * 42 - 14 - 4  # of twice L2's size the half is in L2
    assert (cycles["transfer_cluster"], cycles["upgrade_cluster"], cycles["atomic"]) == (100, 90, 19.5)
    assert (cycles["fence"], cycles["repeat"], cycles["xsave"], cycles["syscall"]) == (35, 0.5, 100, 120)
    assert given["transfer_cluster"][1].startswith("measured 20") and "median of 300" in given["transfer_cluster"][1]
    assert given["cr3"][1] == given["ipi"][1] == "assumed"
    assert given["transfer_machine"] == (100, "not used: one socket")


def test_hand_over() -> None:
    """calibrate: a hand-over that is quicker than an upgrade and a transfer one after the other overlaps them; alone, each costs what it did"""
    assert calibrate.prices(found())["overlap_cluster"] == (0.0, "assumed")  # not measured
    for whole, overlap in ((150.0, 40.0), (80.0, 110.0), (250.0, 0.0)):
        known = found()
        known.moved["cluster"]["hand_over"] = Figure(whole, whole - 1, whole + 1, 300)  # type: ignore[index]
        given = calibrate.prices(known)
        assert (given["upgrade_cluster"][0], given["transfer_cluster"][0], given["overlap_cluster"][0]) == (90, 100, overlap)
        assert f"a flag handed over ({whole:.1f})" in given["overlap_cluster"][1]
        assert given["overlap_machine"] == (overlap, "not used: one socket")


def test_distances() -> None:
    """calibrate: cores that are farther apart are measured as such"""
    given = calibrate.prices(found({"cluster": (0, 1), "socket": (0, 4), "machine": (0, 8)}, (2, 2, 4)))
    assert [given[f"transfer_{place}"][0] for place in ("cluster", "socket", "machine")] == [100, 200, 400]
    assert given["dram_far"][1] == "assumed"
    lone = calibrate.prices(found({"machine": (0, 1)}, (2, 1, 1)))  # one core in each socket
    assert lone["transfer_cluster"][1] == "not used: one core for each L3"
    assert lone["transfer_cluster"][0] == lone["transfer_machine"][0]


def test_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """calibrate: what it writes is a machine file, whatever the processor is called"""
    monkeypatch.setattr(calibrate.host, "cpu", lambda: type("Cpu", (), {"model": 'A "quoted\\" CPU'})())
    path = tmp_path / "mine.toml"
    path.write_text(calibrate.machine_file(found()))
    machine = load(str(path))
    assert machine.name == 'A "quoted\\" CPU, 2 cores of this host'
    assert (machine.cores, machine.ghz, machine.caches["l2"]) == (2, 2.5, (1024, 16))
    assert "cr3" in machine.assumed and "transfer_cluster" not in machine.assumed


def test_noise() -> None:
    """calibrate: figures whose samples are far apart are named"""
    calm = found()
    assert "read (cluster)" not in calm.noisy
    calm.moved["cluster"]["read"] = Figure(100, 80, 120, 300)  # type: ignore[index]
    assert "read (cluster)" in calm.noisy


def survey(*processors: tuple[int, int, int]) -> Survey:
    return Survey("test", [Processor(number, socket, number, l3, socket) for number, socket, l3 in processors])


def test_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """calibrate: pairs of cores in one L3, in two of a socket, in two sockets; one that may not be used is left out"""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.setattr(calibrate, "survey_live", lambda: survey(*((n, n // 4, n // 2) for n in range(9))))
    where = calibrate.places()
    assert (where.sockets, where.clusters, where.cores) == (2, 2, 2)
    assert where.pair == {"cluster": (0, 1), "socket": (0, 2), "machine": (0, 4)}
    monkeypatch.setattr(calibrate, "survey_live", lambda: survey((0, 0, 0), (1, 0, 0), (2, 0, 1)))
    with pytest.raises(Failure, match="do not all have as many cores"):
        calibrate.places()


def test_one_core(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """calibrate: one core is refused in one line, before anything is built"""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr(calibrate, "survey_live", lambda: survey((0, 0, 0), (1, 0, 0)))
    assert main(["bench", "calibrate"]) == 1
    assert "needs two cores that a line can move between" in capsys.readouterr().err


@pytest.mark.parametrize("path,says", [("mine.json", "is no .toml file"), ("/nowhere/mine.toml", "no such folder")])
def test_output(capsys: pytest.CaptureFixture[str], path: str, says: str) -> None:
    """calibrate: a place for the file that cannot be is refused first"""
    assert main(["bench", "calibrate", "-o", path]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_here(tmp_path: Path) -> None:
    """calibrate: on this machine every figure is there, and the file can be used"""
    measured = calibrate.measure(runs=1)
    path = tmp_path / "here.toml"
    path.write_text(calibrate.machine_file(measured))
    machine = load(str(path))
    assert machine.cores >= 2
    assert all(price.cycles >= 0 for price in machine.prices.values())
    assert machine.prices["transfer_cluster"].cycles > 0 or machine.cores_per_cluster == 1
