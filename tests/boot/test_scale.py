# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench scale`: cores that queue for the kernel's lock, in step, so that a busy host changes nothing."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.lines.measure import Lines, measure_lines
from deploy.bench.scale.fit import fits
from deploy.bench.scale.measure import Point, Request, case, measure
from deploy.deployment import modules
from deploy.emulator import lockstep, run
from deploy.emulator.machine_file import load
from deploy.machine import qemu
from tests.boot.machine import PATIENCE
from tests.boot.test_commands import skerry
from tests.boot.test_modelled import needs_new


@cache
def points() -> dict[tuple[int, float], Point]:
    request = Request("clh", [1, 2, 3, 4], [100.0, 2000.0], rounds=256)
    bench = Bench(lockstep.mode(4), Patience(PATIENCE), stepped=True)
    return {(one.cores, one.delay): one for one in measure(case(request), bench)}


@pytest.mark.limit(120)
def test_one_core() -> None:
    """one core's entries take the delay that was asked for and the same work besides"""
    for delay in (100.0, 2000.0):
        one = points()[1, delay]
        assert one.metrics["drawn_delay_cycles"] == pytest.approx(delay, abs=16)
        assert 100 < 1 / one.throughput - one.metrics["drawn_delay_cycles"] < 300
    assert points()[1, 100.0].metrics["cpu_utilisation"] > 0.98


@pytest.mark.limit(120)
def test_cores_queue() -> None:
    """with long delays cores do not meet; with short ones they wait for each other"""
    far = [points()[n, 2000.0].throughput / points()[1, 2000.0].throughput for n in (2, 3, 4)]
    assert far == pytest.approx([2, 3, 4], rel=0.03)
    near = [points()[n, 100.0].throughput / points()[1, 100.0].throughput for n in (2, 3, 4)]
    assert 1.7 < near[0] < near[1] < near[2] < 3.7
    for one in points().values():
        rounds = [core["rounds"] for core in one.per_core]
        assert min(rounds) > 0.8 * max(rounds)  # the lock is fair


@pytest.mark.limit(120)
def test_model() -> None:
    """the machine repairman explains it, with the instructions for which the lock is held as its service"""
    fit = fits(list(points().values()))["clh", 100.0]
    assert 40 < fit.service.value < 130
    assert fit.r_squared > 0.99 and fit.worst < 0.08  # three runs of one image: 4.6 to 5.6 %


@pytest.mark.limit(120)
def test_statistics() -> None:
    """a counting kernel's acquisitions are its entries, two for each round trip; conflicts come with the second core"""
    request = Request("clh", [1, 3], [100.0], rounds=256, statistics=True)
    for _ in range(5):
        alone, three = measure(case(request), Bench(lockstep.mode(3), Patience(PATIENCE), stepped=True))
        met = alone.conflicts * sum(core["acquisitions"] for core in alone.per_core)
        if met < 2.5:  # of some 500: an idle core enters, too, for its beat, at most once in 50 ms of the host
            break
    else:
        pytest.fail(f"a core alone waits for {met} of its acquisitions")
    for one in (alone, three):
        for core in one.per_core:
            assert abs(core["acquisitions"] - core["entries"]) <= 1
            assert abs(core["entries"] - 2 * core["rounds"]) < 20  # the main thread's on core 0; one may be on its way
    assert 0.1 < three.conflicts < 1
    assert {"lock_conflict_ratio", "fallback_ratio"} <= set(three.metrics)


@pytest.mark.limit(120)
def test_clusters() -> None:
    """two kernels of two cores each do more than one of four where cores meet at the lock; each is counted"""
    request = Request("clh", [4], [100.0], rounds=256, layout="per-socket", sockets=2)
    (apart,) = measure(case(request), Bench(lockstep.mode(4), Patience(PATIENCE), stepped=True))
    assert (apart.clusters, apart.cores) == (2, 4)
    assert [(core["cluster"], core["cpu"]) for core in apart.per_core] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert apart.throughput > 1.1 * points()[4, 100.0].throughput
    assert apart.throughput == pytest.approx(2 * points()[2, 100.0].throughput, rel=0.05)


@pytest.mark.limit(120)
def test_fine() -> None:
    """under fine-grained locks cores that share nothing do not wait for each other; a core alone pays for it"""
    alone, four = measure(case(Request("fine", [1, 4], [100.0], rounds=256)),
                          Bench(lockstep.mode(4), Patience(PATIENCE), stepped=True))
    assert four.throughput == pytest.approx(4 * alone.throughput, rel=0.04)
    assert alone.throughput < points()[1, 100.0].throughput


@pytest.mark.limit(120)
def test_cycles() -> None:
    """where the processor is real, delays are cycles of its clock, and so is the time: no entry comes sooner"""
    as_if_real = replace(qemu.tcg_for(1), kind="kvm")
    (one,) = measure(case(Request("clh", [1], [20_000.0], rounds=128)), Bench(as_if_real, Patience(PATIENCE)))
    assert one.clock == "tsc" and not one.emulated
    assert one.metrics["drawn_delay_cycles"] == pytest.approx(20_000, abs=1)
    assert one.throughput < 1 / 20_000


@pytest.mark.limit(200)
def test_command(tmp_path: Path) -> None:
    """bench scale: tables, plot, and JSON that model fit takes"""
    words = ["--lock", "clh", "--cores", "1..3", "--delays", "200", "--rounds", "128"]
    done = skerry("bench", "scale", *words, "--json", "r.json", "--plot", "r.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["command"] == "bench scale"
    assert [(r["lock"], r["clusters"], r["cores"], len(r["per_core"])) for r in data["results"]] == [
        ("clh", 1, n, n) for n in (1, 2, 3)
    ]
    assert all(r["metrics"]["delay_cycles"] == 200 and r["metrics"]["throughput_per_cycle"] > 0
               for r in data["results"])
    assert "Figure 4" in done.stdout and "service fitted" in done.stdout
    assert (tmp_path / "r.png").stat().st_size > 1000
    fitted = skerry("model", "fit", "r.json", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr


# ---- `bench lines`: lines that move between the cores of a modelled machine, and false sharing that was planted ----

XEON = load("xeon-e5-2683v3")
PLANTED = BUILD / "tests" / "programs" / "kernel-planted.elf"


def lines(lock: str, cores: int, build: Path = BUILD) -> Lines:
    request = Request(lock, [cores], [500.0], 256, modelled=XEON)
    measured, = measure_lines(request, Patience(PATIENCE), build)
    return measured


def with_kernel(tmp_path: Path, lock: str, image: Path) -> Path:
    """A build folder in which the kernel of this regime is another image."""
    kernels = tmp_path / modules.KERNELS
    kernels.mkdir(parents=True)
    for part in BUILD.iterdir():
        if part.name not in (modules.KERNELS.name, "stripped"):  # a cache, by name
            (tmp_path / part.name).symlink_to(part)
    (kernels / f"kernel-{lock}.elf").symlink_to(image)
    return tmp_path


@needs_new
@pytest.mark.limit(300)
def test_queue_lock() -> None:
    """bench lines: under clh the lock's tail moves once an entry, and the nodes of the queue with the cores that wait;
    two runs agree, also with one that is not watched"""
    first, second = lines("clh", 4), lines("clh", 4)
    assert first == second
    tail, *nodes = first.hottest[:6]
    assert tail.name == "kernel"
    assert tail.moves == pytest.approx(first.point.entries, rel=0.02)
    assert tail.movers[0].source.startswith("clh_lock.h:")
    assert [user.core for user in tail.users] == [0, 1, 2, 3]
    names = {node.name.split("+")[0] for node in nodes}
    assert names == {"kernel", *(f"core {core}'s struct cpu" for core in range(4))}
    assert not any(line.false_sharing for line in first.hottest)
    unwatched, = measure(case(Request("clh", [4], [500.0], 256, modelled=XEON)),
                         Bench(run.mode(XEON), Patience(PATIENCE), stepped=True))
    assert first.point == unwatched


@needs_new
@pytest.mark.limit(300)
def test_planted(tmp_path: Path) -> None:
    """bench lines: counters of several cores in one line of the kernel are found as false sharing, and only they"""
    measured = lines("clh", 4, with_kernel(tmp_path, "clh", PLANTED))
    shared = [line for line in measured.hottest if line.false_sharing]
    assert [line.name for line in shared] == ["planted"]
    line, = shared
    assert line.useless > 0.95 * line.fetches > 100
    assert all(user.read == user.written == 0xFF << 8 * user.core for user in line.users)
    assert all(mover.source.startswith("planted.h:") for mover in line.movers)


@needs_new
@pytest.mark.limit(300)
def test_no_false_sharing() -> None:
    """bench lines: under fine, cores that have nothing in common move next to no lines"""
    measured = lines("fine", 4)
    assert measured.moves_per_entry < 0.2
    assert not any(line.false_sharing for line in measured.hottest)
