# SPDX-License-Identifier: BSD-2-Clause
"""Images that the loader would refuse are refused before they are in an image, with its reason."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from deploy.base import elf
from tests.unit.deploy.executables import ALL, BASE, READ_WRITE, executable
from tests.unit.steps import steps
from topology.errors import InputError

REFUSED = [
    ("ycsb", b"#!/bin/sh\n" * 10, "not an ELF64 file"),
    ("ycsb", executable(kind=3), "position-independent; link it with `skerry cc`"),
    ("ycsb", executable(kind=1), "not an executable"),
    ("ycsb", executable(first=3), "linked dynamically"),
    ("ycsb", executable(headers_at=68), "program headers"),
    ("ycsb", executable(headers_at=4096), "program headers"),
    ("ycsb", executable(flags=ALL), "0x400000 is writable and executable"),
    ("ycsb", executable(BASE, (READ_WRITE, BASE + 0x800, 16)), "0x400800 shares a page"),
    ("ycsb", executable(BASE, (READ_WRITE, BASE - 0x4000, 16)), "out of order"),
    ("ycsb", executable(BASE, (READ_WRITE, (1 << 32) - 16, 32)), "0xfffffff0 is outside"),
    ("ycsb", executable(elf.KERNEL_LOW), "is outside 0x1000"),
    ("kernel-clh", executable(), "is outside 0xffffffff80000000"),
    ("ycsb", executable(entry=BASE + 4096), "entry point 0x401000"),
    ("ycsb", executable(flags=READ_WRITE), "entry point 0x400000"),
]


@pytest.mark.parametrize("name,data,reason", REFUSED, ids=[reason for _, _, reason in REFUSED])
def test_refused(name: str, data: bytes, reason: str) -> None:
    """an image that the loader would refuse is refused by name"""
    with pytest.raises(InputError, match=f"(?s){name}.*{reason}"):
        elf.check(name, "file", data)


def test_linked_for_linux(tmp_path: Path) -> None:
    """what the host's compiler links statically is refused, too: it would end at its first system call"""
    program = tmp_path / "program"
    (tmp_path / "program.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-static", "-no-pie", "-o", program, tmp_path / "program.c"], check=True)
    with pytest.raises(InputError, match="is linked for Linux; link it with `skerry cc`"):
        elf.check("program", "file", program.read_bytes())


def test_many_notes() -> None:
    """notes without end are looked at a bounded number of times, and headers that lie about them are not followed"""
    sound = bytearray(executable(BASE, (READ_WRITE, BASE + 4096, 16)))
    for where, size in ((len(sound), 12 * 200_000), (len(sound), 1 << 63), (1 << 63, 1 << 63)):
        struct.pack_into("<IIQQQQQQ", sound, 64 + 56, elf.PT_NOTE, 4, where, 0, 0, size, size, 4)
        data = bytes(sound) + struct.pack("<III", 0, 0, 7) * 200_000

        def check(data: bytes = data) -> None:
            elf.check("ycsb", "file", data)
            raise ValueError("accepted")

        assert steps(check) < 20 * elf.NOTES


def test_accepted() -> None:
    """sound images of kernels and programs pass"""
    elf.check("kernel-clh", "file", executable(elf.KERNEL_LOW))
    elf.check("ycsb", "file", executable(BASE, (READ_WRITE, BASE + 4096, 1 << 20)))
