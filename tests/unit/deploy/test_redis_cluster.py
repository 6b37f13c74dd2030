# SPDX-License-Identifier: BSD-2-Clause
"""The commands that `run` prints for a Redis Cluster."""

from __future__ import annotations

import re

import pytest

from deploy.deployment import Deployment, Redis
from deploy.deployment.planner import plan
from deploy.machine.qemu import INSIDE, Forward
from deploy.machine.redis_cluster import SLOTS, commands, instances
from topology.machines.machine import Shape

YES = ("--cluster-enabled", "yes")


def found(args: tuple[str, ...], first: int = 17001, count: int = 3) -> list[Forward]:
    what = plan(Deployment(redis=Redis(instances=count, args=args), shape=Shape(1, 5, 4 << 30)))
    forwards = []
    for number, (name, port) in enumerate(what.forwards):
        address = what.application(name).ipv4
        assert address
        forwards.append(Forward(name, address, port, first + number if first != INSIDE else INSIDE))
    return instances(what, forwards)


@pytest.mark.parametrize("args, count", [(YES, 3), ((*YES, "--cluster-enabled", "no"), 0), (("--cluster-enabled", "no", *YES), 3), ((), 0)])
def test_instances(args: tuple[str, ...], count: int) -> None:
    """only where several instances are in cluster mode, and the host reaches them"""
    assert len(found(args)) == count and not found(YES, INSIDE) and not found(YES, count=1)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_commands(count: int) -> None:
    """all slots are given once; each instance announces its port of the host and its own bus; the others meet the first within the machine"""
    lines = commands(found(YES, count=count))
    ranges = [tuple(map(int, match)) for line in lines for match in re.findall(r"addslotsrange (\d+) (\d+)$", line)]
    assert [slot for first, last in ranges for slot in range(first, last + 1)] == list(range(SLOTS)) and len(ranges) == count
    assert [re.findall(r"announce-port (\d+) cluster-announce-bus-port 16379$", line) for line in lines[: 2 * count : 2]] == [[str(17001 + i)] for i in range(count)]
    assert lines[2 * count :] == [f"redis-cli -p 17001 cluster meet 10.0.2.{101 + i} 6379" for i in range(1, count)]
