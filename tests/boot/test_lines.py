# SPDX-License-Identifier: BSD-2-Clause
"""`bench lines`: lines that move between the cores of a modelled machine, and false sharing that was planted."""

from pathlib import Path

import pytest

from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.lines.measure import Lines, measure_lines
from deploy.bench.scale.measure import Request, case, measure
from deploy.deployment import modules
from deploy.emulator import run
from deploy.emulator.machine_file import load
from tests.boot.machine import PATIENCE
from tests.boot.test_modelled import needs_new

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
