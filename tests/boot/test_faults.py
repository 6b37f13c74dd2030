# SPDX-License-Identifier: BSD-2-Clause
"""Faults of programs and of the loader, and guards."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.deployment import Program, modules
from deploy.machine import image, monitor, qemu
from deploy.machine.run import Run
from tests.boot import gdb, pages
from tests.boot.machine import assert_serve, client, crash, deployment, machine, machine_serving, servers, with_redis
from tests.ports import reserved_port
from topology.units import MIB

# ---- What breaks takes nothing else with it: a program its process, a kernel its cluster ----

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
    with machine_serving(replace(with_redis(), programs=programs)) as run:
        run.wait_for(lambda: len(run.events.of("fault")) == len(WAYS), "a fault of every kind")
        for event in run.events.of("fault"):
            way = str(event["app"]).partition("@")[0].removeprefix("crash-")
            assert WAYS[way] in str(event["cause"]).lower(), event
            assert event["rip"] and event["rsp"], event
        assert not run.events.of("exit") and not run.events.of("failed")
        assert "killed: page fault" in run.console
        assert_serve(run)


@pytest.mark.limit(150)
def test_kernel() -> None:
    """a kernel that panics parks its own cluster, and the others go on"""
    with machine(with_redis(), gdb_port=reserved_port()) as run:
        debugger = gdb.Debugger(run.options.gdb_port)
        debugger.go_on()
        run.wait_serving()
        by_cluster = {run.plan.cluster_map.cluster_of(run.plan.application(name).cpu).number: name
                      for name in servers(run)}
        debugger.make_kernel_fault(core=2)
        run.wait_for(lambda: "kernel panic: cluster 1" in run.own_console, "the panic's report")
        run.wait_event("cluster-lost", cluster=1)
        with client(run, by_cluster[0]) as server:
            for number in range(100):
                assert server.incr("after") == number + 1
        assert "kernel panic: cluster 0" not in run.own_console
        report = run.panics()
        assert report and "cluster 1" in report[0]
        assert any(".c:" in line or ".S:" in line for line in report[1:]), report
        assert run.running
        debugger.close()


def report_of_nmi(run: Run) -> None:
    """Checks for the report of the boot processor's cluster, whole, and of no other."""
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


# ---- An exception in the loader: one line that says which and where, and the loader's exit status ----

LOADER = BUILD / "cluster-manager/loader/test-loader-exception.elf"
LINE = re.compile(r"skerry loader: refused: exception (\d+) at RIP 0x([0-9a-f]+): error code 0x([0-9a-f]+), CR2 "
                  r"0x([0-9a-f]+)")
LOADED = range(0x10_0000, 0x20_0000)  # where the loader's code is, cluster-manager/loader/loader.ld

EXCEPTIONS = [
    ("divide", 0, 0, None), ("undefined", 6, 0, None), ("protection", 13, 0, None), ("page", 14, 2, 1 << 45),
]  # CR2 says something of a page fault only


@pytest.mark.parametrize("name,vector,error,address", EXCEPTIONS, ids=[name for name, *_ in EXCEPTIONS])
def test_exception(name: str, vector: int, error: int, address: int | None, tmp_path: Path) -> None:
    """a loader that faults says which exception it was, and where, and ends"""
    initrd = tmp_path / "initrd"
    initrd.write_bytes(image.cpio({"map": bytes(8)}))  # which it does not come to
    machine = ("-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", "256", "-display", "none", "-no-reboot", "-nic",
               "none")
    done = subprocess.run(
        [qemu.BINARY, *machine, "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-serial", "stdio", "-kernel",
         str(LOADER),
         "-initrd", str(initrd), "-append", name],
        stdin=subprocess.DEVNULL, capture_output=True,
    )
    printed = done.stdout.decode(errors="replace").splitlines()
    assert done.returncode == qemu.EXIT_REFUSED, (done.returncode, printed)
    line = LINE.fullmatch(printed[-1])
    assert line and len(printed) == 1, printed
    assert int(line[1]) == vector and int(line[3], 16) == error
    assert address is None or int(line[4], 16) == address
    assert int(line[2], 16) in LOADED


@pytest.mark.limit(180)
@pytest.mark.parametrize("uefi", [False, True], ids=["BIOS", "UEFI"])
def test_grub(uefi: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """a loader that faults when GRUB has started it says so, too"""
    monkeypatch.setattr(modules, "LOADER", LOADER.relative_to(BUILD))
    with machine(deployment(), medium="iso", uefi=uefi, patience=Patience(120)) as run:
        with pytest.raises(Failure, match=f"exception 14 at RIP 0x1[0-9a-f]{{5}}: error code 0x2, CR2 0x{1 << 45:x}"):
            run.wait_done()


# ---- Pages that a program protects are protected, guard pages of stacks guard, and nothing but the ----

FAULTS = {  # the way, and what its report says
    "thread": ("write", "guard page of a stack"), "first": ("write", "guard page of a stack"),
    "read-only": ("write (not allowed there)", "protected"), "none": ("read", "protected"),
    "reserved": ("write", "protected"),
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
    with machine_serving(replace(with_redis(), programs=tuple(guard(way, 1) for way in FAULTS))) as run:
        run.wait_for(lambda: len(run.events.of("fault")) == len(FAULTS), "a fault of each")
        for event in run.events.of("fault"):
            access, place = FAULTS[way(event["app"])]
            assert access in str(event["cause"]) and str(event["cause"]).endswith(place), event
            expected = re.search(rf"\[{event['app']}\] expected at 0x([0-9a-f]+)", run.console)
            assert not expected or int(expected[1], 16) == event["address"], event
        assert not run.events.of("exit") and "not reached" not in run.console
        assert_serve(run)


@pytest.mark.limit(300)
def test_hostile_requests() -> None:
    """ranges that are not the program's are refused, limits hold, and 60 threads that protect at once see their own
    content"""
    with machine(deployment(network=False, programs=tuple(guard(way, 1) for way in ENDS), shutdown="when-done")) as run:
        run.wait_for(lambda: len(run.events.of("exit")) + len(run.events.of("fault")) == len(ENDS), "the end of each")
        assert not run.events.of("fault")
        assert {way(event["app"]): event["status"] for event in run.events.of("exit")} == dict.fromkeys(ENDS, 0)
