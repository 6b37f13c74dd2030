# SPDX-License-Identifier: BSD-2-Clause
"""Every machine under every layout: a map that keeps its promises, or a refusal for a reason that is really there.

What shares what is asked of hwloc, by another way than the tool's own.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.unit.topology.machines import MACHINES, from_set, lstopo, write, xml_of
from topology.errors import InputError
from topology.limits import MAX_CLUSTERS, MAX_CPUS
from topology.machines.machine import Machine
from topology.machines.qemu import place
from topology.machines.sources import read_machine
from topology.maps.check import check_map
from topology.maps.clustermap import Cluster, ClusterMap
from topology.maps.dts import write_dts
from topology.maps.mapmaker import make_map
from topology.maps.reader import read_dts
from topology.units import LARGE_PAGE

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
