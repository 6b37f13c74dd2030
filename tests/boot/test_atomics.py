# SPDX-License-Identifier: BSD-2-Clause
"""Atomic instructions of the kernel in the executed stream: none where all objects are at home on the core that uses
them."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deploy.base.paths import BUILD
from deploy.base.symbols import Image
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench, events
from deploy.bench.ipc import pingpong
from deploy.emulator.plugin import arguments, plugin
from deploy.machine import qemu
from deploy.profile.programs import Block, Program, read_blocks
from tests.boot.machine import PATIENCE
from tests.boot.test_bench import counted
from topology.maps.clustermap import FINE

# of Call and ReplyRecv between two address spaces, the first operation of `bench ipc`
ROUNDS, BEFORE, COUNTED = 500, 300, 100
KERNEL_HALF = 1 << 63
LOCK, EXCHANGE = 0xF0, (0x86, 0x87)
PREFIXES = (LOCK, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0x66, 0x67, *range(0x40, 0x50))
REGISTERS = 0xC0  # ModRM: both operands are registers


def is_atomic(code: bytes) -> bool:
    """Whether an instruction locks the bus: LOCK says so, or it is an exchange with memory."""
    size = next(at for at, byte in enumerate(code) if byte not in PREFIXES)
    return LOCK in code[:size] or (code[size] in EXCHANGE and code[size + 1] < REGISTERS)


def atomic_executions(block: Block) -> int:
    begins = (place - block.address for place in block.places())
    return block.executions * sum(is_atomic(block.code[at : at + length]) for at, length in zip(begins, block.lengths))


@dataclass(frozen=True)
class Executed:
    """Instructions of the kernel in a round trip."""

    instructions: float
    atomic: float


@cache
def round_trip(lock: str, granularity: str | None = None, local: bool = False) -> Executed:
    target = pingpong.machine(lock, "ipc", str(ROUNDS), *pingpong.AT_HOME[local], granularity=granularity)
    image = BUILD / "cluster-kernel" / f"kernel-{lock}.elf"
    entry = Image(image).symbol("trap_reply_receive").address
    with TemporaryDirectory(prefix="skerry-atomics-") as folder:
        out = Path(folder) / "blocks"
        window = {"skip": str(BEFORE), "count": str(COUNTED),
                  "to": f"{entry:x}:{Program(image.stem, image).bytes_at(entry, 15).hex()}"}
        extra = arguments(BUILD / plugin("profile"), {"out": str(out)} | window)
        events(target, Bench(qemu.tcg_for(1, counted=True), Patience(PATIENCE)), extra)
        ours = [block for block in read_blocks(out) if block.address >= KERNEL_HALF]
    return Executed(sum(block.instructions for block in ours) / COUNTED, sum(map(atomic_executions, ours)) / COUNTED)


@pytest.mark.limit(200)
def test_none_at_home() -> None:
    """all objects at home on one core: its Call and ReplyRecv execute no atomic instruction, and a Call at most 131 in
    all"""
    assert round_trip("dynamic", FINE, True).atomic == 0
    measured = counted("dynamic", granularity=FINE, local=True)
    ways = [measured.spread[name] for name in ("call", "reply_recv")]
    assert all(way.least == way.most for way in ways) and ways[0].median <= 131 and ways[1].median <= 155
    assert round_trip("dynamic", FINE, True).instructions == sum(way.median for way in ways)


@pytest.mark.limit(200)
@pytest.mark.parametrize(("lock", "granularity", "least"),
                         [("dynamic", FINE, 4), ("dynamic", "coarse", 2), ("clh", None, 2), ("fine", None, 8),
                          ("none", None, 0)])
def test_others(lock: str, granularity: str | None, least: int) -> None:
    """where locks are taken, their atomic instructions are seen: the kernel's, or those of endpoint and reply object on
    both ways"""
    atomic = round_trip(lock, granularity).atomic
    assert atomic == 0 if least == 0 else atomic >= least


def test_is_atomic() -> None:
    """atomic instructions are told from others by their bytes"""
    atomic = ("f00fc111", "f0480fb10f", "66f00fc111", "87 02", "48 87 11", "65 48 87 14 25 00 00 00 00")
    others = ("4887c3", "0fc111", "90", "48c7c0f0000000", "87c0", "f390")
    assert all(is_atomic(bytes.fromhex(code)) for code in atomic) and not any(is_atomic(bytes.fromhex(code))
                                                                              for code in others)
