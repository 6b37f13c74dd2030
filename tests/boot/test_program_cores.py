# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose threads run on several cores of one kernel."""

import pytest

from deploy.base.paths import BUILD
from deploy.deployment import Program
from tests.boot.machine import deployment, machine
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
    with machine(deployment(1, 4, lock=lock, network=False, shutdown="when-done", programs=(program,))) as run:
        run.wait_done()
        assert "not ok" not in run.console
        result = run.events.of("result")[0]["data"]
        assert result["failed"] == 0 and result["passed"] > 10
        assert run.events.of("exit")[0]["status"] == 0
        assert run.events.of("started")[0].get("cpus", [0]) == list(range(cores))
