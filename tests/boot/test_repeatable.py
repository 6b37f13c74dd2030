# SPDX-License-Identifier: BSD-2-Clause
"""Repeats a comparison whose instructions the emulator counts: the host decides nothing, so the figures are the
same."""

import pytest

from deploy.load.case import case
from deploy.load.comparison import Comparison, machine
from deploy.load.measure import measure
from deploy.machine import qemu

RECORDS, OPERATIONS, CLIENTS = 200, 300, 2


@pytest.mark.limit(150)
@pytest.mark.parametrize("layout", ["per-socket", "spanning"])
def test_counted(layout: str) -> None:
    """two counted runs agree in every figure"""
    job = Comparison(
        shape=machine(2, 2, None, RECORDS, CLIENTS), records=RECORDS, operations=OPERATIONS, clients=CLIENTS
    )
    first, second = (measure(case(job, layout, "a"), qemu.tcg_for(4, counted=True), lambda event: None)
                     for _ in range(2))
    assert first.metrics == second.metrics
    assert first.metrics["ops_per_s"] > 0
