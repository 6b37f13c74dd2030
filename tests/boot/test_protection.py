# SPDX-License-Identifier: BSD-2-Clause
"""What docs/security.md says of the kernel's own memory, on a running machine, seen from outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy import modules
from deploy.boot import Run
from tests.boot import gdb, pages
from tests.boot.machine import deployment, machine
from tests.boot.pages import DIRECT_BASE, DIRECT_END, IMAGE_BASE, KERNEL_HALF, PAGE, Page

CR0_WP = 1 << 16
CR4 = {"UMIP": 1 << 11, "SMEP": 1 << 20, "SMAP": 1 << 21}
CR4_PCE = 1 << 8  # user programs read performance counters
EFER_NXE = 1 << 11
MAX_CORES = 60  # BOOT_MAX_CPUS
LOCK = "clh"


def booted(run: Run) -> None:
    run.wait_for(lambda: len(run.events.of("boot")) == len(run.plan.cluster_map.clusters), "all clusters")


def kernel_pages(run: Run, core: int) -> list[Page]:
    found = [page for page in pages.of_core(run, core) if page.vaddr >= KERNEL_HALF]
    assert any(page.vaddr >= IMAGE_BASE for page in found) and any(page.vaddr < DIRECT_END for page in found)
    return found


def faults_of(found: list[Page]) -> Iterator[str]:
    executable = {page.paddr // PAGE for page in found if page.executable}  # in pages of 4 KiB
    for page in found:
        if page.user:
            yield f"user programs reach {page}"
        if page.writable and page.executable:
            yield f"writable and executable: {page}"
        if DIRECT_BASE <= page.vaddr < DIRECT_END and page.executable:
            yield f"the direct map is executable: {page}"
        if page.writable and any(number in executable for number in range(page.paddr // PAGE, (page.paddr + page.size) // PAGE)):
            yield f"the kernel's code can be written through {page}"
    if not executable:
        yield "nothing is executable"


def stacks() -> list[int]:
    """The lowest address of each core's kernel stack, where its guard page is."""
    base, size = pages.symbol(modules.module_path(f"kernel-{LOCK}"), "core_stack")
    return [base + core * size // MAX_CORES for core in range(MAX_CORES)]


@pytest.mark.limit(150)
def test_mappings() -> None:
    """on every core: kernel memory is out of programs' reach, code is not writable, and data not executable"""
    with machine(deployment(2, 2, lock=LOCK, network=False)) as run:
        booted(run)
        for core in range(4):
            wrong = list(faults_of(kernel_pages(run, core)))
            assert not wrong, f"core {core}:\n" + "\n".join(wrong[:10])


@pytest.mark.limit(150)
def test_guards() -> None:
    """a page that is not mapped lies below every kernel stack"""
    with machine(deployment(2, 2, lock=LOCK, network=False)) as run:
        booted(run)
        for cluster, first in enumerate((0, 2)):
            mapped = {page.vaddr for page in kernel_pages(run, first)}
            for core, stack in enumerate(stacks()[:2]):
                assert stack not in mapped, f"cluster {cluster}: no guard page under the stack of core {core}"
                assert {stack + PAGE, stack + 2 * PAGE, stack + 3 * PAGE} <= mapped


@pytest.mark.limit(150)
def test_identity() -> None:
    """the loader's identity mapping is gone: what is mapped in the lower half is user programs'"""
    with machine(deployment(2, 2, lock=LOCK, network=False)) as run:
        booted(run)
        for core in range(4):
            left = [str(page) for page in pages.of_core(run, core) if page.vaddr < KERNEL_HALF and not page.user]
            assert not left, f"core {core}: {left[:5]}"


@pytest.mark.limit(150)
def test_registers() -> None:
    """every core has write protection, NX, SMEP, SMAP and UMIP, and keeps programs from performance counters"""
    with machine(deployment(2, 2, lock=LOCK, network=False)) as run:
        booted(run)
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
    """a kernel stack that overflows into its guard page is a double fault, reported on a stack of its own"""
    with machine(deployment(1, 2, lock=LOCK, network=False), gdb_port=gdb.free_port()) as run:
        debugger = gdb.Debugger(run.options.gdb_port)
        debugger.go_on()
        booted(run)
        guard = stacks()[0]
        debugger.make_kernel_fault(core=0, stack=guard + PAGE + 16)  # room for two words
        run.wait_for(lambda: "kernel panic: cluster 0 core 0" in run.console and "backtrace" in run.console, "the panic's report")
        report = run.console[run.console.index("kernel panic"):]
        assert "vector 8" in report, report
        cr2 = int(report.split("cr2 ")[1].split()[0], 16)
        assert guard <= cr2 < guard + PAGE, report
        debugger.close()
