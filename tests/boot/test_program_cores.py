# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose threads run on several cores of one kernel."""

import subprocess
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT
from deploy.base.timeouts import Patience
from deploy.deployment import Program, parse
from deploy.emulator import run
from deploy.load import programs
from tests.boot.machine import PATIENCE, deployment, machine
from tests.boot.test_modelled import needs_new, small
from topology.machines.machine import default_memory
from topology.units import MIB

TESTED = BUILD / "apps/libc/posixtest-cores.elf"


@pytest.mark.limit(200)
@pytest.mark.parametrize("lock,cores", [
    ("clh", 4), *(pytest.param(lock, cores, marks=pytest.mark.drawn)
                  for lock, cores in [("fine", 4), ("fine", 2), ("clh", 2), ("clh", 1), ("fine", 1)]),
])
def test_posix(lock: str, cores: int) -> None:
    """the POSIX layer passes its tests on several cores of a kernel, with threads that come and go on all of them"""
    program = Program("posixtest-cores", elf=TESTED, cpu=0, cores=cores, heap=64 * MIB, storage=4 * MIB)
    with machine(deployment(1, 4, lock=lock, network=False, shutdown="when-done", programs=(program,))) as booted:
        booted.wait_done()
        assert "not ok" not in booted.console
        result = booted.events.of("result")[0]["data"]
        assert result["failed"] == 0 and result["passed"] > 10
        assert booted.events.of("exit")[0]["status"] == 0
        assert booted.events.of("started")[0].get("cpus", [0]) == list(range(cores))


@needs_new
@pytest.mark.drawn
@pytest.mark.limit(300)
def test_fork_join(tmp_path: Path) -> None:
    """modelled machine: threads that meet every 1.2 M cycles are nearly as many times as fast as one, on two cores of
    one socket and on four of two"""
    subprocess.run([BUILD / "apps/libc/skerry-cc", "--cores", "--without-net", "-O2", "-o", tmp_path / "forkjoin.elf",
                    ROOT / "examples/forkjoin/forkjoin.c"], check=True)
    modelled = small(tmp_path)
    text = 'network = false\n[[program]]\nelf = "forkjoin.elf"\ncores = "cluster"\nargs = ["0", "300000"]\n'
    on = parse(text, folder=tmp_path).on(modelled.shape(modelled.cores, default_memory(2)))
    cases = programs.cases(programs.Programs(on, ["per-socket", "spanning"], Patience(PATIENCE), modelled=modelled))
    for one, cores in zip(cases, (2, 4), strict=True):
        metrics = {metric.name: metric.value
                   for metric in programs.measure_once(one, run.mode(modelled), lambda event: None).metrics}
        assert 0.9 * cores < metrics["speedup"] <= cores
        assert metrics["efficiency"] == pytest.approx(100 * metrics["speedup"] / cores, rel=0.01)
