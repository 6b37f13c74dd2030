# SPDX-License-Identifier: BSD-2-Clause
"""A program with more static memory than the least root CNode has slots for: 4 KiB a slot."""

import json
import struct
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import BUILD
from deploy.deployment import Deployment, Program
from deploy.deployment.planner import plan
from deploy.machine import image, qemu
from tests.boot.machine import ANSWER
from topology.machines.machine import Shape
from topology.units import GIB, MIB

pytestmark = pytest.mark.drawn

LOADER = BUILD / "cluster-manager/loader/loader.elf"
STATIC = 300 * MIB  # 76,800 pages, of 65,536 slots
MANY_TABLES = 3000 * MIB  # 1,500 blocks of 4 KiB
HIGH = 0x40000000  # behind the program's own segments
PAGE, SMALL = 4096, 256 * MIB
LEFT = range(84, 120, 2)  # pages less than are free when no program runs: about as many as its page tables take
LOAD, GNU_STACK, READABLE, WRITABLE = 1, 0x6474E551, 4, 2


def with_static_memory(program: bytes, more: int) -> bytes:
    """The ELF file, its writable segment so many bytes larger in memory."""
    data = bytearray(program)
    (table,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for header in (table + 56 * i for i in range(count)):
        kind, flags = struct.unpack_from("<II", data, header)
        if kind == LOAD and flags & WRITABLE:
            (size,) = struct.unpack_from("<Q", data, header + 40)
            struct.pack_into("<Q", data, header + 40, size + more)
            return bytes(data)
    raise AssertionError("no writable segment")


def with_read_only_memory(program: bytes, more: int) -> bytes:
    """The ELF file with another segment, read-only, in the place of what it says of its stack."""
    data = bytearray(program)
    (table,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for header in (table + 56 * i for i in range(count)):
        if struct.unpack_from("<I", data, header) == (GNU_STACK,):
            struct.pack_into("<IIQQQQQQ", data, header, LOAD, READABLE, 0, HIGH, HIGH, 0, more, 4096)
            return bytes(data)
    raise AssertionError("nothing is said of a stack")


def boot(folder: Path, memory: int, larger: Callable[[bytes], bytes],
         heap: int = 2 * MIB) -> tuple[int, str, list[dict[str, Any]]]:
    """Boots a machine whose one program is `sleep`, changed. Returns its exit status, console and results."""
    program = Program("sleep", heap=heap, args=("1", "1"), barrier=True)
    target = plan(Deployment(shape=Shape(1, 1, memory), programs=(program,), network=False))
    files = dict(image.contents(target.cluster_map))
    initrd, results = folder / "initrd", folder / "results"
    initrd.write_bytes(image.cpio(files | {"sleep": larger(files["sleep"])}))
    machine = ("-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", str(memory // MIB), "-display", "none", "-no-reboot",
               "-nic", "none")
    ports = ("-serial", "stdio", "-serial", f"file:{results}", "-device", "isa-debug-exit,iobase=0xf4,iosize=4")
    done = subprocess.run([qemu.BINARY, *machine, *ports, "-kernel", str(LOADER), "-initrd", str(initrd)],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER)
    return done.returncode, done.stdout.decode(errors="replace"), [json.loads(line)
                                                                   for line in results.read_text().splitlines()]


@pytest.mark.parametrize("larger, size, memory",
                         [(with_static_memory, STATIC, GIB), (with_static_memory, MANY_TABLES, 4 * GIB),
                          (with_read_only_memory, STATIC, GIB)], ids=["writable", "with many page tables", "read-only"])
def test_large_program(tmp_path: Path, larger: Callable[..., bytes], size: int, memory: int) -> None:
    """a program with much static memory is started: its pages are counted for the root CNode, its page tables for the
    allocator's records"""
    status, console, _ = boot(tmp_path, memory, partial(larger, more=size))
    assert status == qemu.EXIT_SUCCESS, console
    assert "all went well" in console


def test_no_memory_left(tmp_path: Path) -> None:
    """a program that leaves a few pages of the memory, or none, for its page tables is refused, and the manager goes
    on"""
    _, _, results = boot(tmp_path, SMALL, lambda program: program)
    (free,) = (event["free"] for event in results if event["event"] == "memory")
    for less in LEFT:
        _, console, _ = boot(tmp_path, SMALL, partial(with_static_memory, more=free - less * PAGE))
        assert "cannot be started: loading the program" in console and "the run is over" in console, f"{less}: {console}"


def test_refused_program(tmp_path: Path) -> None:
    """a program that is refused keeps nothing of what it would have shared with others of its file"""
    _, console, results = boot(tmp_path, SMALL, partial(with_read_only_memory, more=SMALL // 4), heap=SMALL // 4 * 3)
    assert "cannot be started: its heap" in console
    (memory,) = (event for event in results if event["event"] == "memory")
    assert memory["total"] - memory["free"] < 2 * MIB
