# SPDX-License-Identifier: BSD-2-Clause
"""Programs of `skerry cc -fopenmp`, with libgomp of GCC's own source, which is fetched for them."""

import subprocess
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT
from deploy.deployment import Program
from tests.boot.machine import deployment, machine
from tests.boot.test_cpus import joined
from tests.boot.test_modelled import needs_new
from topology.units import MIB

pytestmark = pytest.mark.campaign  # the source is 87 MB


@pytest.fixture(scope="module")
def compiler() -> Path:
    """Returns skerry-cc, whose library of OpenMP is built."""
    done = subprocess.run([ROOT / "skerry", "build", "openmp", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return BUILD / "apps/libc/skerry-cc"


def compiled(compiler: Path, folder: Path, source: str, *words: str) -> Path:
    to = folder / f"{Path(source).stem}.elf"
    subprocess.run([compiler, *words, "-fopenmp", "-O2", "-o", to, ROOT / source], check=True)
    return to


@pytest.mark.limit(600)
@pytest.mark.parametrize("lock,cores,env,expected", [
    ("clh", 4, (), "4 threads, 4 processors, 4 cores"),
    ("fine", 3, ("OMP_NUM_THREADS=6",), "6 threads, 3 processors, 3 cores"),
    ("clh", 1, ("OMP_NUM_THREADS=3", "OMP_WAIT_POLICY=passive"), "3 threads, 1 processors, 1 cores"),
])
def test_constructs(lock: str, cores: int, env: tuple[str, ...], expected: str, compiler: Path,
                    tmp_path: Path) -> None:
    """loops, reductions, critical sections, barriers, locks and tasks of OpenMP are right, by threads on the program's
    cores"""
    elf = compiled(compiler, tmp_path, "tests/programs/openmp.c", "--cores", "--without-net")
    program = Program("openmp", elf=elf, cpu=0, cores=cores, heap=64 * MIB, env=env)
    with machine(deployment(1, 4, lock=lock, network=False, shutdown="when-done", programs=(program,))) as booted:
        booted.wait_done()
        assert f"openmp: {expected}" in booted.console
        assert booted.events.of("exit")[0]["status"] == 0


def test_on_linux(compiler: Path, tmp_path: Path) -> None:
    """the same program and library over musl are right on the host"""
    elf = compiled(compiler, tmp_path, "tests/programs/openmp.c", "--for-linux")
    done = subprocess.run([elf], env={"OMP_NUM_THREADS": "5"}, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("openmp: 5 threads, "), done.stdout


@needs_new
@pytest.mark.limit(600)
def test_fork_join(compiler: Path, tmp_path: Path) -> None:
    """modelled machine: a parallel loop of 1.2 M cycles for each thread is nearly as many times as fast as one thread,
    on two cores of one socket and on four of two"""
    compiled(compiler, tmp_path, "examples/openmp/openmp.c", "--cores", "--without-net")
    text = 'network = false\n[[program]]\nelf = "openmp.elf"\ncores = "cluster"\nheap = "64M"\nargs = ["300000"]\n'
    assert len(list(joined(tmp_path, text))) == 2
