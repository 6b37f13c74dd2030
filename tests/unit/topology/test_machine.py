# SPDX-License-Identifier: BSD-2-Clause
"""Machines: the emulator's, and regimes of locks."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.machine.qemu import BINARY, version
from tests.unit.topology.machines import write
from topology import regimes
from topology.errors import InputError, ListError
from topology.machines.machine import MemoryRange, Shape, emulated, shape_of, with_shape
from topology.machines.qemu import arguments, cpu_argument, q35_memory
from topology.machines.sources import read_machine
from topology.regimes import LIST, read
from topology.units import GIB, MIB, format_size, parse_size

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
    machine = read_machine(str(write(name, tmp_path)))
    words = ["-cpu", cpu_argument(machine), *arguments(machine)]
    assert processors(words) == sorted((core.apic, core.node) for core in machine.cores)


@pytest.mark.parametrize("name", ["twelve Ivy Bridge E7-8890 v2", "EPYC 9654", "Xeon Max 9480, flat"])
def test_the_largest_start(name: str, tmp_path: Path) -> None:
    machine = read_machine(str(write(name, tmp_path)))
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
    machine = read_machine(str(write("Sandy Bridge, sockets of 8 and 4 cores", tmp_path)))
    assert arguments(machine)[:2] == ["-smp", "cpus=12,maxcpus=16,sockets=2,cores=8,threads=1"]
    hybrid = arguments(read_machine(str(write("Alder Lake i9-12900K", tmp_path))), "host")
    assert hybrid[1] == "cpus=17,maxcpus=32,sockets=1,cores=16,threads=2"
    assert "host-x86_64-cpu,socket-id=0,core-id=15,thread-id=0" in hybrid and len(hybrid) > 14


def test_other_memory_in_each_node_that_has_any(tmp_path: Path) -> None:
    machine = read_machine(str(write("Threadripper 2990WX", tmp_path)), memory=256 * MIB)
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
