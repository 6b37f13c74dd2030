# SPDX-License-Identifier: BSD-2-Clause
"""What breaks takes nothing else with it: a program its process, a kernel its cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.deployment import modules
from deploy.machine import monitor
from deploy.machine.run import Run
from tests.boot import gdb, pages
from tests.boot.machine import client, crash, deployment, machine, servers, with_redis
from tests.ports import reserved_port

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
    with machine(with_redis(), gdb_port=reserved_port()) as run:
        debugger = gdb.Debugger(run.options.gdb_port)
        debugger.go_on()
        run.wait_serving()
        by_cluster = {run.plan.cluster_map.cluster_of(run.plan.application(name).cpu).number: name for name in servers(run)}
        debugger.make_kernel_fault(core=2)
        run.wait_for(lambda: "kernel panic: cluster 1" in run.own_console, "the panic's report")
        run.wait_event("cluster-lost", cluster=1)
        with client(run, by_cluster[0]) as server:
            for number in range(100):
                assert server.incr("after") == number + 1
        assert "kernel panic: cluster 0" not in run.own_console
        told = run.panics()
        assert told and "cluster 1" in told[0]
        assert any(".c:" in line or ".S:" in line for line in told[1:]), told
        assert run.running
        debugger.close()


def report_of_nmi(run: Run) -> None:
    """Of the boot processor's cluster, the whole of it, and of no other."""
    title = "kernel panic: cluster 0 core 0: NMI that no core sent"
    run.wait_for(lambda: "backtrace:" in run.own_console.partition(title)[2], "the report of the NMI")
    assert "vector 2 " in run.own_console
    assert run.own_console.count("kernel panic:") == 1
    assert run.running


@pytest.mark.limit(150)
def test_nmi() -> None:
    """an NMI that no core sent ends the boot processor's cluster with a report, and no other"""
    with machine(deployment(network=False)) as run:
        run.wait_for(lambda: len(run.events.of("boot")) == 2, "both clusters")
        monitor.human(run.command.monitor, "nmi")
        report_of_nmi(run)


@pytest.mark.limit(150)
def test_nmi_in_the_kernel() -> None:
    """an NMI that finds the kernel's lock held is reported all the same"""
    with machine(deployment(1, 2), gdb_port=reserved_port()) as run:
        image = modules.module_path(f"kernel-{run.plan.cluster_map.clusters[0].kernel}")
        debugger = gdb.Debugger(run.options.gdb_port)
        debugger.run_to(pages.symbol(image, "invoke_tcb")[0])  # with the lock: an invocation is served
        monitor.human(run.command.monitor, "nmi")
        debugger.go_on()
        report_of_nmi(run)
        debugger.close()
