# SPDX-License-Identifier: BSD-2-Clause
"""Programs: their ELF files and marks, and what a deployment gives those that have several cores."""

import json
import struct
import subprocess
from pathlib import Path

import pytest

from deploy.base import elf
from deploy.base.errors import Failure
from deploy.deployment import parse
from deploy.deployment.planner import plan
from deploy.emulator.lockstep import Marks
from deploy.live.cores import programs_of
from deploy.machine.events import Event
from tests.unit.deploy.executables import ALL, BASE, READ_WRITE, executable, for_several_cores
from tests.unit.steps import steps
from topology.errors import InputError
from topology.maps.clustermap import ClusterMap
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts

# ---- ELF files, and marks in them. ----


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


# ---- Programs that have several cores: what a deployment file says, and what the map has of it. ----


MACHINE = "[machine]\nsockets = 2\ncores = 4\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wide.elf").write_bytes(for_several_cores())
    (tmp_path / "narrow.elf").write_bytes(executable())
    return tmp_path


def planned(folder: Path, keys: str, top: str = "network = false", elf: str = "wide.elf") -> ClusterMap:
    text = f"{top}\n{MACHINE}[[program]]\nelf = '{elf}'\n{keys}\n"
    return plan(parse(text, "file", folder)).cluster_map


@pytest.mark.parametrize("keys,top,cores", [
    ("cpu = 1\ncores = 3", "network = false", [1, 2, 3]),
    ("cores = 'cluster'", "network = false", [0, 1, 2, 3]),
    ("cpu = 6\ncores = 'cluster'", "network = false", [6, 7, 4, 5]),
    ("cpu = 2\ncores = 'cluster'", "network = true", [2, 3, 1]),
    ("cpus = [7, 5]", "network = false", [7, 5]),
    ("cpus = [3]", "network = false", [3]),
    ("cpu = 2", "network = false", [2]),
])
def test_cores(folder: Path, keys: str, top: str, cores: list[int]) -> None:
    """a program has the cores that its table names, or those of its cluster without a switch"""
    app = planned(folder, keys, top).applications[-1]
    assert app.cores == cores and app.cpu == cores[0]


def test_map(folder: Path) -> None:
    """the map has a program's cores and where its threads start, and is read as it was written"""
    made = planned(folder, "cpus = [3, 1]\nplacement = 'first'")
    text = write_dts(made)
    assert "cpu = <&cpu3 &cpu1>;" in text and 'placement = "first";' in text
    read = read_dts(text).applications[-1]
    assert read.cores == [3, 1] and read.cpu == 3 and read.placement == "first"
    assert "placement" not in write_dts(planned(folder, "cpu = 1"))


@pytest.mark.parametrize("keys,problem", [
    ("cpus = [3, 4]", r"file:7: .*cpu 3 is of cluster@0 and cpu 4 of cluster@1 \(layout per-socket\)"),
    ("cpus = [1, 1]", r"cpu.*twice"),
    ("cpus = [1, 9]", r"file:7: .*cpu 9 is not on a machine of 8 cores"),
    ("cpus = []", "cpus"),
    ("cpu = 2\ncores = 3", r"file:8: .*has 3 cores, and cluster@0 \(layout per-socket\) has 2 from cpu 2 on"),
    ("cores = 0", "cores"),
    ("cores = 65", "cores"),
    ("cores = 'all'", "cores"),
    ("cpu = 1\ncpus = [1, 2]", "file:7: .*contradicts 'cpus'"),
    ("cores = 2\ncpus = [1, 2]", "file:7: .*contradicts 'cpus'"),
    ("placement = 'last'", "file:7: .*placement"),
    ("stacks = 2", "unknown key 'stacks'"),
])
def test_refused_program_cores(folder: Path, keys: str, problem: str) -> None:
    """cores that a program cannot have are refused with their line"""
    with pytest.raises(InputError, match=problem):
        planned(folder, keys)


def test_linked_for_one(folder: Path) -> None:
    """an executable that is linked for one core is refused several, with the command that mends it"""
    assert planned(folder, "cores = 1", elf="narrow.elf").applications[-1].cores == [0]
    for keys in ("cores = 2", "cores = 'cluster'", "cpus = [1, 2]"):
        with pytest.raises(InputError, match="file:7: .*narrow.elf is linked for one core; `skerry cc --cores`"):
            planned(folder, keys, elf="narrow.elf")
    assert elf.spans_cores(for_several_cores()) and not elf.spans_cores(for_several_cores(b"Skerri\0"))


def test_of_the_build() -> None:
    """the build's own programs have one core"""
    with pytest.raises(InputError, match="file:3: .*'wakeups' is of the build and for one core"):
        parse("[[program]]\nprogram = 'wakeups'\ncores = 2\n", "file")


def test_named() -> None:
    """`map` and `move` name a program at each of its cores"""
    events = [Event("started", {"app": "wide@1", "cluster": 0, "cpu": 2, "cpus": [2, 5]}),
              Event("started", {"app": "narrow@2", "cluster": 0, "cpu": 5})]
    assert [programs_of(events, core) for core in (2, 4, 5)] == [["wide@1"], [], ["wide@1", "narrow@2"]]
