# SPDX-License-Identifier: BSD-2-Clause
"""Machines: the emulator's, lists of regimes and of drivers, memory of a live one."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.machine.qemu import BINARY, version
from tests.unit.topology.machines import write as machines_write
from topology import drivers, regimes
from topology.drivers import FOLDER, LIST as DRIVERS_LIST, read as drivers_read
from topology.errors import InputError, ListError
from topology.machines import linux, physical_memory
from topology.machines.machine import MemoryRange, Shape, emulated, shape_of, with_shape
from topology.machines.physical_memory import (
    Entry,
    clip,
    firmware_map,
    firmware_ranges,
    of_host,
    plain,
)
from topology.machines.qemu import arguments, cpu_argument, q35_memory
from topology.machines.sources import read_machine
from topology.maps.clustermap import Range
from topology.regimes import LIST, read
from topology.units import GIB, MIB, format_size, parse_size

# ---- Machines: the emulator's, and regimes of locks. ----


# ---- Emulated machines: APIC ids, shapes, memory ----

@pytest.mark.parametrize(
    "sockets, cores, expected",
    [(2, 2, [[0, 1], [2, 3]]), (2, 3, [[0, 1, 2], [4, 5, 6]]), (3, 1, [[0], [1], [2]]), (1, 5, [[0, 1, 2, 3, 4]])],
)
def test_apic_ids_follow_the_topology_bits(sockets: int, cores: int, expected: list[list[int]]) -> None:
    machine = emulated(Shape(sockets, cores))
    assert [[core.apic for core in machine.cores if core.socket == socket] for socket in machine.sockets] == expected


def test_every_part_of_an_apic_id_has_its_own_bits() -> None:
    machine = emulated(Shape(sockets=2, cores=6, caches=2, nodes=2, threads=2))
    assert [core.apic for core in machine.cores[:12]] == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13]
    assert machine.cores[12].apic == 16
    assert [core.node for core in machine.cores[::6]] == [0, 1, 2, 3]
    assert len({core.l3 for core in machine.cores}) == 4


@pytest.mark.parametrize("shape",
                         [Shape(2, 6, caches=2), Shape(2, 6, nodes=3, threads=2), Shape(3, 5), Shape(1, 4, caches=0),
                          Shape(2, 4, GIB, 4, 2)])
def test_a_regular_machine_has_its_shape(shape: Shape) -> None:
    made = replace(emulated(shape), shape=None)
    assert shape_of(made, shape.memory) == shape
    assert with_shape(made).shape == shape


def test_a_shape_takes_other_memory_than_the_machine_has() -> None:
    made = replace(emulated(Shape(2, 4, 64 * GIB)), shape=None)
    assert shape_of(made) == Shape(2, 4, 2 * GIB)
    assert with_shape(replace(made, memory=made.memory[1:])).shape is None


@pytest.mark.parametrize("first, why", [(2, "sockets of different sizes"), (1, "not alike")])
def test_an_irregular_machine_has_none(first: int, why: str) -> None:
    made = emulated(Shape(2, 2, threads=2))
    with pytest.raises(InputError, match=why):
        shape_of(replace(made, shape=None, cores=made.cores[first:]))


def test_small_memory_is_all_low() -> None:
    assert q35_memory([GIB, GIB]) == [MemoryRange(0, GIB, 0), MemoryRange(GIB, GIB, 1)]


def test_large_memory_splits_at_two_gib_and_a_node_may_lie_on_both_sides() -> None:
    assert q35_memory([3 * GIB // 2] * 2) == [MemoryRange(0, 3 * GIB // 2, 0), MemoryRange(3 * GIB // 2, GIB // 2, 1),
                                              MemoryRange(4 * GIB, GIB, 1)]


def test_nodes_after_the_split_start_at_four_gib() -> None:
    assert q35_memory([2 * GIB] * 3)[1:] == [MemoryRange(4 * GIB, 2 * GIB, 1), MemoryRange(6 * GIB, 2 * GIB, 2)]


@pytest.mark.parametrize("shape", [Shape(0, 2), Shape(2, 0), Shape(2, 2, 64 * MIB), Shape(2, 2, GIB + 4096)])
def test_impossible_shapes_are_refused(shape: Shape) -> None:
    with pytest.raises(InputError):
        emulated(shape)


def test_sizes() -> None:
    assert [parse_size(t) for t in ("1G", "512M", "4096", "2MiB", "1 g", "2T")] == [GIB, 512 * MIB, 4096, 2 * MIB, GIB,
        2048 * GIB]
    assert [format_size(s) for s in (GIB, 1008 * MIB, 17)] == ["1 GiB", "1008 MiB", "17 B"]
    with pytest.raises(InputError):
        parse_size("much")


# ---- QEMU takes the arguments, and what it makes of them is what a map says ----

def ask(words: list[str], *commands: dict[str, Any]) -> list[Any]:
    """Starts a machine, stopped; its answers to QMP commands."""
    lines = [{"execute": "qmp_capabilities"}, *commands, {"execute": "quit"}]
    done = subprocess.run(
        [BINARY, "-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35", "-S", "-qmp", "stdio",
         *words],
        input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    errors = [answer["error"] for answer in answers if "error" in answer]
    assert not errors, errors
    return [answer["return"] for answer in answers if "return" in answer][1:-1]


def processors(words: list[str]) -> list[tuple[int, int]]:
    """APIC id and node of each, as QEMU has them."""
    (cpus,) = ask(words, {"execute": "query-cpus-fast"})
    get = [{"execute": "qom-get", "arguments": {"path": c["qom-path"], "property": "apic-id"}} for c in cpus]
    return sorted(zip(ask(words, *get), (c["props"]["node-id"] for c in cpus)))


@pytest.mark.parametrize(
    "name",
    [
        "Nehalem X5550",  # plain
        "Haswell E5-2680 v3, cluster on die",  # nodes along caches
        "Skylake 6148, sub-NUMA clusters",  # nodes within a cache
        "Threadripper 2990WX",  # nodes without memory
        "Cascade Lake 6226R, Optane as memory",  # nodes without cores, more than 1 TiB
        "Alder Lake i9-12900K",  # some cores with one thread
        "Sandy Bridge, sockets of 8 and 4 cores",
        "EPYC 7451, a container",
    ],
)
def test_qemu_makes_the_machine_of_the_map(name: str, tmp_path: Path) -> None:
    machine = read_machine(str(machines_write(name, tmp_path)))
    words = ["-cpu", cpu_argument(machine), *arguments(machine)]
    assert processors(words) == sorted((core.apic, core.node) for core in machine.cores)


@pytest.mark.parametrize("name", ["twelve Ivy Bridge E7-8890 v2", "EPYC 9654", "Xeon Max 9480, flat"])
def test_the_largest_start(name: str, tmp_path: Path) -> None:
    machine = read_machine(str(machines_write(name, tmp_path)))
    if len(machine.cores) > 288 and version() < (9, 0):
        pytest.skip("this QEMU has 288 processors at most: bookworm-backports has a newer qemu-system-x86")
    (memory,) = ask(["-cpu", cpu_argument(machine), *arguments(machine)], {"execute": "query-memory-size-summary"})
    assert memory["base-memory"] == sum(r.size for r in machine.memory)


def test_shapes_say_it_shortly() -> None:
    words = " ".join(arguments(emulated(Shape(2, 4, GIB, caches=2, nodes=2, threads=2))))
    assert words.startswith("-smp cpus=16,sockets=2,dies=2,cores=2,threads=2 -m 4096M -object memory-backend-ram,")
    assert "-numa node,nodeid=3,memdev=memory3 -numa cpu,node-id=3,socket-id=1,die-id=1 -numa dist" in words
    one = " ".join(arguments(emulated(Shape(1, 1))))
    assert "dist" not in one and "-numa cpu,node-id=0,socket-id=0" in one


def test_empty_places_are_left_out(tmp_path: Path) -> None:
    machine = read_machine(str(machines_write("Sandy Bridge, sockets of 8 and 4 cores", tmp_path)))
    assert arguments(machine)[:2] == ["-smp", "cpus=12,maxcpus=16,sockets=2,cores=8,threads=1"]
    hybrid = arguments(read_machine(str(machines_write("Alder Lake i9-12900K", tmp_path))), "host")
    assert hybrid[1] == "cpus=17,maxcpus=32,sockets=1,cores=16,threads=2"
    assert "host-x86_64-cpu,socket-id=0,core-id=15,thread-id=0" in hybrid and len(hybrid) > 14


def test_other_memory_in_each_node_that_has_any(tmp_path: Path) -> None:
    machine = read_machine(str(machines_write("Threadripper 2990WX", tmp_path)), memory=256 * MIB)
    assert machine.memory == (MemoryRange(0, 256 * MIB, 0), MemoryRange(256 * MIB, 256 * MIB, 2))


def test_addresses_that_no_processor_has_are_refused() -> None:
    with pytest.raises(InputError, match="beyond what QEMU can emulate"):
        cpu_argument(emulated(Shape(2, 2, 1 << 52)))


# ---- The list of lock regimes, and what is wrong with other lists ----

GOOD = '[tas]\nwhat = "a lock"\nkind = "big"\nmodel = "non-scalable lock"\n'


def test_list() -> None:
    """the list names a usual regime first, and each has its header"""
    assert next(iter(regimes.every())) == "clh"
    for name in regimes.names():
        assert (regimes.FILE.parent / f"{name}.h").is_file(), name
    assert {"clh", "mcs", "ticket"} <= set(regimes.names("big"))  # one may have been added
    assert {"none", "fine", "dynamic", "rtm"} <= set(regimes.names("none", "readers", "switched", "transactions"))


def test_headers() -> None:
    """no regime's header is left that the list does not name"""
    named = {path.stem for path in regimes.FILE.parent.glob("*.h") if "void kernel_enter(" in path.read_text()}
    assert named == set(regimes.names())


@pytest.mark.parametrize("text,why", [
    ("[tas", "not TOML: "),
    (GOOD.replace("[tas]", "[TAS]"), "TAS: a name is "),
    (GOOD.replace('"a lock"', "5"), "tas: what: 5 is not a text"),
    (GOOD + 'twice = "one"', "tas: twice: 'one' is not a number of cores"),
    (GOOD + 'without = "lock"', "tas: without: 'lock' is no table"),
    (GOOD + 'without.lock = "first"', "tas: without.lock: 'first' is neither "),
    ("tas = 3", "tas: is no table"),
    (GOOD + "fast = true", "tas: fast: no such key; there are what, kind, "),
    (GOOD + 'name = "x"', "tas: name: no such key"),
    (GOOD.replace("what", "model_"), "tas: model_: no such key"),
    ('[tas]\nwhat = "a lock"', "tas: kind: is missing"),
    (GOOD.replace("big", "bg"), "tas: kind: 'bg' is not one of big, readers, "),
    (GOOD.replace("non-scalable lock", "fast"), "tas: model: 'fast' is not one of machine-repairman, "),
    (GOOD + 'no_model = "none"', "tas: has both model and no_model"),
    (GOOD.replace("model", "what_").replace("what_ = \"non-scalable lock\"\n", ""),
     "tas: model: is missing, and no_model"),
    (GOOD + 'protocol = "tas"', "tas: protocol: 'tas' is not one of clh, mcs, ticket"),
    (GOOD + 'seen_as = "clh"', "tas: seen_as: there is no regime 'clh'"),
    (GOOD + 'without.locks = ["first come"]', "tas: without: 'locks' is not one of lock, kernel, "),
])
def test_refused(text: str, why: str) -> None:
    """a list that is not as it should be is refused with the regime and the key"""
    with pytest.raises(ListError) as error:
        read(text)
    assert str(error.value).startswith(f"{LIST}: {why}")


def test_header_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a regime of the list without its header is refused, in one line of a command and with its status"""
    (tmp_path / "regimes.toml").write_text(GOOD)
    monkeypatch.setattr(regimes, "FOLDER", tmp_path)
    monkeypatch.setattr(regimes, "FILE", tmp_path / "regimes.toml")
    assert list(regimes.every.__wrapped__()) == ["tas"]  # no sources at all: only images are booted here
    (tmp_path / "lock.h").touch()
    with pytest.raises(ListError, match="tas: its header cluster-kernel/lock/tas.h is missing"):
        regimes.every.__wrapped__()
    (tmp_path / "tas.h").touch()
    assert list(regimes.every.__wrapped__()) == ["tas"]


# ---- The list of drivers of network cards, and what is wrong with other lists. ----


GOOD_DRIVERS = '[x]\nwhat = "a card"\npci = ["10ec:8139"]\nsources = ["device.c"]\nqemu = "x"\nlibvirt = "x"\n'


def test_list_drivers() -> None:
    """the list names the usual driver first, and each has its folder with its sources"""
    assert drivers.usual().name == "virtio-net"
    for driver in drivers.every().values():
        for source in ("card.h", *driver.sources):
            assert (FOLDER / driver.name / source).is_file(), source


def test_folders() -> None:
    """no driver's folder is left that the list does not name"""
    assert {path.parent.name for path in FOLDER.glob("*/card.h")} == {"driver", *drivers.every()}


def test_values() -> None:
    """ids are numbers, and a card's options stand behind its name"""
    driver = drivers_read(GOOD_DRIVERS + 'counted = "slow=on"')["x"]
    assert driver.ids == [(0x10EC, 0x8139)]
    assert driver.device("netdev=n") == "x,netdev=n" and driver.device("netdev=n", counted=True) == "x,netdev=n,slow=on"


@pytest.mark.parametrize("text,why", [
    ("[x", "not TOML: "),
    ("", "there is no driver"),
    ("x = 3", "x: is no table"),
    (GOOD_DRIVERS.replace("[x]", "[X_]"), "X_: a name has "),
    (GOOD_DRIVERS + "fast = true", "x: fast: no such key; there are what, pci, "),
    (GOOD_DRIVERS.replace('qemu = "x"\n', ""), "x: qemu: is missing"),
    (GOOD_DRIVERS.replace('["device.c"]', '"device.c"'), "x: sources: 'device.c' is not a list of texts"),
    (GOOD_DRIVERS.replace('["10ec:8139"]', "[]"), "x: pci: [] is not a list of texts"),
    (GOOD_DRIVERS.replace('"a card"', "3"), "x: what: 3 is not a text"),
    (GOOD_DRIVERS.replace("10ec:8139", "0x10ec"), "x: pci: '0x10ec' is not VENDOR:DEVICE"),
    (GOOD_DRIVERS + GOOD_DRIVERS.replace("[x]", "[y]"), "y: pci: x drives 10ec:8139"),
])
def test_refused_drivers(text: str, why: str) -> None:
    """a list that is not as it should be is refused with the driver and the key"""
    with pytest.raises(ListError) as error:
        drivers_read(text)
    assert str(error.value).startswith(f"{DRIVERS_LIST}: {why}")


def test_sources_are_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a driver of the list without its folder, or one of its sources, is refused with the missing file"""
    (tmp_path / "drivers.toml").write_text(GOOD_DRIVERS)
    monkeypatch.setattr(drivers, "FOLDER", tmp_path)
    monkeypatch.setattr(drivers, "FILE", tmp_path / "drivers.toml")
    assert list(drivers.every.__wrapped__()) == ["x"]  # no sources at all: only images are booted here
    (tmp_path / "machine.c").touch()
    (tmp_path / "x").mkdir()
    for name in ("card.h", "device.c"):
        with pytest.raises(ListError, match=f"x: net/x/{name} is missing"):
            drivers.every.__wrapped__()
        (tmp_path / "x" / name).touch()
    assert list(drivers.every.__wrapped__()) == ["x"]


# ---- Memory of a live machine: what Linux has online and the firmware's map has as RAM. ----


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
