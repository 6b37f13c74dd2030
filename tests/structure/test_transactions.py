# SPDX-License-Identifier: BSD-2-Clause
"""Regime rtm: nothing that aborts a transaction stands between kernel_enter and kernel_exit, in the image as it
boots."""

from pathlib import Path

import pytest

from deploy.deployment import modules
from tests.structure import flow

KERNELS = [modules.module_path(f"kernel-rtm{stat}") for stat in ("", "+stat")]

# Where flow need not be followed, and why.
OUTSIDE = frozenset({
    "kernel_irrevocable",  # leaves the transaction; comes back with the lock, or not at all
    "rtm_unlock",  # called where the lock is held, which is where no transaction is
    "arch_panic",  # the first thing it prints aborts the transaction: the entry panics again, with the lock
})
# Reads and writes of devices' registers abort, too, though no instruction says so: whoever does that is not to be
# reached.
DEVICES = ("local_apic", "io_apic", "arch_gsi_mask", "arch_gsi_route", "arch_interrupt_cores", "arch_console",
           "arch_port", "arch_unload",
           "arch_finish")
# Some of what must have been reached, if anything has been followed at all.
INSIDE = {"kernel_syscall_entered", "schedule", "endpoint_send", "endpoint_receive", "invoke_untyped", "invoke_tcb",
          "slot_delete", "timer_expire", "irq_arrived", "doorbell_receive", "trap_call", "trap_reply_receive",
          "trap_signal_wait", "entry_declined"}


@pytest.mark.parametrize("image", KERNELS, ids=lambda path: path.stem)
def test_image(image: Path) -> None:
    """no instruction that aborts stands in a transaction"""
    reach = flow.transactions(flow.read(image), OUTSIDE)
    assert len(reach.begins) >= 6, "one for each way into the kernel"
    assert INSIDE <= reach.functions, f"not followed to {', '.join(sorted(INSIDE - reach.functions))}"
    devices = [name for name in reach.functions if name.startswith(DEVICES)]
    assert not devices, f"reached in transactions: {', '.join(sorted(devices))}"
    assert not reach.wrong, "\n".join(reach.wrong.values())


def test_only_rtm() -> None:
    """no other kernel begins transactions"""
    others = [modules.module_path(f"kernel-{lock}") for lock in modules.REGIMES if lock != "rtm"]
    assert not [path.name for path in others if flow.transactions(flow.read(path), OUTSIDE).begins]


def listing(*lines: str) -> flow.Listing:
    """One instruction a line, 16 bytes each; `name:` begins a function, which is called by `name`."""
    address, text, places = 0x1000, [], {}
    for line in lines:
        if line.endswith(":"):
            places[line[:-1]] = address
            text.append(f"{address:016x} <{line[:-1]}>:")
        else:
            text.append(f"    {address:x}:\t{line}")
            address += 16
    for name, place in places.items():
        text = [line.replace(f"@{name}", f"{place:x} <{name}>") for line in text]
    return flow.parse("\n".join(text))


FOUND = {
    "at once": ("enter:", "xbegin @enter", "pause", "xend"),
    "in a function": ("enter:", "xbegin @enter", "call @f", "xend", "ret", "f:", "mov %rax,%cr3", "ret"),
    "after a function": ("enter:", "xbegin @enter", "call @f", "wrmsr", "xend", "ret", "f:", "ret"),
    "on one of two ways": ("enter:", "xbegin @enter", "je @f", "xend", "ret", "f:", "swapgs", "ret"),
    "after a tail call": ("enter:", "xbegin @enter", "call @f", "hlt", "f:", "jmp @g", "g:", "ret"),
    "in a loop of calls": ("enter:", "xbegin @enter", "call @f", "xend", "ret", "f:", "je @g", "call @f",
                           "out %al,(%dx)", "g:", "ret"),
    "through a pointer": ("enter:", "xbegin @enter", "call *%rax", "xend"),
    "behind the caller": ("enter:", "xbegin @enter", "ret"),
    "a segment register": ("enter:", "xbegin @enter", "mov %eax,%ds", "xend"),
    "a string of ports": ("enter:", "xbegin @enter", "rep insb (%dx),%es:(%rdi)", "xend"),
    "registers of the user": ("enter:", "xbegin @enter", "xsave64 0x240(%rsi)", "xend"),
}
NOT_FOUND = {
    "after the end": ("enter:", "xbegin @enter", "mov %rax,%rbx", "xend", "pause"),
    "where it ends in a function": ("enter:", "xbegin @enter", "call @f", "pause", "f:", "xend", "ret"),
    "behind what leaves": ("enter:", "xbegin @enter", "call @kernel_irrevocable", "wrmsr", "kernel_irrevocable:",
                           "xabort $0x2", "ret"),
    "where the transaction aborts": ("out:", "pause", "ret", "enter:", "xbegin @out", "xend", "ret"),
    "reads through segments": ("enter:", "xbegin @enter", "mov %gs:0x10,%rax", "rep stos %al,%es:(%rdi)", "rdtsc",
                               "xend"),
}


@pytest.mark.parametrize("case", FOUND)
def test_finds(case: str) -> None:
    """an instruction that aborts is found"""
    assert len(flow.transactions(listing(*FOUND[case]), OUTSIDE).wrong) == 1


@pytest.mark.parametrize("case", NOT_FOUND)
def test_does_not_find(case: str) -> None:
    """what is outside transactions, or harmless, is not found"""
    assert not flow.transactions(listing(*NOT_FOUND[case]), OUTSIDE).wrong
