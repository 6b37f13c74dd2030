# SPDX-License-Identifier: BSD-2-Clause
"""How soon clusters notice each other's end, on machines whose clock counts instructions: the same on every host."""

from __future__ import annotations

import pytest

from deploy.bench.failure.scene import end_cluster
from deploy.deployment import Deployment
from deploy.machine import qemu
from deploy.machine.run import Run
from tests.boot.machine import deployment, machine
from tests.boot.test_detection import boots
from tests.boot.test_restart_cluster import restarted
from topology.limits import EMULATED_PATIENCE

LATE = 100  # ms that a verdict may come after the patience: the goal


def restarting(patience: int | None = None) -> Deployment:
    return deployment(network=False, restart="on-failure", restart_limit=0, restart_delay=0, patience=patience)


def silence(run: Run, how: str, times: int) -> int:
    """Milliseconds of the machine's clock from the last sign of life to the verdict."""
    end_cluster(run, 1, how)
    run.wait_for(lambda: restarted(run, 1, times), "cluster 1 again")
    return int(run.events.of("cluster-lost", cluster=1)[-1]["silent_ms"])


@pytest.mark.limit(150)
def test_words_are_heard_at_once() -> None:
    """a panic is known within 2 ms of its last words, though ticks are 50 ms apart, and the cluster boots again in 100 ms; emulated silence lasts 3 s"""
    with machine(restarting(), accel=qemu.TCG_COUNTED) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        for times in range(1, 4):
            assert silence(run, "panic", times) <= 2
            back = run.events.of("cluster-restarted")[-1]
            assert back["fence_ms"] <= 20 and back["after_ms"] <= 100
            assert run.console.count("  backtrace: ") == times, "somebody printed into the report, or cut it off"
        assert EMULATED_PATIENCE <= silence(run, "init", 4) <= EMULATED_PATIENCE + LATE


@pytest.mark.limit(150)
@pytest.mark.parametrize("patience", [100, 400])
def test_of_the_deployment(patience: int) -> None:
    """clusters are as patient as the deployment says, with each other's managers two thirds more"""
    with machine(restarting(patience), accel=qemu.TCG_COUNTED) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        assert patience <= silence(run, "init", 1) <= patience + LATE
        assert patience * 5 // 3 <= silence(run, "manager", 2) <= patience * 5 // 3 + LATE
        assert not run.events.of("cluster-lost", cluster=0)
