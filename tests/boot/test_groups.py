# SPDX-License-Identifier: BSD-2-Clause
"""Interrupts in groups: in x2APIC mode one command reaches several cores, in xAPIC mode one."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.timeouts import Patience
from deploy.machine import qemu
from tests.boot.machine import machine
from tests.boot.test_ktest import MSI_DEVICE, SILENCE, ktest

COMMAND = re.compile(r"apic_register_write register 0x30 = 0x([0-9a-f]+)")
# of a command: its vector (VECTOR_RESCHEDULE of cluster-kernel/arch-x86_64/local_apic.h), and SDM 3, 11.6.1
VECTOR, RESCHEDULE, LOGICAL = 0xFF, 0xF0, 1 << 11
MEMBERS = 0xFFFF  # of a logical destination, which is in the upper half of an x2APIC command


def commands(folder: Path, cpu: str) -> list[int]:
    """Boots ktest on a cluster of four cores. Returns the commands that interrupt other cores of it, or its own at the
    start."""
    trace = folder / "trace"
    accel = replace(qemu.TCG_TURNS, arguments=("-accel", "tcg,thread=single", "-cpu", cpu))
    with machine(ktest(1, 4, "clh"), patience=Patience(SILENCE), accel=accel,
                 extra=(*MSI_DEVICE, "-trace", f"enable=apic_register_write,file={trace}")) as run:
        run.wait_done()
        assert run.events.of("ktest")[0]["failed"] == 0
    with trace.open() as lines:
        words = [int(found[1], 16) for line in lines if (found := COMMAND.search(line))]
    return [word for word in words if word & VECTOR == RESCHEDULE]


@pytest.mark.limit(200)
@pytest.mark.skipif(qemu.version() < (9, 0),
                    reason="this QEMU's emulator has no x2APIC: bookworm-backports has a newer qemu-system-x86")
def test_groups(tmp_path: Path) -> None:
    """an interrupt to several cores of a group is one command"""
    sent = commands(tmp_path, "max")
    assert sent and all(word & LOGICAL for word in sent)
    reached = {(word >> 32 & MEMBERS).bit_count() for word in sent}
    assert {1, 3} <= reached <= {1, 2, 3}  # a core itself is not interrupted


@pytest.mark.limit(200)
def test_alone(tmp_path: Path) -> None:
    """without x2APIC each core is interrupted by its id"""
    sent = commands(tmp_path, "max,-x2apic")
    assert sent and not any(word & LOGICAL for word in sent)
