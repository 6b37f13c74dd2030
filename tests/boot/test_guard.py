# SPDX-License-Identifier: BSD-2-Clause
"""Pages that a program protects are protected, guard pages of stacks guard, and nothing but the program is concerned."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from deploy.deployment import Program
from tests.boot.machine import client, deployment, machine, servers, with_redis
from topology.units import MIB

FAULTS = {  # the way, and what its report says
    "thread": ("write", "guard page of a stack"), "first": ("write", "guard page of a stack"),
    "read-only": ("write (not allowed there)", "protected"), "none": ("read", "protected"), "reserved": ("write", "protected"),
    "untouched": ("write", "protected"), "in-stack": ("write (not allowed there)", "protected"),
    "code": ("execute (not allowed there)", ""), "layer": ("", ""), "bell": ("write (not allowed there)", ""),
}  # fmt: skip
ENDS = ("arguments", "storm", "splits")


def guard(way: str, cpu: int) -> Program:
    heap = (256 if way == "splits" else 32) * MIB
    return Program("guard", cpu, heap=heap, args=(way,), network=way == "bell", barrier=False, name=f"guard-{way}")


def way(app: object) -> str:
    return str(app).partition("@")[0].removeprefix("guard-")


@pytest.mark.limit(200)
def test_guard() -> None:
    """a touch of a protected page, or of a guard page, ends its program with a report, and Redis beside it serves on"""
    with machine(replace(with_redis(), programs=tuple(guard(way, 1) for way in FAULTS))) as run:
        run.wait_serving()
        run.wait_for(lambda: len(run.events.of("fault")) == len(FAULTS), "a fault of each")
        for event in run.events.of("fault"):
            access, place = FAULTS[way(event["app"])]
            assert access in str(event["cause"]) and str(event["cause"]).endswith(place), event
            expected = re.search(rf"\[{event['app']}\] expected at 0x([0-9a-f]+)", run.console)
            assert not expected or int(expected[1], 16) == event["address"], event
        assert not run.events.of("exit") and "not reached" not in run.console
        for name in servers(run):
            with client(run, name) as server:
                assert server.ping()


@pytest.mark.limit(300)
def test_hostile_requests() -> None:
    """ranges that are not the program's are refused, limits hold, and 60 threads that protect at once see their own content"""
    with machine(deployment(network=False, programs=tuple(guard(way, 1) for way in ENDS), shutdown="when-done")) as run:
        run.wait_for(lambda: len(run.events.of("exit")) + len(run.events.of("fault")) == len(ENDS), "the end of each")
        assert not run.events.of("fault")
        assert {way(event["app"]): event["status"] for event in run.events.of("exit")} == dict.fromkeys(ENDS, 0)
