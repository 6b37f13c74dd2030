# SPDX-License-Identifier: BSD-2-Clause
"""The POSIX layer, from a program's side, in the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.deployment import Program
from tests.boot.machine import deployment, machine
from topology.units import MIB


@pytest.mark.limit(150)
@pytest.mark.parametrize("cpu", [0, 1, 3], ids=["first core", "second core", "second cluster"])
def test_posix(cpu: int) -> None:
    """the POSIX layer passes its tests in the machine"""
    program = Program("posixtest", cpu, heap=64 * MIB)
    with machine(replace(deployment(network=False, shutdown="when-done"), programs=(program,))) as run:
        run.wait_done()
        assert "not ok" not in run.console
        result = run.events.of("result")[0]["data"]
        assert result["failed"] == 0 and result["passed"] > 10
        assert run.events.of("exit")[0]["status"] == 0
