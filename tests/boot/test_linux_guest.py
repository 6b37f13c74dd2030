# SPDX-License-Identifier: BSD-2-Clause
"""The Linux guest boots, serves, and its measurement is whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Load, Redis
from deploy.load.linux_guest import Options, build_guest, measure
from deploy.machine import qemu
from deploy.machine.image import DirectBoot
from topology.machines.machine import Shape

LOAD = Load(clients=2, workload="a", records=200, operations=300)
DEPLOYMENT = Deployment(name="linux", redis=Redis(), shape=Shape(1, 2), load=LOAD)
OPTIONS = Options(qemu.TCG_TURNS, patience=Patience(120))


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> DirectBoot:
    folder: Path = tmp_path_factory.mktemp("linux-guest")
    return build_guest(folder)


def test_load(guest: DirectBoot) -> None:
    """two clients load, run and check Redis on the core beside core 0"""
    result = measure(DEPLOYMENT, OPTIONS, guest, pong=True)
    metrics = result["metrics"]
    assert metrics["operations"] == 600 and metrics["errors"] == 0
    assert 0 < metrics["p50_us"] <= metrics["p99_us"] <= metrics["max_us"] * 1.01
    assert metrics["boot_to_pong_s"] > 0
    assert [core["ops_per_s"] > 0 for core in result["per_core"]] == [False, True]
    memory = result["memory"]
    serving, end = (memory[when]["redis"]["redis@2"]["resident"] for when in ("serving", "end"))
    assert metrics["memory_per_instance"] == pytest.approx(end, rel=0.1)  # Redis's own word beside the guest's
    assert min(serving, end) > 1 << 20  # so few records may fit into what it has already, and its allocator gives pages back


def test_one_core(guest: DirectBoot) -> None:
    """on a machine of one core everything runs on it"""
    result = measure(replace(DEPLOYMENT, shape=Shape(1, 1)), OPTIONS, guest)
    assert result["per_core"][0]["core"] == 0 and result["metrics"]["operations"] == 600


def test_server_that_does_not_start(guest: DirectBoot) -> None:
    """a Redis that refuses its arguments fails the measurement, with its name"""
    with pytest.raises(Failure, match="redis@2 ended with status"):
        measure(replace(DEPLOYMENT, redis=Redis(args=("--no-such-option", "1"))), OPTIONS, guest)
