# SPDX-License-Identifier: BSD-2-Clause
"""Memory of a live machine: what Linux has online and the firmware's map has as RAM."""

from pathlib import Path

import pytest

from topology.machines import linux, physical_memory
from topology.machines.machine import MemoryRange
from topology.machines.physical_memory import Entry, clip, firmware_map, firmware_ranges, of_host, plain
from topology.machines.sources import read_machine
from topology.maps.clustermap import Range
from topology.units import GIB, MIB

IOMEM = """\
00000000-00000fff : Reserved
00001000-0009ffff : System RAM
000f0000-000fffff : Reserved
00100000-6fffffff : System RAM
  01000000-01ffffff : Kernel code
70000000-707fffff : ACPI Tables
74000000-7fffffff : RAM buffer
80000000-febfffff : PCI Bus 0000:00
  e0000000-efffffff : Reserved
100000000-183fffffff : System RAM
1840000000-383fffffff : Soft Reserved
  1840000000-383fffffff : dax0.0
    1840000000-383fffffff : System RAM (kmem)
"""


def test_clip() -> None:
    """memory that Linux shows in whole blocks is cut where firmware has nothing, and where the loader's reach ends"""
    known = firmware_ranges(IOMEM)
    low = clip(MemoryRange(0, 0x80000000, 0), known)
    assert low == [MemoryRange(0, 0x70800000, 0)]  # the hole below 1 MiB is slack
    assert clip(MemoryRange(0x100000000, 0x1800000000, 1), known) == [MemoryRange(0x100000000, 0x1740000000, 1)]
    assert clip(MemoryRange(0x1840000000, 0x2000000000, 2), known) == [], "as memory of a special purpose is"
    last = physical_memory.REACH - GIB
    assert clip(MemoryRange(last, 4 * GIB, 1), []) == [MemoryRange(last, GIB, 1)]
    assert clip(MemoryRange(physical_memory.REACH + GIB, GIB, 1), known) == []
    assert firmware_ranges("00000000-00000000 : System RAM\n") == []  # as others than root see it


RAM = "System RAM"
SERVER = [  # two sockets with 64 GiB each; persistent memory as node 2, soft-reserved memory as node 3
    Entry(Range(0, 0xa0000), RAM), Entry(Range(0xe0000, 0x20000), "Reserved"),
    Entry(Range(MIB, 0x6ff00000), RAM), Entry(Range(0x70000000, 64 * MIB), "ACPI Non-volatile Storage"),
    Entry(Range(0x74000000, 0x4000000), RAM), Entry(Range(0x78000000, 0x8000000), "Reserved"),
    Entry(Range(4 * GIB, 124 * GIB), RAM), Entry(Range(256 * GIB, 512 * GIB), "Persistent Memory"),
    Entry(Range(1024 * GIB, 128 * GIB), "Soft Reserved"),
]  # fmt: skip


def test_plain_memory() -> None:
    """what the firmware's map does not have as RAM is left out, whatever Linux has made of it, with kind and size"""
    online = [MemoryRange(0, 2 * GIB, 0), MemoryRange(4 * GIB, 64 * GIB, 0), MemoryRange(68 * GIB, 60 * GIB, 1),
              MemoryRange(128 * GIB, 32 * GIB, 1), MemoryRange(256 * GIB, 512 * GIB, 2),
              MemoryRange(1024 * GIB, 128 * GIB, 3), MemoryRange(2048 * GIB, 256 * GIB, 4)]
    kept, notes = plain(online, SERVER, 128 * MIB)
    assert kept == [MemoryRange(0, 0x70000000, 0), MemoryRange(0x74000000, 0x4000000, 0),
                    MemoryRange(4 * GIB, 64 * GIB, 0), MemoryRange(68 * GIB, 60 * GIB, 1)]
    assert notes == ["128 MiB of memory that firmware reserves left out (NUMA node 0)",
                     "288 GiB of memory that was added since power-on left out (NUMA nodes 1,4)",
                     "512 GiB of persistent memory left out (NUMA node 2)",
                     "128 GiB of soft-reserved memory left out (NUMA node 3)"]
    assert plain(online[:3], SERVER, 2 * GIB)[1] == [], "a part of a block is not worth a note"


def test_memory_beyond_reach() -> None:
    end = physical_memory.REACH + 64 * GIB
    entries = [Entry(Range(0, 2 * GIB), RAM), Entry(Range(end - 96 * GIB, 96 * GIB), RAM)]
    kept, notes = plain([MemoryRange(0, 2 * GIB, 0), MemoryRange(end - 96 * GIB, 96 * GIB, 1)], entries, GIB)
    assert sum(r.size for r in kept) == 34 * GIB
    assert notes == ["64 GiB of memory beyond the loader's reach left out (NUMA node 1)"]


def write(folder: Path, *entries: tuple[str, str, str]) -> Path:
    for number, texts in enumerate(entries):
        (folder / str(number)).mkdir(parents=True)
        for name, text in zip(("start", "end", "type"), texts):
            (folder / str(number) / name).write_text(text + "\n")
    return folder


def test_firmware_map(tmp_path: Path) -> None:
    """Linux's folder of the firmware's map, in any order; one that cannot be read says nothing"""
    folder = write(tmp_path / "map", ("0x100000000", "0x1fffffffff", RAM), ("0x0", "0x9fbff", RAM),
                   ("0x9fc00", "0xfffff", "Reserved"))
    assert firmware_map(folder) == [Entry(Range(0, 0x9fc00), RAM), Entry(Range(0x9fc00, 0x60400), "Reserved"),
                                    Entry(Range(4 * GIB, 124 * GIB), RAM)]
    assert firmware_map(tmp_path / "nowhere") == []
    assert firmware_map(write(tmp_path / "odd", ("0x0", "end", RAM))) == []
    assert firmware_map(write(tmp_path / "half", ("0x0", "0xfff"))) == []  # type: ignore[arg-type]  # no type


def test_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """of this machine everything is kept or noted; others than root are told that they cannot see it"""
    online = linux.memory()
    if online is None:
        pytest.skip("this Linux does not show where memory lies")
    top = max(r.end for r in online)
    first = min(r.base for r in online)
    nowhere = tmp_path / "nowhere"
    monkeypatch.setattr(physical_memory, "MEMMAP", write(tmp_path / "all", (hex(first), hex(top - 1), RAM)))
    assert of_host() == (online, []) and sum(r.size for r in read_machine("live").memory) == sum(r.size for r in online)
    half = top // 2
    monkeypatch.setattr(physical_memory, "MEMMAP",
                        write(tmp_path / "half", (hex(first), hex(half - 1), RAM),
                              (hex(half), hex(top - 1), "Soft Reserved")))
    machine = read_machine("live")
    assert max(r.end for r in machine.memory) <= half
    assert any("of soft-reserved memory left out" in note for note in machine.notes)
    monkeypatch.setattr(physical_memory, "MEMMAP", nowhere)
    monkeypatch.setattr(physical_memory, "IOMEM", nowhere)
    assert of_host()[0] == online and "can be read by root only" in of_host()[1][0]
