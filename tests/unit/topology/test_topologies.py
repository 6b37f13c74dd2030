# SPDX-License-Identifier: BSD-2-Clause
"""Machines under every layout, as they are emulated in a run, and as libvirt has them."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from deploy.cli import main
from deploy.cli.options import PlanOptions, load_plan
from deploy.deployment import Deployment, Redis
from deploy.deployment.planner import plan, plan_map
from deploy.load.comparison import Comparison, steps, with_room
from deploy.machine import qemu
from tests.unit.topology.machines import MACHINES, Host, from_set, lstopo, write, xml_of
from tests.unit.topology.test_machine import ask, processors
from topology.errors import InputError
from topology.foreign import parse_spans
from topology.limits import MAX_CLUSTERS, MAX_CPUS
from topology.machines.irregular import machine_of
from topology.machines.libvirt_domain import domain, machine_elements
from topology.machines.machine import (
    Machine,
    Shape,
    emulated,
    like,
    one_thread_per_core,
    with_memory,
    with_shape,
)
from topology.machines.parts import Board, Core
from topology.machines.qemu import MAX_CPUS as QEMU_MAX_CPUS, arguments, place
from topology.machines.sources import read_machine
from topology.maps.check import check_map
from topology.maps.clustermap import Cluster, ClusterMap
from topology.maps.dts import write_dts
from topology.maps.mapmaker import make_map
from topology.maps.reader import read_dts
from topology.units import GIB, KIB, LARGE_PAGE, MIB

# ---- Every machine under every layout: a map that keeps its promises, or a refusal for a reason that is really there.
# ----


NAMED = {"per-socket": "package", "per-l3": "l3cache", "per-numa": "numanode", "spanning": "machine"}
SIZES = (1, 2, 3, 4, 6, 8, 14, 15, 99)
LAYOUTS = [*NAMED, *(f"size={n}" for n in SIZES)]
ADVISED = ("spanning", "per-l3", "size=99")  # whose advice is followed
SMT = {"smt on": True, "smt off": False}

Sets = set[frozenset[int]]


@dataclass(frozen=True)
class Truth:
    """hwloc's own words, as sets of its numbers of processors."""

    sets: dict[str, Sets]
    memory: dict[int, int]
    local: dict[int, frozenset[int]]

    def processors(self, smt: bool) -> frozenset[int]:
        """All that may be used; with SMT off the first of each core."""
        if smt:
            return frozenset().union(*self.sets["core"])
        return frozenset(min(core) for core in self.sets["core"])


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("machines")


@cache
def truth(name: str, folder: Path) -> Truth:
    path = write(name, folder)

    def lines(kind: str) -> list[str]:
        return lstopo("-i", str(path), "--of", "console", "--cpuset", "--only", kind).splitlines()

    def cpuset(line: str) -> frozenset[int]:
        return frozenset(from_set(line.rpartition("cpuset=")[2]))

    def number(line: str) -> int:
        match = re.search(r"P#(\d+)", line)
        assert match, line
        return int(match[1])

    sets = {kind: {cpuset(line) for line in lines(kind)} - {frozenset()} for kind in (*NAMED.values(), "core")}
    nodes = sets["numanode"]  # those around others are memory that no core is at home in
    sets["numanode"] = {node for node in nodes if not any(other < node for other in nodes)}
    sizes = {int(node.attrib["os_index"]): int(node.get("local_memory", "0"))
             for node in ElementTree.fromstring(xml_of(name)).iter("object") if node.get("type") == "NUMANode"}
    return Truth(sets, sizes, {number(line): cpuset(line) for line in lines("numanode")})


@cache
def machine(name: str, smt: bool, folder: Path) -> Machine:
    return read_machine(str(write(name, folder)), smt)


def expected_refusal(name: str, layout: str, smt: bool, folder: Path) -> str | None:
    """Why a layout of a machine cannot be, from the truth alone."""
    true, used = truth(name, folder), truth(name, folder).processors(smt)
    if layout.startswith("size="):
        size = int(layout[5:])
        cores = [len([c for c in true.sets["core"] if c <= package]) for package in true.sets["package"]]
        if sum(cores) % size or (any(count % size for count in cores) and not fills_sockets(name, size, folder)):
            return "possible:"
        largest, count = size * max(len(core & used) for core in true.sets["core"]), sum(cores) // size
    else:
        groups = true.sets[NAMED[layout]]
        if frozenset().union(*groups) < frozenset().union(*true.sets["core"]):
            return "no L3 cache|says nothing of caches"
        largest, count = max(len(group & used) for group in groups), len(groups)
    if largest > MAX_CPUS:
        return "a kernel runs on 60"
    return "clusters are more than 64" if count > MAX_CLUSTERS else None


def fills_sockets(name: str, size: int, folder: Path) -> bool:
    """Whether clusters of so many cores are made of whole sockets, in their order."""
    true = truth(name, folder)
    left = 0
    for package in sorted(true.sets["package"], key=min):
        left += len([c for c in true.sets["core"] if c <= package])
        if left > size:
            return False
        left %= size
    return left == 0


def members(made: ClusterMap, of: Machine, cluster: Cluster) -> frozenset[int]:
    assert [cpu.apic for cpu in made.cpus] == [core.apic for core in of.cores]
    return frozenset(of.cores[i].number for i in cluster.cpus)


@pytest.mark.parametrize("smt", SMT)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MACHINES)
def test_a_map_or_a_reason(name: str, layout: str, smt: str, folder: Path) -> None:
    of, true = machine(name, SMT[smt], folder), truth(name, folder)
    reason = expected_refusal(name, layout, SMT[smt], folder)
    try:
        made = make_map(of, layout)
    except InputError as error:
        assert "\n" not in str(error) and str(error).startswith(f"--layout {layout}: ")
        assert reason and re.search(reason, str(error))
        for other in advised(str(error)) if layout in ADVISED else ():
            make_map(of, other)
        return
    assert reason is None
    check_map(made, of)
    check_cores(made, of, true, layout, SMT[smt])
    check_memory(made, of, true)


def advised(line: str) -> list[str]:
    """Returns the layouts that a refusal names."""
    if possible := re.search(r"possible: ([\d, ]+)$", line):
        return [f"size={n}" for n in possible[1].split(", ")]
    fitting = re.search(r"; ([^;]+) would fit", line)
    return [name.partition(" (")[0] for name in fitting[1].split(", ") if name != "--smt off"] if fitting else []


def check_cores(made: ClusterMap, of: Machine, true: Truth, layout: str, smt: bool) -> None:
    clusters = [members(made, of, cluster) for cluster in made.clusters]
    assert sum(map(len, clusters)) == len(true.processors(smt))
    assert frozenset().union(*clusters) == true.processors(smt)
    for core in true.sets["core"]:
        assert sum(not cluster.isdisjoint(core) for cluster in clusters) == 1, "a core's threads are parted"
    if layout in NAMED:
        used = true.processors(smt)
        assert set(clusters) == {group & used for group in true.sets[NAMED[layout]]}
    else:
        sizes = {sum(not cluster.isdisjoint(core) for core in true.sets["core"]) for cluster in clusters}
        assert sizes == {int(layout[5:])}
        for cluster in clusters:
            touched = [package for package in true.sets["package"] if not cluster.isdisjoint(package)]
            whole = all(cluster >= package & true.processors(smt) for package in touched)
            assert len(touched) == 1 or whole, "a cluster lies across a socket's border"


def check_memory(made: ClusterMap, of: Machine, true: Truth) -> None:
    owned = [(r, c.number) for c in made.clusters for r in c.memory] + [(c.memory, c.ends[1]) for c in made.channels]
    owned.sort(key=lambda item: item[0].base)
    assert all(a.end <= b.base for (a, _), (b, _) in zip(owned, owned[1:])), "memory is given away twice"
    total = sum(size - size % LARGE_PAGE for size in true.memory.values())
    assert sum(r.size for r, _ in owned) == sum(r.size for r in of.memory) == total
    for memory in of.memory:
        near = true.local[memory.node]
        for r, number in owned:
            if r.overlaps(memory) and near:
                cores = members(made, of, made.clusters[number])
                own = [n for n, size in true.memory.items() if size and not cores.isdisjoint(true.local[n])]
                assert not own or memory.node in own, f"{r} is away from its cores, which have memory of {own}"


@pytest.mark.parametrize("name", MACHINES)
def test_the_text_of_a_map_says_all_of_it(name: str, folder: Path) -> None:
    of = machine(name, True, folder)
    layouts = [layout for layout in LAYOUTS if not expected_refusal(name, layout, True, folder)]
    for layout in layouts:
        made = make_map(of, layout)
        assert read_dts(write_dts(made)) == made
        return
    assert not layouts


@pytest.mark.parametrize("name", MACHINES)
def test_machines_lie_on_a_board_as_they_are_read(name: str, folder: Path) -> None:
    of = machine(name, True, folder)
    assert place(of) == of
    assert len({core.apic for core in of.cores}) == len(of.cores)


def test_most_machines_have_most_layouts(folder: Path) -> None:
    """The other tests would pass if everything were refused."""
    done = Counter[str]()
    for name in MACHINES:
        for layout in ("per-socket", "per-l3", "per-numa", "spanning"):
            for smt in (True, False):
                try:
                    make_map(machine(name, smt, folder), layout)
                except InputError:
                    continue
                done[layout] += 1
    assert done["per-socket"] > 70 and done["per-l3"] > 70 and done["per-numa"] > 70 and done["spanning"] > 45, done


# ---- Machines as they are emulated in a run: regular ones as a shape, others part by part; and maps that say which.
# ----


IRREGULAR = {
    *("Cascade Lake 6226R, Optane as memory", "Xeon Max 9480, flat", "KNL 7210, SNC-4, flat"),  # nodes without cores
    "Cascade Lake, two nodes a socket, persistent memory",
    # nodes without memory
    *("Threadripper 2990WX", "EPYC 7601, one channel filled", "EPYC 7251, memory in two of eight nodes"),
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
    assert words.count("-device") + int(words[1].split(",")[0].removeprefix("cpus=")) == made.cpus <= QEMU_MAX_CPUS


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
        ("--sockets 2 --cores 96 --clients 1", "--cores: 190 instances with 1 each need 382 network ports of 120; a "
                                               "machine of 61 cores in all fits, with --clients 1"),
    ],
)
def test_comparisons_of_large_machines_say_what_fits(words: str, expected: str,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    """more clients than the switch has ports for are refused before anything is built"""
    assert main.main(["compare", *words.split()]) == 2
    assert capsys.readouterr().err == f"skerry: {expected}\n"


# ---- libvirt's own schema is the judge of the form; the rest is compared with the machine. ----


def checked(text: str, tmp_path: Path) -> ElementTree.Element:
    path = tmp_path / "domain.xml"
    path.write_text(text)
    done = subprocess.run(["virt-xml-validate", str(path), "domain"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return ElementTree.fromstring(text)


@pytest.mark.parametrize("name", MACHINES)
def test_schema(name: str, tmp_path: Path) -> None:
    machine = read_machine(str(write(name, tmp_path)))
    nothing = ClusterMap(cpus=[], memory=[], clusters=[])
    if any(not machine.memory_of(core.node) for core in machine.cores):
        with pytest.raises(InputError, match="has no memory, and libvirt no cell without any"):
            domain(machine, nothing)
        return
    root = checked(domain(machine, nothing), tmp_path)
    cells = root.findall("cpu/numa/cell")
    assert sum(int(cell.attrib["memory"]) for cell in cells) * KIB == sum(r.size for r in machine.memory)
    vcpus = [n for cell in cells if "cpus" in cell.attrib for n in parse_spans(cell.attrib["cpus"])]
    count = root.find("vcpu")
    assert count is not None and sorted(vcpus) == list(range(int(count.text or "0")))
    enabled = [v for v in root.findall("vcpus/vcpu") if v.get("enabled") == "yes"]
    assert len(machine.cores) == (len(enabled) or len(vcpus))
    assert (root.find("devices/iommu/driver[@eim='on']") is not None) == (len(vcpus) > 255)
    assert root.find("cputune") is None, "a machine of a file is on no host"


def test_on_its_host_each_cluster_stays_on_its_cores_and_memory(tmp_path: Path) -> None:
    path = tmp_path / "host.xml"
    path.write_text(Host(cores=2).xml())
    machine = read_machine(str(path), memory=GIB)
    root = checked(domain(machine, make_map(machine, "per-socket")), tmp_path)
    pins = {int(pin.attrib["vcpu"]): pin.attrib["cpuset"] for pin in root.findall("cputune/vcpupin")}
    assert pins == dict.fromkeys(range(4), "0-1,4-5") | dict.fromkeys(range(4, 8), "2-3,6-7")
    assert [(n.get("cellid"), n.get("nodeset")) for n in root.findall("numatune/memnode")] == [("0", "0"), ("1", "1")]
    assert root.findtext("memory") == str(2 * GIB // KIB)


def test_distances_and_dies(tmp_path: Path) -> None:
    machine = emulated(Shape(2, 4, GIB, caches=2))
    root = checked(domain(machine, make_map(machine, "per-l3")), tmp_path)
    topology = root.find("cpu/topology")
    assert topology is not None and topology.attrib == {"sockets": "2", "dies": "2", "cores": "2", "threads": "1"}
    siblings = root.findall("cpu/numa/cell[@id='0']/distances/sibling")
    assert [(s.get("id"), s.get("value")) for s in siblings] == [("0", "10"), ("1", "21")]
