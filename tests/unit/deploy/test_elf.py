# SPDX-License-Identifier: BSD-2-Clause
"""ELF files, and marks in them."""

import json
import struct
import subprocess
from pathlib import Path

import pytest

from deploy.base import elf
from deploy.base.errors import Failure
from deploy.emulator.lockstep import Marks
from tests.unit.deploy.executables import ALL, BASE, READ_WRITE, executable
from tests.unit.steps import steps
from topology.errors import InputError

# ---- Images that the loader would refuse are refused before they are in an image, with its reason ----

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


# ---- What the emulator's plugin writes at the guest's marks, and of turns that it should not have skipped ----

MARK = {"marker": 1, "core": 0, "clock": 1000, "late": 2, "misparked": 0, "executed": [7], "kernel": [3],
        "instructions": [5]}
SKIPPED = {"misparked": 12, "core": 3, "pause": "0x401000"}


def marks(folder: Path, *lines: object, end: str = "") -> Marks:
    made = Marks(folder, Path("plugin.so"), {})
    made.file.write_text("".join(json.dumps(line) + "\n" for line in lines) + end)
    return made


def test_read(tmp_path: Path) -> None:
    """marks are read; a line of turns that were skipped is none"""
    (first, second) = marks(tmp_path, MARK, SKIPPED, MARK | {"marker": 2, "misparked": 12}).read()
    assert (first.number, first.late, first.misparked, first.instructions) == (1, 2, 0, (5,))
    assert (second.number, second.misparked) == (2, 12)


def test_parking(tmp_path: Path) -> None:
    """a run in which turns were skipped that were not equal fails, and names the first place"""
    marks(tmp_path, MARK, MARK).check_parking()
    with pytest.raises(Failure, match="skipped 12 turns .*core 3, the PAUSE at 0x401000.*clocks are wrong"):
        marks(tmp_path, MARK, SKIPPED, MARK).check_parking()
    with pytest.raises(Failure, match="skipped 9 turns"):
        marks(tmp_path, MARK | {"misparked": 9}).check_parking()


def test_parking_of_what_ended_early(tmp_path: Path) -> None:
    """an emulator that did not start, or ended within a line, has skipped nothing"""
    Marks(tmp_path, Path("plugin.so"), {}).check_parking()
    marks(tmp_path, MARK, end='{"misparked":1').check_parking()
