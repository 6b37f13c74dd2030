# SPDX-License-Identifier: BSD-2-Clause
"""Machines of debug images alone: kernels, loader, managers, the network's programs and the POSIX layer with their
assertions."""

from dataclasses import replace

import pytest

from deploy.deployment import Deployment, Program, modules
from deploy.deployment.planner import Plan, plan
from deploy.machine.run import Run
from tests.boot.machine import client, deployment, machine, machine_serving, servers, with_redis
from topology.units import MIB

FAILED = "assertion failed"


def debug(what: Deployment) -> Plan:
    """Returns the plan with debug kernels, and so with all other debug images that there are."""
    target = plan(what)
    for cluster in target.cluster_map.clusters:
        cluster.kernel += modules.DEBUG
    images = modules.collect(target.cluster_map)
    assert all(modules.DEBUG in path.name for name, path in images.items() if name in modules.DEBUGGED
               or name.startswith("kernel-"))
    return target


def assert_sound(run: Run) -> None:
    run.poll()
    assert FAILED not in run.console, next(line for line in run.console.splitlines() if FAILED in line)


@pytest.mark.limit(300)
def test_posix_layer() -> None:
    """the POSIX layer passes its tests where each of its assertions is evaluated"""
    program = Program("posixtest", 1, heap=64 * MIB)
    with machine(debug(replace(deployment(network=False, shutdown="when-done"), programs=(program,)))) as run:
        run.wait_done()
        assert_sound(run)
        result = run.events.of("result")[0]["data"]
        assert result["failed"] == 0 and result["passed"] > 10


@pytest.mark.limit(300)
def test_network() -> None:
    """Redis answers through driver, switch and stack processes of which each assertion holds"""
    what = with_redis()
    assert what.redis
    with machine_serving(debug(replace(what, redis=replace(what.redis, stack="process")))) as run:
        for name in servers(run):
            connection = client(run, name)
            for i in range(50):
                connection.set(f"key-{i}", "x" * (i * 97))
                assert connection.get(f"key-{i}") == b"x" * (i * 97)
        assert_sound(run)
