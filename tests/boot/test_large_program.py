# SPDX-License-Identifier: BSD-2-Clause
"""A program with more static memory than the least root CNode has slots for: 4 KiB a slot."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from deploy import image, qemu
from deploy.deployment import Deployment, Program
from deploy.expand import plan
from deploy.paths import BUILD
from topology.machine import Shape
from topology.units import GIB, MIB

LOADER = BUILD / "cluster-manager/loader/loader.elf"
STATIC = 300 * MIB  # 76,800 pages, of 65,536 slots
WRITABLE = 2


def with_static_memory(program: bytes, more: int) -> bytes:
    """The ELF file, its writable segment so many bytes larger in memory."""
    data = bytearray(program)
    (table,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for header in (table + 56 * i for i in range(count)):
        kind, flags = struct.unpack_from("<II", data, header)
        if kind == 1 and flags & WRITABLE:
            (size,) = struct.unpack_from("<Q", data, header + 40)
            struct.pack_into("<Q", data, header + 40, size + more)
            return bytes(data)
    raise AssertionError("no writable segment")


def test_large_program(tmp_path: Path) -> None:
    """a program with 300 MiB of static memory is started: the loader counts its pages where it sizes the root CNode"""
    program = Program("sleep", heap=2 * MIB, args=("1", "1"), barrier=True)
    wanted = plan(Deployment(shape=Shape(1, 1, GIB), programs=(program,), network=False))
    files = dict(image.contents(wanted.cluster_map))
    initrd = tmp_path / "initrd"
    initrd.write_bytes(image.cpio(files | {"sleep": with_static_memory(files["sleep"], STATIC)}))
    machine = ("-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-display", "none", "-no-reboot")
    ports = ("-serial", "stdio", "-serial", "null", "-device", "isa-debug-exit,iobase=0xf4,iosize=4")
    done = subprocess.run(
        [qemu.BINARY, *machine, *ports, "-kernel", str(LOADER), "-initrd", str(initrd)],
        stdin=subprocess.DEVNULL, capture_output=True,
    )
    assert done.returncode == qemu.EXIT_SUCCESS, done.stdout.decode(errors="replace")
    assert b"all went well" in done.stdout
