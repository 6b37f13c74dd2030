# SPDX-License-Identifier: BSD-2-Clause
"""A core whose programs have nothing to do sleeps, while others are measured."""

from __future__ import annotations

import pytest

from deploy.deployment import Load
from deploy.machine import qemu
from deploy.results.snapshots import between
from tests.boot.machine import machine, with_redis

CORES, LOAD = 4, Load(clients=2, records=50, operations=400)
NETWORK = 0  # the core of the manager, the switch and the driver
FEW = 8      # times fewer entries than a core with a Redis and its clients makes


@pytest.mark.limit(300)
def test_network_core() -> None:
    """lines printed before a load has begun are written before, and frames that go by cable wake no switch"""
    what = with_redis(1, CORES, "spanning", statistics=True, shutdown="when-done", load=LOAD)
    with machine(what, accel=qemu.tcg_for(CORES, counted=True)) as run:
        run.wait_done()
        assert run.events.of("done")[0]["status"] == 0
        entries = [core.entries for core in between(run.events, 0)]
    assert len(entries) == CORES and min(entries[1:]) > LOAD.clients * LOAD.operations, entries
    assert entries[NETWORK] * FEW < min(entries[1:]), entries
