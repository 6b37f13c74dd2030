# SPDX-License-Identifier: BSD-2-Clause
"""QEMU takes the arguments, and what it makes of them is what a map says."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy.machine.qemu import BINARY, version
from tests.unit.topology.machines import write
from topology.errors import InputError
from topology.machines.machine import MemoryRange, Shape, emulated
from topology.machines.qemu import arguments, cpu_argument
from topology.machines.sources import read_machine
from topology.units import GIB, MIB


def ask(words: list[str], *commands: dict[str, Any]) -> list[Any]:
    """Starts a machine, stopped; its answers to QMP commands."""
    lines = [{"execute": "qmp_capabilities"}, *commands, {"execute": "quit"}]
    done = subprocess.run(
        [BINARY, "-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35", "-S", "-qmp", "stdio", *words],
        input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    errors = [answer["error"] for answer in found if "error" in answer]
    assert not errors, errors
    return [answer["return"] for answer in found if "return" in answer][1:-1]


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
