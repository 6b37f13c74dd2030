# SPDX-License-Identifier: BSD-2-Clause
"""Maps broken one edit at a time: each must be refused, with a line that names the culprit."""

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from topology.errors import InputError
from topology.machines.machine import Shape, emulated
from topology.maps import reader
from topology.maps.check import check_map
from topology.maps.clustermap import Application
from topology.maps.dts import compile_dts, write_dts
from topology.maps.reader import read_blob, read_dts, read_file, refused
from topology.units import LARGE_PAGE

MACHINE = emulated(Shape())
GOOD = (Path(__file__).parent / "good.dts").read_text()


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        check_map(read_dts(text), MACHINE)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_the_map_of_the_document_is_good() -> None:
    check_map(read_dts(GOOD), MACHINE)


def renumbered(numbers: dict[int, int]) -> str:
    """Returns the map with other labels of its nodes."""
    text = re.sub(r"(?<=numa-node-id = <)(\d+)", lambda match: str(numbers[int(match[1])]), GOOD)
    return re.sub(r"<(\d) (\d) (\d+)>", lambda match: f"<{numbers[int(match[1])]} {numbers[int(match[2])]} {match[3]}>",
                  text)


@pytest.mark.parametrize("numbers", [{0: 1, 1: 2}, {0: 1, 1: 0}, {0: 7, 1: 3}, {0: 0, 1: 4000000000}])
def test_nodes_are_labels(numbers: dict[int, int]) -> None:
    """a map may number the machine's nodes as it likes: cores and memory say which is which"""
    text = renumbered(numbers)
    assert text != GOOD
    check_map(read_dts(text), MACHINE)


def test_coarser_and_finer_nodes() -> None:
    """a map of one node where the machine has two, and of two where it has one, fits"""
    one = renumbered({0: 0, 1: 0})
    one = re.sub(r"    distance-map \{.*?\n    \};\n", "", one, flags=re.DOTALL)
    check_map(read_dts(one), MACHINE)
    check_map(read_dts(GOOD), replace(MACHINE, cores=tuple(replace(c, node=0) for c in MACHINE.cores),
                                      memory=tuple(replace(m, node=0) for m in MACHINE.memory)))


# Each: what to replace, by what, and what the error must say.
BROKEN = [
    ("/dts-v1/;", "", "error"),
    ('compatible = "skerry,cluster-map-v1"', 'compatible = "skerry,cluster-map-v2"',
     "cluster map: is not compatible with skerry,cluster-map-v1"),
    ("cpus = <&cpu2 &cpu3>", "cpus = <&cpu2 &cpu7>", "cpu7"),
    ("cpus = <&cpu2 &cpu3>", "cpus = <&cpu2 &cpu2>", "cpu@2: is in cluster@1 twice"),
    ("cpus = <&cpu2 &cpu3>", "cpus = <&cpu2 &cpu1>", "cpu@1: is in cluster@0 and in cluster@1"),
    ("cpus = <&cpu2 &cpu3>", "cpus = <&cpu2>", "cpu@3: is in no cluster"),
    ("cpus = <&cpu2 &cpu3>", "cpus = <2 3>", "cluster@1: entry 1 of cpus names no node of /cpus"),
    ("cpus = <&cpu2 &cpu3>;", "", "cluster@1: has no cpus"),
    ("cpu@3 { device_type = \"cpu\"; reg = <3>", "cpu@9 { device_type = \"cpu\"; reg = <9>", "cpu@9: the machine"),
    ("cpu@3 { device_type = \"cpu\"; reg = <3>", "cpu@3 { device_type = \"cpu\"; reg = <2>",
     "cpu@3: cpu@2 and cpu@3 have the same local APIC id 2"),
    ("cpu@3 { device_type = \"cpu\"; reg = <3>", "cpu@4 { device_type = \"cpu\"; reg = <3>",
     "cpu@4: its name says '4', its reg 3"),
    ("cpu@3 { device_type = \"cpu\"; reg = <3>", "core@3 { device_type = \"cpu\"; reg = <3>",
     "core@3: unknown node in cpus"),
    ("cpu@3 { device_type = \"cpu\"", "cpu@3 { device_type = \"gpu\"", "cpu@3: device_type is not 'cpu'"),
    ("reg = <3>; numa-node-id = <1>;", "reg = <3>;", "cpu@3: has no numa-node-id"),
    ("cpu@3 { device_type = \"cpu\"; reg = <3>; numa-node-id = <1>",
     "cpu@3 { device_type = \"cpu\"; reg = <3>; numa-node-id = <0>", "cpu@3: numa-node-id"),
    ("memory@40000000 { device_type = \"memory\"; reg = <0x0 0x40000000 0x0 0x40000000>",
     "memory@40000000 { device_type = \"memory\"; reg = <0x0 0x40000000 0x0 0x80000000>", "memory@40000000"),
    ("0x0 0x40000000>; numa-node-id = <1>; };\n\n    distance",
     "0x0 0x40000000>; numa-node-id = <0>; };\n\n    distance", "memory@40000000: numa-node-id"),
    ("0x0 0x40000000>; numa-node-id = <1>; };\n\n    distance",
     "0x0 0x40000000>; numa-node-id = <5>; };\n\n    distance", "memory@40000000: numa-node-id"),
    ("memory = <0x0 0x0 0x0 0x40000000>", "memory = <0x0 0x0 0x0 0x50000000>",
     "memory 0x0 .. 0x4fffffff of cluster@0 overlaps"),
    ("memory = <0x0 0x0 0x0 0x40000000>", "memory = <0x0 0x0 0x0 0x0>", "cluster@0: memory at 0x0 is empty"),
    ("memory = <0x0 0x0 0x0 0x40000000>", "memory = <0x0 0x0 0x0>",
     "cluster@0: memory is not base and size of two cells each"),
    ("memory = <0x0 0x0 0x0 0x40000000>", "memory = <0xffffffff 0xfffff000 0x0 0x2000>",
     "cluster@0: memory at 0xfffffffffffff000 goes past the end"),
    ("memory = <0x0 0x0 0x0 0x40000000>", "memory = <0x0 0x200 0x0 0x3ffff000>", "cluster@0: memory 0x200"),
    ("memory = <0x0 0x0 0x0 0x40000000>", "memory = <0x0 0x0 0x0 0x30000000>, <0x0 0x20000000 0x0 0x20000000>",
     "cluster@0: memory 0x0 .. 0x2fffffff of cluster@0 overlaps 0x20000000"),
    ("memory = <0x0 0x40000000 0x0 0x3f000000>", "memory = <0x0 0x40000000 0x0 0x40000000>", "overlaps"),
    ("memory = <0x0 0x40000000 0x0 0x3f000000>", "memory = <0x1 0x40000000 0x0 0x3f000000>",
     "cluster@1: memory 0x140000000"),
    ("memory = <0x0 0x40000000 0x0 0x3f000000>", "memory = <0x0 0x3f000000 0x0 0x3f000000>",
     "cluster@1: memory 0x0 .. 0x3fffffff of cluster@0 overlaps 0x3f000000"),
    ("memory = <0x0 0x7f000000 0x0 0x1000000>", "memory = <0x0 0x7f100000 0x0 0x800000>",
     "channel@0: memory 0x7f100000, size 0x800000 is not a multiple of 2048 KiB"),
    ("memory = <0x0 0x7f000000 0x0 0x1000000>", "memory = <0x0 0x80000000 0x0 0x1000000>",
     "channel@0: memory 0x80000000"),
    ("memory = <0x0 0x7f000000 0x0 0x1000000>", "memory = <0x0 0x70000000 0x0 0x1000000>", "overlaps"),
    ("ends = <0 1>", "ends = <0 0>", "channel@0: both ends are cluster 0"),
    ("ends = <0 1>", "ends = <0 2>", "channel@0: there is no cluster 2"),
    ("ends = <0 1>", "ends = <0 1 1>", "channel@0: ends does not name two clusters"),
    ("ends = <0 1>;", "", "channel@0: ends does not name two clusters"),
    ("devices;", "", "cluster map: no cluster has devices"),
    ("devices;", "restart = <1>; devices;", "cluster@0: restart takes no value"),
    ("devices;", "devices; restart-limit = <1 2>;", "cluster@0: restart-limit is not one cell"),
    ("devices;", "devices = <1>;", "cluster@0: devices takes no value"),
    ('reg = <1>; kernel = "clh+stat";', 'reg = <1>; kernel = "clh+stat"; devices;',
     "cluster@1: cluster@0 and cluster@1 both have devices"),
    ('reg = <1>; kernel = "clh+stat";', 'reg = <1>; kernel = "none";', "cluster@1: kernel \"none\" runs on one core"),
    ('reg = <1>; kernel = "clh+stat";', 'reg = <1>; kernel = "clh+stat"; granularity = "coarse";',
     "cluster@1: granularity is for kernel \"dynamic\", not \"clh+stat\""),
    ('reg = <1>; kernel = "clh+stat";', 'reg = <1>; kernel = "dynamic"; granularity = "medium";',
     "cluster@1: granularity \"medium\" is neither coarse nor fine"),
    ('reg = <1>; kernel = "clh+stat";', 'reg = <1>; kernel = "../clh";', "cluster@1: '../clh'"),
    ('reg = <1>; kernel = "clh+stat";', 'reg = <1>; kernal = "clh+stat";', "cluster@1: has no kernel"),
    ('reg = <1>; kernel = "clh+stat";', 'reg = <1>; kernel = "clh+stat"; colour = "red";',
     "cluster@1: unknown property 'colour'"),
    ("cluster@1 { reg = <1>;", "cluster@2 { reg = <2>;", "cluster@2: reg is 2, clusters are numbered from 0 to 1"),
    ("cluster@1 { reg = <1>;", "cluster@1 { reg = <0>;", "cluster@1: cluster@0 and cluster@1 have the same reg 0"),
    ('program = "redis-server"', 'program = "postgres"', "redis@2: program postgres"),
    ('modules = "redis-server", "ycsb", "switch"', 'modules = "redis-server", "ycsb", "ycsb", "switch"',
     "cluster@0: module ycsb is named twice"),
    ("heap = <0x0 0x10000000>", "heap = <0x0 0x10000100>", "redis@2: heap"),
    ("heap = <0x0 0x10000000>", "heap = <0x1 0x10000000>", "cluster@0: heaps of"),
    ("heap = <0x0 0x10000000>", "heap = <0x0 0x0>", "redis@2: heap"),
    ("heap = <0x0 0x10000000>", "heap = <0x10000000>", "redis@2: heap is not one size of two cells"),
    ('ipv4 = "10.0.2.101"', 'ipv4 = "10.0.2.151"', "ycsb@3: redis@2 and ycsb@3 have the same ipv4 10.0.2.151"),
    ('ipv4 = "10.0.2.101"', 'ipv4 = "10.0.3.101"', "redis@2: its ipv4 10.0.3.101 is outside"),
    ('ipv4 = "10.0.2.101"', 'ipv4 = "10.0.2.2"', "redis@2: its ipv4 10.0.2.2 is the network's, the gateway's"),
    ('ipv4 = "10.0.2.101"', 'ipv4 = "10.0.2.999"', "redis@2: ipv4 \"10.0.2.999\" is not an IPv4 address"),
    ('ipv4 = "10.0.2.101"', 'ipv4 = "10.0.02.101"', "redis@2: ipv4 \"10.0.02.101\" is not an IPv4 address"),
    ('ipv4 = "10.0.2.101";', "", "redis@2: has only one"),
    ("mac = [02 53 4b 00 00 02]", "mac = [02 53 4b 00 00 03]", "ycsb@3: redis@2 and ycsb@3 have the same mac"),
    ("mac = [02 53 4b 00 00 02]", "mac = [03 53 4b 00 00 02]", "redis@2: its mac is not that of one station"),
    ("mac = [02 53 4b 00 00 02]", "mac = [02 53 4b]", "redis@2: mac is not six bytes"),
    ('await = "redis@2"', 'await = "redis@7"', "ycsb@3: awaits redis@7, which is no application"),
    ('await = "redis@2"', 'await = "ycsb@3"', "ycsb@3: awaits itself"),
    ('await = "redis@2"', 'await = "redis@2", "redis@2"', "ycsb@3: awaits redis@2 twice"),
    ('mac = [02 53 4b 00 00 02];', 'mac = [02 53 4b 00 00 02]; stack = "stack@7";',
     "redis@2: its stack stack@7 is no application"),
    ('mac = [02 53 4b 00 00 02];', 'mac = [02 53 4b 00 00 02]; stack = "redis@2";',
     "redis@2: redis@2 can be nobody's stack"),
    ('mac = [02 53 4b 00 00 02];', 'mac = [02 53 4b 00 00 02]; stack = "switch@0";',
     "redis@2: switch@0 can be nobody's stack"),
    ('mac = [02 53 4b 00 00 02];', 'mac = [02 53 4b 00 00 02]; stack = "ycsb@3";',
     "redis@2: the program has the address"),
    ("barrier; ", 'volumes = "virtio-net@1"; ', "ycsb@3: virtio-net@1 is no volume of a program"),
    ("barrier; ", 'volumes = "ycsb@3"; ', "ycsb@3: has volume itself"),
    ("barrier; ", 'mount = "/data"; ', "ycsb@3: a volume server has mount, and nothing else has"),
    ("barrier; ", "statistics = <1>; ", "ycsb@3: statistics takes no value"),
    ('program = "ycsb"; cpu = <&cpu1>;', 'program = "ycsb"; cpu = <&cpu2>; statistics;',
     "ycsb@3: has statistics, which cluster@1 does not collect"),
    ('role = "switch"', 'role = "hub"', "switch@0: role \"hub\""),
    ('role = "switch";', "", "no application is the switch"),
    ('role = "nic";', "", "virtio-net@1: a NIC driver and a volume server have pci-id"),
    ("ycsb@3 { reg = <3>", "ycsb@2 { reg = <2>", "two nodes have this reg"),
    ('netmask = "255.255.255.0"', 'netmask = "255.0.255.0"', "network: netmask 0xff00ff00 is not ones and then zeros"),
    ("mtu = <1500>", "mtu = <9000>", "network: mtu 9000"),
    ('shutdown = "when-done"', 'shutdown = "now"', "run: shutdown \"now\""),
    ("<0 1 21>", "<0 1 10>", "distance-map"),
    (", <1 0 21>", "", "distance-map: does not say the distance of 1 and 0"),
    ("<0 1 21>", "<0 5 21>", "distance-map: names node 5"),
    ("<1 0 21>", "<0 1 21>", "distance-map: says the distance of 0 and 1 twice"),
    ("<0 0 10>, ", "<0 0>, ", "distance-map: distance-matrix is not made of groups of 3 cells"),
    ("numa-distance-map-v1", "numa-distance-map-v2", "distance-map: compatible is not"),
    ("    #size-cells = <2>;\n\n", "    #size-cells = <2>; colour = <1>;\n\n",
     "cluster map: unknown property 'colour'"),
    ("    #address-cells = <2>;\n    #size-cells", "    #size-cells", "cluster map: has no #address-cells"),
    ("cpus {  ", "cpus { colour; ", "cpus: unknown property 'colour'"),
    ("clusters {\n        #address-cells = <1>;", "clusters {\n        #address-cells = <2>;",
     "clusters: #address-cells must be 1"),
    ("applications {\n        #address-cells = <1>;\n        #size-cells = <0>;",
     "applications {\n        #address-cells = <1>;", "applications: has no #size-cells"),
    ("run { ", "runs { };\n    run { ", "runs: unknown node"),
    ("run { ", "cpus@1 { };\n    run { ", "cpus@1: unknown node"),
    ('"when-done"; };', '"when-done"; now { }; };', "now: unknown node in run"),
    ('"c"; };', '"c"; more { }; };', "more: unknown node in ycsb@3"),
    ("mtu = <1500>;", "mtu = <1500>; colour = <1>;", "network: unknown property 'colour'"),
    ('gateway = "10.0.2.2";', "", "network: has no gateway"),
    ('reg = <0x0 0x0 0x0 0x40000000>; numa-node-id = <0>; };', 'reg = <0x0 0x0 0x0 0x40000000>; };',
     "memory@0: has no numa-node-id"),
    ('reg = <0x0 0x0 0x0 0x40000000>;', 'reg = <0x0 0x0 0x0 0x0>;', "memory@0: memory at 0x0 is empty"),
    ('reg = <0x0 0x0 0x0 0x40000000>;', 'reg = <0x0 0x0 0x40000000>;', "memory@0: reg is not base and size"),
    ('reg = <0x0 0x0 0x0 0x40000000>;', 'reg = <0xffffffff 0xfffff000 0x0 0x2000>;',
     "memory@0: memory at 0xfffffffffffff000 goes past the end"),
    ('memory@0 { device_type = "memory"', 'memory@0 { device_type = "ram"', "memory@0: device_type is not 'memory'"),
    ("memory@0 {", "memory@1000 {", "memory@1000: its name says '1000', its reg 0"),
    ("redis@2 { reg = <2>;", "redis@2 { reg = <4>;", "redis@2: its name says '2', its reg 4"),
    ("redis@2 { reg = <2>;", "redis@2 {", "redis@2: reg is not one cell"),
    ("redis@2 { reg = <2>;", "redis@2 { reg = <2>; await;", "redis@2: await is not a list of strings"),
    ("redis@2 { reg = <2>;", "redis@2 { reg = <2>; env = [41 3d ff 00];", "redis@2: env is not text"),
    ("ends = <0 1>;", "ends = <0 1>; size = <0x0 0x1000000>;", "channel@0: size is for a channel with ivshmem"),
    ("run { ", "machine { sockets = <2>; cores-per-socket = <2>; };\n    run { ",
     "machine: memory-per-node is not one size of two cells"),
    ("run { ", "machine { sockets = <2>; cores-per-socket = <2>; memory-per-node = <0 0x40000000>; core = <1>; };\n    "
               "run { ", "machine: unknown property 'core'"),
    ("run { ", "machine { sockets = <2>; cores-per-socket = <2>; memory-per-node = <0 0x40000000>; threads-per-core = "
               "<1 1>; };\n    run { ", "machine: threads-per-core is not one cell"),
    ("run { ", "machine { sockets = <2>; cores-per-l3-cache = <2>; };\n    run { ",
     "machine: has no l3-caches-per-socket"),
    ("run { ", "machine { sockets = <2>; cores-per-l3-cache = <2>; l3-caches-per-socket = <1>; threads-per-core = <1>; "
               "nodes-per-socket = <1>; };\n    run { ", "machine: unknown property 'nodes-per-socket'"),
]


@pytest.mark.parametrize("old, new, expected", BROKEN, ids=[f"{i}-{e}" for i, (_, _, e) in enumerate(BROKEN)])
def test_one_edit_breaks_it(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    assert expected in refusal(GOOD.replace(old, new, 1))


def test_a_missing_channel_is_found_when_the_network_needs_it() -> None:
    start, end = GOOD.index("    channels {"), GOOD.index("    network {")
    text = GOOD[:start] + GOOD[end:]
    assert "cluster" not in text[start:]
    check_map(read_dts(text), MACHINE)
    assert "redis@2: no channel joins cluster@1" in refusal(text.replace("cpu = <&cpu1>", "cpu = <&cpu2>"))


def test_the_order_of_clusters() -> None:
    """a cluster's place is its number, in what this tool makes"""
    made = read_dts(GOOD)
    made.clusters.reverse()
    with pytest.raises(InputError, match="cluster@1: clusters are numbered 0, 1, ... in order; this should be 0"):
        check_map(made)


def test_text_of_any_language() -> None:
    """arguments and variables are text in UTF-8; quotes and control characters are kept"""
    made = read_dts(GOOD.replace("barrier; ", 'barrier; env = "A=\\"ä\\n€😀\\\\\\x01"; ', 1))
    assert next(app for app in made.applications if app.name == "ycsb@3").env == ['A="ä\n€😀\\\x01']
    assert read_dts(write_dts(read_dts(GOOD))) == read_dts(GOOD)


def test_a_map_for_a_larger_machine_does_not_fit_a_smaller() -> None:
    with pytest.raises(InputError, match="cpu@2"):
        check_map(read_dts(GOOD), emulated(Shape(1, 2)))


@pytest.mark.parametrize("count", [257, 700, 2049])
def test_many_applications(count: int) -> None:
    """the tool accepts as many as the loader and the managers do, and refuses one more in one line"""
    made = read_dts(GOOD)
    few = len(made.applications)
    made.applications += [Application(100 + i, "more", "ycsb", i % 4, LARGE_PAGE) for i in range(count - few)]
    if count <= 2048:
        check_map(made, MACHINE)
        return
    with pytest.raises(InputError) as caught:
        check_map(made, MACHINE)
    assert re.fullmatch(r"more@[0-9a-f]+: more than 2048 applications", str(caught.value))


def test_lines_of_the_loader() -> None:
    """the culprit is the node that a line names, the later one of two"""
    for line, node, culprit, problem in (
        ("map: redis@2 awaits itself", "redis@2", "redis@2", "awaits itself"),
        ("map: cpu@0,1: reg is not one cell", "cpu@0,1", "cpu@0,1", "reg is not one cell"),
        ("map: a-b@2 and c@3 have the same mac", "c@3", "c@3", "a-b@2 and c@3 have the same mac"),
        ("map: a@2 and a@2 have the same mac", "a@2", "a@2", "a@2 and a@2 have the same mac"),
        ("map: memory 0x0 .. 0x1 of cluster@0 overlaps 0x1 .. 0x2 of channel@0", "channel@0", "channel@0",
         "memory 0x0 .. 0x1 of cluster@0 overlaps 0x1 .. 0x2 of channel@0"),
        ("map: network: mtu 0 is not in 576 .. 1500", "network", "network", "mtu 0 is not in 576 .. 1500"),
        ("map: there is no node /cpus", "", "cluster map", "there is no node /cpus"),
    ):  # fmt: skip
        error = refused({"text": line, "node": node, "property": "", "cause": node, "cause_property": ""})
        assert (error.culprit, error.problem) == (culprit, problem)


# One edit of the good map, and which node and property must be changed.
ABOUT = [
    ("heap = <0x0 0x10000000>", "heap = <0x0 0x10000001>", ("redis@2", "heap")),
    ('await = "redis@2"', 'await = "ycsb@3"', ("ycsb@3", "await")),
    ('role = "switch"', 'role = "hub"', ("switch@0", "role")),
    ("mtu = <1500>", "mtu = <9000>", ("network", "mtu")),
    ('netmask = "255.255.255.0"', 'netmask = "255.0.255.0"', ("network", "netmask")),
    ('shutdown = "when-done"', 'shutdown = "now"', ("run", "shutdown")),
]


@pytest.mark.parametrize("old, new, at", ABOUT, ids=[" ".join(at) for _, _, at in ABOUT])
def test_refusals_are_data(old: str, new: str, at: tuple[str, str]) -> None:
    """the loader's check names the node and the property as data; no line is taken apart for it"""
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        check_map(read_dts(GOOD.replace(old, new, 1)))
    assert caught.value.at == at, caught.value
    assert caught.value.to_json()["at"] == at


def test_quotes_in_refusals() -> None:
    """a name with quotes and backslashes is refused in the same words as by the loader"""
    with pytest.raises(InputError, match=r'run: shutdown "a.b.c" is neither'):
        check_map(read_dts(GOOD.replace('shutdown = "when-done"', 'shutdown = "a\\"b\\\\c"')))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Where the loader's check would be, had it been built; afterwards it is that of the build again."""
    path = tmp_path / "lib" / "map.so"
    monkeypatch.setattr(reader, "LIBRARY", path)
    reader._library.cache_clear()
    yield path
    reader._library.cache_clear()


def test_before_the_first_build(library: Path) -> None:
    """the loader's check is compiled where there is no build yet"""
    assert "awaits itself" in refusal(GOOD.replace('await = "redis@2"', 'await = "ycsb@3"'))
    assert library.exists()


@pytest.mark.parametrize("cut", [0, 3, 8, 39, 40, 100, 500, -1])
def test_a_cut_blob_is_refused(cut: int) -> None:
    with pytest.raises(InputError):
        read_blob(compile_dts(GOOD)[:cut])


@pytest.mark.parametrize("word, value", [(1, 60), (8, 0), (9, 8), (9, 1 << 30)], ids=str)
def test_a_header_that_lies_is_refused(word: int, value: int) -> None:
    blob = bytearray(compile_dts(GOOD))
    blob[4 * word : 4 * word + 4] = value.to_bytes(4, "big")
    with pytest.raises(InputError,
                       match="^cluster map: (not a sound devicetree|the property at byte|the devicetree ends early)"):
        read_blob(bytes(blob))


def test_a_blob_with_any_byte_changed_never_crashes_the_reader() -> None:
    blob = compile_dts(GOOD)
    for position in range(0, len(blob), 7):
        broken = bytearray(blob)
        broken[position] ^= 0xFF
        try:
            check_map(read_blob(bytes(broken)), MACHINE)
        except InputError:
            pass


def test_files_that_are_no_maps(tmp_path: Path) -> None:
    (tmp_path / "noise.dtb").write_bytes(struct.pack(">I", 0xD00DFEED) + b"\xff" * 60)
    (tmp_path / "binary").write_bytes(b"\x00\xff\xfe")
    (tmp_path / "empty.dts").write_text("")
    for name in ("noise.dtb", "binary", "empty.dts", "absent.dts"):
        with pytest.raises(InputError, match=name):
            read_file(tmp_path / name)


def test_before_the_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """where dtc and the compiler are yet to be installed, a plan is made without the loader's check"""
    whole = read_dts(GOOD)
    monkeypatch.setenv("PATH", str(tmp_path))
    check_map(whole, MACHINE)
    request.getfixturevalue("library")
    check_map(whole, MACHINE)


def test_a_library_older_than_its_sources(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """the loader's check is compiled anew where its sources have changed; a tree that nobody may write into goes
    without"""
    library.parent.mkdir()
    library.write_text("not a library")
    os.utime(library, (0, 0))
    assert "awaits itself" in refusal(GOOD.replace('await = "redis@2"', 'await = "ycsb@3"'))
    reader._library.cache_clear()
    monkeypatch.setattr(reader, "LIBRARY", library / "no" / "folder.so")
    assert reader._library() is None


@pytest.mark.usefixtures("library")
def test_reading_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a map cannot be read before the library is there, and one line says what to install"""
    blob = compile_dts(GOOD)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="cc: not found; install gcc"):
        read_blob(blob)
