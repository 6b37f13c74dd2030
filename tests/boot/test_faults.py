# SPDX-License-Identifier: BSD-2-Clause
"""What breaks takes nothing else with it: a program its process, a kernel its cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.boot import gdb
from tests.boot.machine import client, crash, machine, servers, with_redis

WAYS = {
    "null": "page fault", "unmapped": "page fault", "kernel": "page fault", "direct-map": "page fault",
    "text": "page fault", "data": "page fault", "stack": "page fault", "non-canonical": "general protection",
    "halt": "general protection", "port": "general protection", "divide": "divide", "undefined": "invalid opcode",
    "breakpoint": "", "flags": "",
}


@pytest.mark.limit(150)
@pytest.mark.parametrize("cpu", [1, 3], ids=["beside Redis in the first cluster", "in the second cluster"])
def test_program(cpu: int) -> None:
    """a program that faults is killed with a report, and nothing else is"""
    programs = tuple(crash(way, cpu) for way in WAYS)
    with machine(replace(with_redis(), programs=programs)) as run:
        run.wait_serving()
        run.wait_for(lambda: len(run.events.of("fault")) == len(WAYS), "a fault of every kind")
        for event in run.events.of("fault"):
            way = str(event["app"]).partition("@")[0].removeprefix("crash-")
            assert WAYS[way] in str(event["cause"]).lower(), event
            assert event["rip"] and event["rsp"], event
        assert not run.events.of("exit") and not run.events.of("failed")
        assert "killed: page fault" in run.console
        for name in servers(run):
            with client(run, name) as server:
                assert server.ping()


@pytest.mark.limit(150)
def test_kernel() -> None:
    """a kernel that panics parks its own cluster, and the others go on"""
    with machine(with_redis(), gdb_port=gdb.free_port()) as run:
        debugger = gdb.Debugger(run.options.gdb_port)
        debugger.go_on()
        run.wait_serving()
        by_cluster = {run.plan.cluster_map.cluster_of(run.plan.application(name).cpu).number: name for name in servers(run)}
        debugger.make_kernel_fault(core=2)
        run.wait_for(lambda: "kernel panic: cluster 1" in run.console, "the panic's report")
        run.wait_event("cluster-lost", cluster=1)
        with client(run, by_cluster[0]) as server:
            for number in range(100):
                assert server.incr("after") == number + 1
        assert "kernel panic: cluster 0" not in run.console
        told = run.panics()
        assert told and "cluster 1" in told[0]
        assert any(".c:" in line or ".S:" in line for line in told[1:]), told
        assert run.running
        debugger.close()
