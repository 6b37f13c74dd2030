# SPDX-License-Identifier: BSD-2-Clause
"""What a deployment lets a Redis take of its heap."""

from __future__ import annotations

import pytest

from deploy.deployment import Deployment, Redis, parse
from deploy.deployment.planner import plan
from deploy.deployment.redis_memory import limits, maxmemory
from deploy.load.measure import Comparison
from topology.errors import InputError
from topology.machines.machine import Shape
from topology.units import MIB


def arguments(redis: Redis) -> list[str]:
    return plan(Deployment(redis=redis)).application("redis@2").args


def value(args: list[str], option: str) -> str:
    """The one that holds: the last."""
    return args[len(args) - args[::-1].index(option)]


def test_follow_from_the_heap() -> None:
    args = arguments(Redis())
    assert args[:2] == ["--port", "6379"]
    assert value(args, "--maxmemory") == str(120 * MIB)
    assert value(args, "--maxmemory-clients") == str(32 * MIB)
    assert value(args, "--proto-max-bulk-len") == str(16 * MIB)
    at = args.index("--client-output-buffer-limit")
    assert args[at + 1 : at + 9] == ["normal", str(16 * MIB), "0", "0", "pubsub", str(16 * MIB), str(4 * MIB), "60"]


@pytest.mark.parametrize("heap", [2, 16, 20, 32, 64, 256, 4096, 1 << 20])
def test_leave_room(heap: int) -> None:
    """data, a reply and an argument beyond it fit together, and no option is one that Redis refuses"""
    size = heap * MIB
    args = limits(size, ())
    assert 0 < maxmemory(size) <= size // 2
    assert maxmemory(size) + int(value(args, "--maxmemory-clients")) + 2 * (size // 16) <= size * 3 // 4
    assert int(value(args, "--proto-max-bulk-len")) >= MIB <= int(value(args, "--client-query-buffer-limit"))


def test_own_arguments_hold() -> None:
    assert value(arguments(Redis(args=("--maxmemory-clients", "0"))), "--maxmemory-clients") == "0"
    own = ("--maxmemory", "1gb", "--save", "")
    assert arguments(Redis(args=own))[2:] == list(own)


def test_a_load_must_fit() -> None:
    text = "[redis]\nheap = '64M'\n{}[ycsb]\nclients = 1\nrecords = 30000"
    with pytest.raises(InputError, match="30000 records of 1000 bytes do not fit into a heap of 64M .* Redis may fill 24M"):
        parse(text.format(""))
    assert parse(text.format("args = ['--maxmemory', '0']\n")).load.records == 30000


def test_comparisons_have_no_limits() -> None:
    made = plan(Comparison(Shape(2, 2)).deployment("per-socket", "c"))
    args = made.application("redis@2").args
    assert args.count("--maxmemory") == 1 and value(args, "--maxmemory") == "0" and "--maxmemory-clients" not in args
