# SPDX-License-Identifier: BSD-2-Clause
"""Machines as they are emulated in a run: regular ones as a shape, others part by part; and maps that say which."""

from pathlib import Path

import pytest

from deploy.cli import main
from deploy.cli.options import PlanOptions, load_plan
from deploy.deployment import Deployment, Redis
from deploy.deployment.planner import plan, plan_map
from deploy.load.comparison import Comparison, steps, with_room
from deploy.machine import qemu
from tests.unit.topology.machines import MACHINES, write
from tests.unit.topology.test_machine import ask, processors
from topology.errors import InputError
from topology.machines.irregular import machine_of
from topology.machines.libvirt_domain import machine_elements
from topology.machines.machine import Machine, Shape, emulated, like, one_thread_per_core, with_memory, with_shape
from topology.machines.parts import Board, Core
from topology.machines.qemu import MAX_CPUS, arguments
from topology.machines.sources import read_machine
from topology.maps.check import check_map
from topology.maps.dts import write_dts
from topology.maps.mapmaker import make_map
from topology.maps.reader import read_dts
from topology.units import GIB, MIB

IRREGULAR = {
    *("Cascade Lake 6226R, Optane as memory", "Xeon Max 9480, flat", "KNL 7210, SNC-4, flat"),  # nodes without cores
    "Cascade Lake, two nodes a socket, persistent memory",
    # nodes without memory
    *("Threadripper 2990WX", "EPYC 7601, one channel filled", "EPYC 7251, memory in two of eight nodes"),
    # larger than a shape may be
    *("EPYC 9654", "EPYC 9654, four nodes a socket", "Granite Rapids 6972P, three nodes a socket"),
    *("Alder Lake i9-12900K", "Meteor Lake, two cores without L3"),
    *("Haswell, three cores offline", "Haswell, a socket offline", "Sandy Bridge, sockets of 8 and 4 cores"),
    *("EPYC 7451, a container", "Skylake, one thread allowed"),
}
PER_NUMA = {  # whose sockets are larger than a kernel may be
    *("KNL 7210, SNC-4, flat", "EPYC 9654, four nodes a socket", "Granite Rapids 6972P, three nodes a socket"),
}


def structure(machine: Machine) -> list[tuple[int, ...]]:
    """Returns which processors share what, in order, whatever the numbers are."""
    numbers: list[dict[object, int]] = [{}, {}, {}, {}]

    def of(core: Core) -> tuple[int, ...]:
        alone = ("none", core.socket) if core.l3 is None else core.l3
        keys = (core.socket, core.node, alone, core.physical)
        return tuple(known.setdefault(key, len(known)) for known, key in zip(numbers, keys))

    return [of(core) for core in machine.cores]


def made_like(name: str, folder: Path, memory: int | None = None) -> Machine:
    return emulated(like(read_machine(str(write(name, folder)), memory=GIB), memory))


@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_is_emulated_with_its_structure(name: str, tmp_path: Path) -> None:
    """sockets, caches, nodes and threads of an emulated machine are those of the machine that it is like"""
    real = read_machine(str(write(name, tmp_path)))
    made = made_like(name, tmp_path)
    assert structure(made) == structure(real)
    assert {n for n in made.nodes if not made.memory_of(n)} == {n for n in real.nodes if not real.memory_of(n)}
    assert isinstance(made.shape, Board if name in IRREGULAR else Shape)
    assert sum(r.size for r in made.memory) >= made.cpus * 512 * MIB, "every core has its share, wherever it is"
    words = arguments(made)
    assert words.count("-device") + int(words[1].split(",")[0].removeprefix("cpus=")) == made.cpus <= MAX_CPUS


@pytest.mark.parametrize("name", sorted(IRREGULAR))
def test_a_map_says_the_irregular_machine(name: str, tmp_path: Path) -> None:
    """a map of an irregular machine, read again, is for the machine that it was made for"""
    machine = with_shape(read_machine(str(write(name, tmp_path)), memory=GIB))
    if machine.cpus > 60 and machine.has_smt:
        machine = one(machine)
    layout = "per-numa" if name in PER_NUMA else "per-l3" if name == "EPYC 9654" else "per-socket"
    cluster_map = make_map(machine, layout)
    text = write_dts(cluster_map)
    read = read_dts(text)
    assert read == cluster_map and "cores-per-l3-cache" in text
    emulated_one = machine_of(read)
    check_map(read, emulated_one)
    assert arguments(emulated_one) == arguments(machine)


def one(machine: Machine) -> Machine:
    reduced = one_thread_per_core(machine)
    assert isinstance(reduced, Machine) and not reduced.has_smt
    return reduced


@pytest.mark.parametrize("name", ["Threadripper 2990WX", "Haswell, three cores offline",
                                  "Cascade Lake 6226R, Optane as memory"])
def test_qemu_makes_what_the_map_says(name: str, tmp_path: Path) -> None:
    """QEMU's processors have the APIC ids and nodes of an irregular machine's map, its memory has the nodes' sizes"""
    cluster_map = make_map(one(made_like(name, tmp_path, 512 * MIB)), "per-socket")
    words = arguments(machine_of(read_dts(write_dts(cluster_map))))
    assert processors(words) == sorted((cpu.apic, cpu.node) for cpu in cluster_map.cpus)
    backends = ask(words, {"execute": "query-memdev"})[0]
    assert sum(backend["size"] for backend in backends) == sum(r.size for r in cluster_map.memory)


def test_memory_goes_where_the_cores_are(tmp_path: Path) -> None:
    """cores of nodes without memory count for the nodes beside them"""
    made = made_like("Threadripper 2990WX", tmp_path)
    assert [made.memory_of(n) for n in made.nodes] == [16 * GIB, 0, 16 * GIB, 0]
    smaller = made_like("Threadripper 2990WX", tmp_path, 768 * MIB)
    assert [smaller.memory_of(n) for n in smaller.nodes] == [768 * MIB, 0, 768 * MIB, 0]
    with pytest.raises(InputError, match="--memory: 2 MiB is not"):
        made_like("Threadripper 2990WX", tmp_path, 2 * MIB)


def test_without_smt() -> None:
    """one thread of each core, the memory as it was"""
    assert one_thread_per_core(Shape(2, 3, GIB, threads=2)) == Shape(2, 3, GIB)
    assert with_memory(Shape(2, 4, GIB, nodes=2), lambda cores: cores * GIB) == Shape(2, 4, 2 * GIB, nodes=2)


def test_maps_that_cannot_be_emulated_say_why(tmp_path: Path) -> None:
    """what somebody changed in a map so that no emulated machine is like it is refused"""
    made = made_like("Sandy Bridge, sockets of 8 and 4 cores", tmp_path)
    text = write_dts(plan(Deployment(shape=made, redis=Redis(heap=64 * MIB))).cluster_map)
    path = tmp_path / "mine.dts"
    path.write_text(text)
    assert plan_map(path).machine.memory == made.memory

    def refusal(*edits: tuple[str, str]) -> str:
        changed = text
        for old, new in edits:
            assert old in text
            changed = changed.replace(old, new)
        path.write_text(changed)
        with pytest.raises(InputError) as caught:
            plan_map(path)
        return str(caught.value)

    moved = refusal(('cpu@b { device_type = "cpu"; reg = <11>', 'cpu@c { device_type = "cpu"; reg = <12>'))
    assert moved == "cpu@c: cannot be emulated: of these cores and nodes QEMU makes APIC id 0xb in node 1 of it"
    assert refusal(("sockets = <2>", "sockets = <1>")).startswith("cpu@8: is not on the machine of this map, with "
                                                                  "places")
    assert refusal(("cores-per-l3-cache = <8>", "cores-per-l3-cache = <4>")).startswith("cpu@8: ")
    assert refusal(("        threads-per-core = <1>;\n", "")) == "machine: has no threads-per-core"
    end = f"{made.memory[-1].size:#x}>"
    assert refusal((end, f"{made.memory[-1].size // 2:#x}>")).startswith("memory@0: cannot be emulated: QEMU has no "
                                                                         "memory of node 0")


def test_a_map_beyond_reach_says_how_to_make_another(tmp_path: Path) -> None:
    """memory that the loader does not reach is refused before anything boots"""
    machine = emulated(Shape(memory=20 << 40))
    (tmp_path / "mine.dts").write_text(write_dts(make_map(machine, "per-socket")))
    with pytest.raises(InputError,
                       match=r"mine.dts: the machine has memory that ends at 40962 GiB, .*--memory SIZE writes"):
        plan_map(tmp_path / "mine.dts")


@pytest.mark.parametrize("name, layouts",
                         [("EPYC 7451, a container", "per-l3,spanning"), ("Alder Lake i9-12900K", "per-socket,size=4")])
def test_comparisons_have_room_on_any_machine(name: str, layouts: str, tmp_path: Path) -> None:
    """every layout of a comparison has memory for an instance and its clients on every core"""
    shape = like(read_machine(str(write(name, tmp_path)), memory=GIB))
    for records in (1000, 100_000):
        job = Comparison(with_room(shape, None, records, 2), layouts.split(","), records=records)
        for layout, workload in steps(job):
            made = plan(job.deployment(layout, workload))
            assert sum(a.program == "redis-server" for a in made.cluster_map.applications) == made.machine.cpus - 1


def test_older_emulators_have_fewer_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a machine that this QEMU does not have room for is refused with the version that has"""
    machine = made_like("EPYC 9654", tmp_path)
    qemu.check_size(one(machine))
    monkeypatch.setattr(qemu, "version", lambda binary: (7, 2))
    qemu.check_size(one(machine))
    with pytest.raises(InputError, match="has places for 384 processors, and QEMU 7.2 has 288 at most; from 9.0 on"):
        qemu.check_size(machine)


def test_a_map_on_another_machine(tmp_path: Path) -> None:
    """the command line changes the machine that an irregular map is for, where the map still fits"""
    machine = with_shape(read_machine(str(write("Sandy Bridge, sockets of 8 and 4 cores", tmp_path)), memory=GIB))
    path = tmp_path / "mine.dts"
    path.write_text(write_dts(make_map(machine, "per-socket")))
    assert load_plan(PlanOptions(path, memory="1G")).machine.memory == machine.memory
    with pytest.raises(InputError, match="memory@0: numa-node-id is 0, not all of 0x0..0x40000000"):
        load_plan(PlanOptions(path, memory="512M"))
    with pytest.raises(InputError, match="cpu@8: the machine"):
        load_plan(PlanOptions(path, sockets=1, cores=8))


def test_libvirt_takes_irregular_machines(tmp_path: Path) -> None:
    """places without a core are processors that are not enabled"""
    count, each = machine_elements(made_like("Sandy Bridge, sockets of 8 and 4 cores", tmp_path))[1:3]
    assert (count.text, count.get("current")) == ("16", "12")
    assert [vcpu.get("enabled") for vcpu in each] == ["yes"] * 12 + ["no"] * 4


@pytest.mark.parametrize(
    "words, expected",
    [
        ("--sockets 2 --cores 28 --clients 2",
         "--clients: 54 instances with 2 each need 164 network ports of 120; --clients 1 fits"),
        ("--sockets 2 --cores 60", "--cores: 118 instances with 1 each need 238 network ports of 120; a machine of 61 "
                                   "cores in all fits, with --clients 1"),
    ],
)
def test_comparisons_of_large_machines_say_what_fits(words: str, expected: str,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    """more clients than the switch has ports for are refused before anything is built"""
    assert main.main(["compare", *words.split()]) == 2
    assert capsys.readouterr().err == f"skerry: {expected}\n"
