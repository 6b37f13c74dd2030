# SPDX-License-Identifier: BSD-2-Clause
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.unit.topology.machines import MACHINES, Host, allowed, from_set, lstopo, subtype, to_set, write, xml_of
from topology.errors import InputError
from topology.foreign import format_spans, parse_spans
from topology.machines import libvirt_host, linux
from topology.machines.hwloc import bitmap
from topology.machines.machine import Machine, MemoryRange, like
from topology.machines.sources import read_machine
from topology.maps.check import check_map
from topology.maps.mapmaker import make_map
from topology.maps.shares import distant
from topology.units import GIB, MIB


def host(tmp_path: Path, text: str) -> str:
    path = tmp_path / "host.xml"
    path.write_text(text)
    return str(path)


def test_hwloc_gives_sockets_nodes_caches_threads_and_distances(tmp_path: Path) -> None:
    machine = read_machine(str(write("EPYC 7451", tmp_path)))
    assert [(c.socket, c.node, c.l3, c.physical) for c in machine.cores[:8]] == [
        (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 0, 2), (0, 0, 1, 3), (0, 0, 1, 3),
    ]  # fmt: skip
    assert machine.distances[0, 4] == 24
    assert machine.memory[0] == MemoryRange(0, 2 * GIB, 0) and machine.memory_of(7) == 16 * GIB
    assert machine.notes == () and machine.host_nodes == ()


def test_the_format_of_hwloc_1_is_read_too(tmp_path: Path) -> None:
    new = write("EPYC 7451", tmp_path)
    old = tmp_path / "old.xml"
    old.write_text(lstopo("-i", str(new), "--of", "xml", "--export-xml-flags", "1"))
    assert 'type="Socket"' in old.read_text()
    a, b = read_machine(str(new)), read_machine(str(old))
    assert (a.cores, a.memory) == (b.cores, b.memory)


def test_the_format_of_hwloc_3_is_read_too(tmp_path: Path) -> None:
    root = ElementTree.fromstring(xml_of("EPYC 7451"))
    root.set("version", "3.0")
    assert root[0].find("info") is not None
    for info in root[0].findall("info"):  # are beside the machine now, not in it
        root[0].remove(info)
        root.append(info)
    machine = read_machine(host(tmp_path, ElementTree.tostring(root, encoding="unicode")))
    assert machine.cores == read_machine(str(write("EPYC 7451", tmp_path))).cores
    ElementTree.SubElement(root, "info", name="Architecture", value="aarch64")
    with pytest.raises(InputError, match="architecture aarch64; Skerry runs on x86-64"):
        read_machine(host(tmp_path, ElementTree.tostring(root, encoding="unicode")))


def test_how_a_file_is_written_does_not_matter(tmp_path: Path) -> None:
    path = write("EPYC 7451", tmp_path)
    before = read_machine(str(path))
    path.write_text("<!-- from the lab -->\n" + path.read_text().replace('"', "'").replace("><", ">\n\n\t<"))
    assert read_machine(str(path)).cores == before.cores


def test_one_thread_of_each_core(tmp_path: Path) -> None:
    both = read_machine(str(write("Nehalem X5550", tmp_path)))
    one = read_machine(str(write("Nehalem X5550", tmp_path)), smt=False)
    assert both.has_smt and not one.has_smt
    assert [c.number for c in one.cores] == [c.number for c in both.cores][::2]
    assert [c.apic for c in one.cores] == list(range(8))


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    machine = read_machine(str(write("Alder Lake i9-12900K", tmp_path)))
    assert machine.notes[0].startswith("processors left out, being offline or not allowed: 17,19")
    assert "8 efficiency, 16 performance" in machine.notes[1]
    assert [c.kind for c in machine.cores].count("efficiency") == 8


def test_memory_beside_cores_that_are_offline_is_near_to_those_that_are_not(tmp_path: Path) -> None:
    machine = read_machine(str(write("Haswell, a socket offline", tmp_path)))
    assert machine.near == {1: frozenset({0})}
    assert sum(r.size for r in make_map(machine, "spanning").clusters[0].memory) == 128 * GIB


def test_cores_whose_memory_a_cgroup_keeps_have_a_node_without_any(tmp_path: Path) -> None:
    root = ElementTree.fromstring(xml_of("Opteron 6276"))
    allowed(*range(0, 32, 2), nodes=(1, 2))(root)
    machine = read_machine(host(tmp_path, ElementTree.tostring(root, encoding="unicode")))
    assert [c.node for c in machine.cores] == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert {r.node for r in machine.memory} == {1, 2}
    check_map(make_map(machine, "per-socket"), machine)
    made = make_map(machine, "per-numa")
    check_map(made, machine)
    assert distant(made) == [
        f"cluster {n} has memory of node {of}, distance 21: there is none in NUMA node {n}, where its cores are"
        for n, of in ((0, 1), (3, 2))
    ]


NOTES = {
    "Cascade Lake, two nodes a socket, persistent memory":
        "496 GiB of persistent memory (NUMA nodes 1,3,5,7) as plain memory",
    "Cascade Lake 6226R, Optane as memory": "1536 GiB of memory without cores (NUMA nodes 1,3) as plain memory",
    "Xeon Max 9480, flat": "128 GiB of HBM (NUMA nodes 1,3) as plain memory",
    "two Xeon X5560 of one package number":
        "one socket has 2 NUMA nodes with an L3 cache each, as far apart as sockets are: its firmware may give several "
        "packages one number; per-numa keeps them apart",
}


@pytest.mark.parametrize("name", MACHINES)
def test_notes_of_memory_and_packages(name: str, tmp_path: Path) -> None:
    """memory that a map takes for plain is named with its kind and size, packages of one number where they seem to be
    several; nothing of the kind is said of other machines"""
    notes = [note for note in read_machine(str(write(name, tmp_path))).notes if "as plain" in note or "one number" in
             note]
    few = ("Haswell, a socket offline", "KNL 7210, SNC-4, flat", "EPYC 7451, a container",
           "Skylake, one thread allowed")
    assert name in few or notes == ([NOTES[name]] if name in NOTES else [])


def test_kinds_of_memory(tmp_path: Path) -> None:
    """hwloc's DAXType says what its subtype does not; a kind that nobody knows is not printed"""
    synthetic = "pack:1 [numa(memory=4GiB)] [numa(memory=24GiB)] core:4 pu:1"
    for kind, said in (("SPM", "special-purpose memory"), ("CXL-DRAM", "CXL-DRAM"),
                       ("\x1b[2J" * 9, "memory of an unknown kind")):
        text = lstopo("--if", "synthetic", "-i", synthetic, "--of", "xml")
        root = ElementTree.fromstring(text)
        for node in (node for node in root.iter("object") if node.get("type") == "NUMANode"):
            if node.get("os_index") == "1":
                ElementTree.SubElement(node, "info", name="DAXType", value=kind.replace("\x1b", "?"))
        machine = read_machine(host(tmp_path, ElementTree.tostring(root, encoding="unicode")))
        assert f"24 GiB of {said} (NUMA node 1) as plain memory" in machine.notes


def test_processors_in_no_node_are_in_the_one_beside_them(tmp_path: Path) -> None:
    """A machine's first node goes offline with its memory and one core, and leaves the others behind."""
    root = ElementTree.fromstring(xml_of("Nehalem X5550"))
    for thing in root.iter("object"):
        for what in ("nodeset", "complete_nodeset", "allowed_nodeset"):
            if what in thing.attrib:
                thing.set(what, to_set(from_set(thing.attrib[what]) - {0}))
    for parent in list(root.iter("object")):
        for node in parent.findall("object"):
            if node.get("type") == "NUMANode" and node.get("os_index") == "0":
                parent.remove(node)
    for matrix in root.findall("distances2"):
        root.remove(matrix)
    machine = read_machine(host(tmp_path, ElementTree.tostring(root, encoding="unicode")))
    assert [c.socket for c in machine.cores] == [0] * 8 + [1] * 8 and machine.nodes == [0]
    assert machine.notes[0].startswith("processors in no NUMA node, taken as in the one beside them: 0-7")
    assert [len(c.cpus) for c in make_map(machine, "per-socket").clusters] == [8, 8]


def test_favoured_cores_are_named_by_their_clock(tmp_path: Path) -> None:
    root = ElementTree.fromstring(xml_of("Tiger Lake i7-1185G7"))
    kind = ElementTree.SubElement(root, "cpukind", cpuset="0x3")
    ElementTree.SubElement(kind, "info", name="FrequencyMaxMHz", value="4800")
    machine = read_machine(host(tmp_path, ElementTree.tostring(root, encoding="unicode")))
    assert [c.kind for c in machine.cores] == ["4800 MHz"] * 2 + ["other"] * 6


def test_plain_memory_is_the_node_of_a_core_and_fast_memory_beside_it(tmp_path: Path) -> None:
    machine = read_machine(str(write("KNL 7210, SNC-4, flat", tmp_path)))
    assert {c.node for c in machine.cores} == {0, 2, 4, 6}
    assert machine.near == {n: frozenset({n - 1}) for n in (1, 3, 5, 7)}
    synthetic = "pack:1 [numa(memory=4GiB)] [numa(memory=24GiB)] core:4 pu:1"
    root = ElementTree.fromstring(lstopo("--if", "synthetic", "-i", synthetic, "--of", "xml"))
    subtype("MCDRAM", 0)(root)
    machine = read_machine(host(tmp_path, ElementTree.tostring(root, encoding="unicode")))
    assert {c.node for c in machine.cores} == {1} and machine.near == {0: frozenset({1})}


def test_this_machine() -> None:
    machine = read_machine("live")
    assert {c.apic for c in machine.cores} <= set(linux.apic_ids().values())
    assert machine.host_nodes
    check_map(make_map(machine, "size=1" if len(machine.cores) <= 60 else "per-l3"), machine)


def test_memory_blocks_of_linux_are_joined_and_offline_ones_left_out(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "block_size_bytes").write_text("8000000\n")
    for node, number in ((0, 0), (0, 1), (0, 3), (1, 4), (1, 5)):
        block = tmp_path / "node" / f"node{node}" / f"memory{number}"
        block.mkdir(parents=True)
        (block / "state").write_text("offline\n" if number == 4 else "online\n")
    size = 128 * MIB
    assert linux.memory(tmp_path) == [
        MemoryRange(0, 2 * size, 0), MemoryRange(3 * size, size, 0), MemoryRange(5 * size, size, 1),
    ]  # fmt: skip
    assert linux.memory(tmp_path / "nothing") is None


def test_libvirt_host(tmp_path: Path) -> None:
    machine = read_machine(host(tmp_path, Host(nodes=2, caches=2).xml()))
    assert (len(machine.sockets), len(machine.nodes), len(machine.cores)) == (2, 4, 32)
    assert len({c.l3 for c in machine.cores}) == 8
    assert [c.number for c in machine.cores[:4]] == [0, 16, 1, 17]
    assert machine.distances[0, 1] == 12 and machine.distances[0, 2] == 32
    assert machine.memory_of(3) == 32 * GIB and machine.host_nodes == (0, 1, 2, 3)
    for layout, count in (("per-socket", 2), ("per-numa", 4), ("per-l3", 8), ("spanning", 1), ("size=2", 8)):
        made = make_map(machine, layout)
        check_map(made, machine)
        assert len(made.clusters) == count


def test_libvirt_host_with_less(tmp_path: Path) -> None:
    machine = read_machine(host(tmp_path, Host(caches=0, offline={0, 8, 9}).xml()))
    assert "processors left out, being offline: 0,8-9" in machine.notes
    assert len(machine.cores) == 13 and {c.l3 for c in machine.cores} == {None}
    assert len(read_machine(host(tmp_path, Host(caches=0, offline={0, 8, 9}).xml()), smt=False).cores) == 7


def test_sockets_and_nodes_that_cross(tmp_path: Path) -> None:
    """a note where NUMA cells lie across sockets: both layouts mix; nodes of one socket, or of all of several, have
    none"""
    crossed = Host().xml()
    for core in range(8):  # cores 0 to 3 are cell 0's: half of them of each socket
        sides = {number: str(core % 2) for number in Host().siblings(core)}
        for number, socket in sides.items():
            crossed = re.sub(rf'(<cpu id="{number}" socket_id=")\d', rf"\g<1>{socket}", crossed)
    note = (
        "sockets and NUMA nodes cross (NUMA node 0 has cores of sockets 0-1, and 1 more such): a cluster of per-socket "
        "has several nodes, one of per-numa several sockets"
    )
    machine = read_machine(host(tmp_path, crossed))
    assert note in machine.notes
    emulated = like(read_machine(host(tmp_path, crossed), memory=GIB))
    assert isinstance(emulated, Machine) and note in emulated.notes, "compare says it, too"
    one_node = re.sub(r'</cpus></cell><cell id="1">.*?<cpus>', "", Host().xml(), flags=re.DOTALL)
    for usual in (Host().xml(), Host(nodes=2).xml(), one_node):
        assert not [note for note in read_machine(host(tmp_path, usual)).notes if "cross" in note]


def test_memory_may_be_given_where_none_is_known(tmp_path: Path) -> None:
    machine = read_machine(host(tmp_path, Host(memory=0).xml()))
    assert [machine.memory_of(n) for n in machine.nodes] == [4 * GIB, 4 * GIB]
    assert "nothing is said of memory: each NUMA node is given 4 GiB, or what --memory says" in machine.notes
    machine = read_machine(host(tmp_path, Host(memory=0).xml()), memory=GIB)
    assert [machine.memory_of(n) for n in machine.nodes] == [GIB, GIB]
    assert {c.apic for c in read_machine("live", memory=GIB).cores} >= {0}


def test_hwloc_and_libvirt_agree(tmp_path: Path) -> None:
    """hwloc and libvirt see the same board of the same machine, numbering apart."""
    text = lstopo("--if", "synthetic", "-i", "pack:2 [numa(memory=32GiB)] l3:1(size=16MiB) core:4 pu:2", "--of", "xml")
    (tmp_path / "hwloc.xml").write_text(text)
    a, b = read_machine(str(tmp_path / "hwloc.xml")), read_machine(host(tmp_path, Host().xml()))
    assert [(c.apic, c.socket, c.node, c.l3, c.physical) for c in a.cores] == [
        (c.apic, c.socket, c.node, c.l3, c.physical) for c in b.cores
    ]
    assert a.memory == b.memory


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "not XML"),
        ("<topology", "not XML"),
        ("<html/>", "neither hwloc's XML nor a libvirt host's capabilities: it starts with <html>"),
        ("<topology/>", "hwloc refuses it"),
        ("<topology version='2.0'><object type='Machine'/></topology>",
         "hwloc refuses it: invalid normal object Machine"),
        ("<topology version='9.0'><object type='Machine'/></topology>", "cannot import XML version 9.0"),
        ("<topology version='two'><object type='Machine'/></topology>", "hwloc refuses it: "),
        ("<capabilities/>", "not a host's capabilities"),
        ("<capabilities><host><cpu><arch>x86_64</arch></cpu></host></capabilities>", "has no core"),
        (Host(arch="aarch64").xml(), "is a machine of architecture aarch64; Skerry runs on x86-64"),
        (Host(offline=set(range(16))).xml(), "has no core"),
        (Host().xml().replace('cpus="0,8', 'cpus="0,eight'), "not a host's capabilities as libvirt writes them"),
        (Host().xml().replace(' id="3"', ""), "not a host's capabilities as libvirt writes them"),
    ],
)
def test_what_is_no_machine_is_refused_in_one_line(tmp_path: Path, text: str, why: str) -> None:
    path = host(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_machine(path)
    assert str(caught.value).startswith(path) and why in str(caught.value) and "\n" not in str(caught.value)


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    path = write("one virtual CPU", tmp_path)
    text = path.read_text().replace('name="Backend"', 'name="Architecture"').replace('"Synthetic"', '"ppc64le"')
    path.write_text(text)
    with pytest.raises(InputError, match="architecture ppc64le; Skerry runs on x86-64"):
        read_machine(str(path))


def test_sources_that_do_not_answer() -> None:
    with pytest.raises(InputError, match="/nowhere.xml: no such file"):
        read_machine("/nowhere.xml")
    with pytest.raises(InputError, match="test:///default: is a machine of architecture i686"):
        read_machine("test:///default", may_connect=True)  # libvirt's own make-believe host
    with pytest.raises(InputError, match="qemu\\+unix:///system\\?socket=/nowhere: .*"):
        read_machine("qemu+unix:///system?socket=/nowhere", may_connect=True)


@pytest.mark.parametrize(
    "uri", ["qemu:///system", "QEMU:///system", "test:///default", "esx://host/", "qemu+ssh://host/system",
            "qemu:/system"]
)
def test_a_uri_connects_only_where_the_user_typed_it(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libvirt_host.subprocess, "run", never)
    with pytest.raises(InputError,
                       match=r"a libvirt URI is taken from the command line only \(--topology URI\), not from a file"):
        read_machine(uri)


def never(*_: object, **__: object) -> None:
    raise AssertionError("a program was started")


@pytest.mark.parametrize(("uri", "culprit"), [
    ("qemu+ext:///system?command=/tmp/x", "transport 'ext'"),
    ("QEMU+EXT:///system", "transport 'ext'"),
    ("qemu+ssh://host/system?command=/tmp/x", "parameter 'command'"),
    ("qemu+ssh://host/system?socket=/a&COMMAND=/tmp/x", "parameter 'command'"),
    ("qemu+ssh://host/system?socket=/a;netcat=/tmp/x", "parameter 'netcat'"),
    ("qemu+libssh2://host/system?%6eetcat=/tmp/x", "parameter 'netcat'"),
    ("qemu+ssh://host/system?netcat", "parameter 'netcat'"),
    ("qemu+ssh://[::1/system", "is not a URI"),
    ("qemu+ssh://[host]/system", "is not a URI"),
])  # fmt: skip
def test_a_uri_that_names_a_program_is_refused(uri: str, culprit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libvirt_host.subprocess, "run", never)
    with pytest.raises(InputError, match=culprit):
        read_machine(uri, may_connect=True)
    with pytest.raises(InputError, match=culprit):
        libvirt_host.check_uri(uri)


@pytest.mark.parametrize("uri", [
    "qemu:///system", "qemu+ssh://user@host:2222/system?keyfile=/k&no_verify=1&socket=/s",
    "qemu+tls://[::1]/session?pkipath=/command",
])  # fmt: skip
def test_a_uri_without_a_program_passes(uri: str) -> None:
    libvirt_host.check_uri(uri)


def test_a_variable_of_hwloc_does_not_replace_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = read_machine("live")
    monkeypatch.setenv("HWLOC_XMLFILE", str(write("twelve Ivy Bridge E7-8890 v2", tmp_path)))
    assert read_machine("live").cores == before.cores


def test_sets() -> None:
    for numbers in ({0}, {1, 31}, {32, 64, 200}, set(range(100))):
        assert bitmap(to_set(numbers)) == from_set(to_set(numbers)) == numbers
        assert parse_spans(format_spans(numbers)) == numbers
    assert bitmap("0x4,,0x0") == {66} and bitmap("0x0") == set()
    assert format_spans([5, 0, 1, 2]) == "0-2,5"
    with pytest.raises(ValueError):
        bitmap("0xf...f,0x1")
