# SPDX-License-Identifier: BSD-2-Clause
"""Checks on a running machine, seen from outside, what docs/security.md says of the kernel's own memory."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.deployment import modules
from deploy.machine.run import Run
from tests.boot import gdb, pages
from tests.boot.machine import boots, deployment, machine, machine_booted
from tests.boot.pages import DIRECT_BASE, DIRECT_END, IMAGE_BASE, INTERRUPTS, KERNEL_HALF, PAGE, Page
from tests.ports import reserved_port
from topology import headers

CR0_WP = 1 << 16
CR4 = {"MCE": 1 << 6, "UMIP": 1 << 11, "SMEP": 1 << 20, "SMAP": 1 << 21}
CR4_PCE = 1 << 8  # user programs read performance counters
EFER_NXE = 1 << 11
BOOT = Path("cluster-kernel/include/skerry/boot.h")
STACKS_BASE = headers.macro(BOOT, "KERNEL_STACKS_BASE")
STACK_PAGES, FAULT_STACK_PAGES, STACKS_PAGES, STACKS_STRIDE = (headers.constant(BOOT, f"KERNEL_{name}") for name in (
    "STACK_PAGES", "FAULT_STACK_PAGES", "STACKS_PAGES", "STACKS_STRIDE"))
LOCK = "clh"
# Flags that a program has when it enters the kernel, which must not have them: AC switches SMAP off.
FLAGS = {"DF": 1 << 10, "IOPL": 3 << 12, "NT": 1 << 14, "AC": 1 << 18}
SYSCALL = b"\x0f\x05"
NOWHERE = 0x10  # no program maps the first page
# SDM 3, 6.14.1 and 8.7
GATE_SIZE, INTERRUPT_GATE, USER_LEVEL, BREAKPOINT = 16, 0x8E, 3 << 5, 3
TSS_SIZE, IST, IO_MAP = 104, 36, 102
OWN_STACK = (2, 8, 18)  # vectors, in the order of their stacks


def kernel_pages(run: Run, core: int) -> list[Page]:
    mapped = [page for page in pages.of_core(run, core) if page.vaddr >= KERNEL_HALF]
    assert any(page.vaddr >= IMAGE_BASE for page in mapped) and any(page.vaddr < DIRECT_END for page in mapped)
    return mapped


def faults_of(mapped: list[Page]) -> Iterator[str]:
    executable = {page.paddr // PAGE for page in mapped if page.executable}  # in pages of 4 KiB
    for page in mapped:
        if page.user:
            yield f"user programs reach {page}"
        if page.writable and page.executable:
            yield f"writable and executable: {page}"
        if DIRECT_BASE <= page.vaddr < DIRECT_END and page.executable:
            yield f"the direct map is executable: {page}"
        if page.writable and any(number in executable
                                 for number in range(page.paddr // PAGE, (page.paddr + page.size) // PAGE)):
            yield f"the kernel's code can be written through {page}"
    if not executable:
        yield "nothing is executable"


def stack_of(core: int) -> int:
    """The lowest address of a core's kernel stack, where its guard page is."""
    return STACKS_BASE + core * STACKS_STRIDE


@pytest.mark.limit(150)
def test_mappings() -> None:
    """on every core: kernel memory is out of programs' reach, code is not writable, and data not executable"""
    with machine_booted(deployment(2, 2, lock=LOCK, network=False)) as run:
        for core in range(4):
            wrong = list(faults_of(kernel_pages(run, core)))
            assert not wrong, f"core {core}:\n" + "\n".join(wrong[:10])


def fault_stacks(core: int) -> list[int]:
    """The lowest addresses of the stacks that a core has for NMI, double fault and machine check."""
    first = stack_of(core) + STACK_PAGES * PAGE
    return [first + i * FAULT_STACK_PAGES * PAGE for i in range(len(OWN_STACK))]


@pytest.mark.limit(150)
def test_guards() -> None:
    """a page that is not mapped lies below every kernel stack and every fault stack"""
    with machine_booted(deployment(2, 2, lock=LOCK, network=False)) as run:
        for cluster, first in enumerate((0, 2)):
            mapped = {page.vaddr for page in kernel_pages(run, first)}
            for core in range(2):
                stack = stack_of(core)
                assert stack not in mapped, f"cluster {cluster}: no guard page under the stack of core {core}"
                assert {stack + PAGE, stack + 2 * PAGE, stack + 3 * PAGE} <= mapped
                for number, fault in enumerate(fault_stacks(core)):
                    assert fault not in mapped, f"cluster {cluster}, core {core}: no guard page under fault stack {number}"
                    assert fault + PAGE in mapped
                rest = range(stack + STACKS_PAGES * PAGE, stack + STACKS_STRIDE, PAGE)
                assert not mapped.intersection(rest), f"cluster {cluster}: pages behind the stacks of core {core}"


@pytest.mark.limit(150)
def test_gates() -> None:
    """programs reach the breakpoint's gate alone, and no port; NMI, double fault and machine check have stacks of their
    own"""
    with machine_booted(deployment(1, 2, lock=LOCK, network=False)) as run:
        for core, tables in pages.descriptors(run).items():
            idt = pages.memory(run, core, tables.idt, 256 * GATE_SIZE)
            tss = pages.memory(run, core, tables.tss, TSS_SIZE)
            assert tables.idt_limit == len(idt) - 1 and tables.tss_limit == TSS_SIZE - 1, tables
            for vector in range(256):
                stack, kind = idt[vector * GATE_SIZE + 4], idt[vector * GATE_SIZE + 5]
                assert kind == INTERRUPT_GATE | (USER_LEVEL if vector == BREAKPOINT else 0), f"gate {vector}: {kind:#x}"
                assert stack == (OWN_STACK.index(vector) + 1
                                 if vector in OWN_STACK else 0), f"gate {vector}: stack {stack}"
            tops = struct.unpack_from("<3Q", tss, IST)
            assert [top - 2 * PAGE for top in tops] == fault_stacks(core), f"core {core}: {tops}"
            assert struct.unpack_from("<H", tss, IO_MAP)[0] > tables.tss_limit, f"core {core}: ports are free"


@pytest.mark.limit(150)
def test_identity() -> None:
    """the loader's identity mapping is gone: what is mapped in the lower half is user programs'"""
    with machine_booted(deployment(2, 2, lock=LOCK, network=False)) as run:
        for core in range(4):
            left = [str(page) for page in pages.of_core(run, core) if page.vaddr < KERNEL_HALF and not page.user]
            assert not left, f"core {core}: {left[:5]}"


@pytest.mark.limit(150)
def test_registers() -> None:
    """every core has write protection, NX, SMEP, SMAP, UMIP and machine checks, and keeps programs from performance
    counters"""
    with machine_booted(deployment(2, 2, lock=LOCK, network=False)) as run:
        cores = pages.registers(run)
        assert set(cores) == {0, 1, 2, 3}
        for core, register in cores.items():
            missing = [name for name, bit in CR4.items() if not register["CR4"] & bit]
            assert not missing, f"core {core}: no {', '.join(missing)}"
            assert register["CR0"] & CR0_WP, f"core {core}: no write protection"
            assert register["EFER"] & EFER_NXE, f"core {core}: no NX"
            assert not register["CR4"] & CR4_PCE, f"core {core}: RDPMC is allowed"


@pytest.mark.limit(150)
def test_stack_overflow() -> None:
    """a kernel stack that overflows into its guard page is a double fault, reported on a stack of its own, and ends all
    cores"""
    with machine(deployment(1, 2, lock=LOCK, network=False), gdb_port=reserved_port()) as run:
        debugger = gdb.Debugger(run.options.gdb_port)
        debugger.go_on()
        run.wait_for(lambda: boots(run), "all clusters")
        guard = stack_of(0)
        debugger.make_kernel_fault(core=0, stack=guard + PAGE + 16)  # room for two words
        run.wait_for(lambda: "kernel panic: cluster 0 core 0" in run.own_console and "backtrace" in run.own_console,
                     "the panic's report")
        report = run.own_console[run.own_console.index("kernel panic"):]
        assert "vector 8" in report, report
        cr2 = int(report.split("cr2 ")[1].split()[0], 16)
        assert guard <= cr2 < guard + PAGE, report
        run.wait_for(lambda: all(core.parked for core in pages.descriptors(run).values()),
                     "both cores to halt for good")
        debugger.close()


def flags_in_kernel(way_in: str, where: int) -> int:
    """Returns the flags with which the kernel's C code is reached at `way_in` from a program that has all of FLAGS and
    goes on at `where`."""
    with machine(deployment(1, 1, lock=LOCK, network=False), gdb_port=reserved_port()) as run:
        debugger = gdb.Debugger(run.options.gdb_port)
        debugger.run_to(pages.symbol(modules.module_path("root"), "_start")[0])
        debugger.set_register(gdb.EFLAGS, INTERRUPTS | 2 | sum(FLAGS.values()))
        debugger.set_register(gdb.RAX, NO_SYSTEM_CALL)
        debugger.set_register(gdb.RIP, where)
        debugger.run_to(pages.symbol(modules.module_path(f"kernel-{LOCK}"), way_in)[0])
        flags = debugger.flags()
        debugger.close()
        return flags


NO_SYSTEM_CALL = 999


def refused(flags: int) -> list[str]:
    return [name for name, bits in FLAGS.items() if flags & bits]


@pytest.mark.limit(150)
@pytest.mark.parametrize("way_in", ["kernel_syscall", "trap_user"])
def test_flags(way_in: str) -> None:
    """behind SYSCALL, and behind an exception, the kernel has none of the program's flags DF, IOPL, NT, AC and IF"""
    where = NOWHERE if way_in == "trap_user" else pages.first_bytes(modules.module_path("root"), SYSCALL)
    flags = flags_in_kernel(way_in, where)
    assert not refused(flags), f"the kernel runs with {', '.join(refused(flags))}"
    assert not flags & INTERRUPTS, "the kernel runs with interrupts on"
