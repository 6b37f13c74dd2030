# SPDX-License-Identifier: BSD-2-Clause
"""No waiting loop of a kernel goes on by how often it has turned: modelled machines skip turns of loops with PAUSE
(emulator/modelled/pause.c)."""

from pathlib import Path

import pytest

from deploy.deployment import modules
from tests.structure import flow, spinning
from tests.structure.test_transactions import listing

KERNELS = [modules.module_path(f"kernel-{name}")
           for name in (*(f"{lock}{stat}" for lock in modules.REGIMES for stat in ("", "+stat")), modules.MODELLED_RTM)]

# Loops that do, and why their turns are not skipped.
COUNTED = {
    "uart_put": "reads a port in each turn, and such a loop is not parked",
    "uart_drain": "reads a port in each turn, and such a loop is not parked",
    "rtm_aborted": "a modelled machine's transactions always commit; their waits are modelled (transactions.c)",
}
# Some of those that must have been found, if any have been.
WAITING = {"clh": "clh_wait", "ticket": "ticket_wait", "mcs": "mcs_wait", "fine": "ticket_wait", "rtm": "clh_wait",
           "dynamic": "clh_wait"}


@pytest.mark.parametrize("image", KERNELS, ids=lambda path: path.stem)
def test_image(image: Path) -> None:
    """no loop with PAUSE in the kernel goes on by a count of its turns"""
    waits = list(spinning.waits(flow.read(image)))
    functions = {wait.function for wait in waits}
    regime = image.stem.removeprefix("kernel-").split("+")[0]
    assert {"remote_request", "arch_finish", WAITING.get(regime, "remote_request")} <= functions, sorted(functions)
    wrong = [f"{wait.function}: {wait.counted:#x}" for wait in waits if wait.counted and wait.function not in COUNTED]
    assert not wrong, f"{image.name} goes on by a count: {', '.join(wrong)}"


def test_known() -> None:
    """each exception is one"""
    counted = {wait.function for image in KERNELS for wait in spinning.waits(flow.read(image)) if wait.counted}
    assert counted == set(COUNTED)


def decides(*lines: str) -> list[bool]:
    return [wait.counted is not None for wait in spinning.waits(listing("f:", *lines))]


WAIT = ("pause", "mov (%rdi),%eax", "cmp %esi,%eax", "jne 1000 <f>", "ret")


def test_waits() -> None:
    """a loop that only counts is told from one that goes on by its count"""
    assert decides(*WAIT) == [False]
    assert decides("pause", "add $0x1,%rbx", "mov (%rdi),%eax", "cmp %esi,%eax", "jne 1000 <f>", "mov %rbx,%rax",
                   "ret") == [False]
    assert decides("pause", "addq $0x1,0x8(%rsp)", "mov (%rdi),%eax", "test %eax,%eax", "jne 1000 <f>",
                   "ret") == [False]
    assert decides("pause", "mov (%rdi,%rcx,8),%eax", "test %eax,%eax", "jne 1000 <f>", "add $0x1,%ecx",
                   "cmp %edx,%ecx", "jne 1000 <f>", "ret")[0]


@pytest.mark.parametrize("lines", [
    ("pause", "dec %ecx", "jne 1000 <f>", "ret"),
    ("pause", "sub $0x1,%r12d", "mov (%rdi),%eax", "cmp $0x5,%r12", "jne 1000 <f>", "ret"),
    ("pause", "lea -0x1(%rbx),%edx", "mov %edx,%ebx", "cmp $0xffffffff,%ebx", "jne 1000 <f>", "ret"),
    ("pause", "addl $0x1,0x8(%rsp)", "mov 0x8(%rsp),%eax", "cmp $0x64,%eax", "jne 1000 <f>", "ret"),
    ("pause", "add $0x1,%ecx", "mov %ecx,%eax", "and $0xff,%eax", "test %eax,%eax", "jne 1000 <f>", "ret"),
    ("pause", "add $0x1,%ecx", "cmp $0x64,%ecx", "sete %dl", "test %dl,%dl", "je 1000 <f>", "ret"),
], ids=lambda lines: lines[1])
def test_counts(lines: tuple[str, ...]) -> None:
    """each way to go on by a count is found"""
    assert decides(*lines) == [True]


def test_called() -> None:
    """a call of kernel_relax() is a PAUSE, and only the innermost loop counts"""
    relax = ("kernel_relax:", "pause", "ret")
    assert decides("call @kernel_relax", "dec %ecx", "jne 1000 <f>", "ret", *relax) == [True]
    assert decides("push %rbx", "call @kernel_relax", "mov (%rdi),%eax", "test %eax,%eax", "jne 1010 <f>", "dec %ecx",
                   "jne 1000 <f>", "ret", *relax) == [False]
