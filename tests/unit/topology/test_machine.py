# SPDX-License-Identifier: BSD-2-Clause
from pathlib import Path

import pytest

from topology import hwloc
from topology.errors import InputError
from topology.machine import MemoryRange, Shape, apic_ids, emulated, q35_memory
from topology.units import GIB, MIB, format_size, parse_size

TWO_SOCKETS_XML = """<?xml version="1.0"?><topology version="2.0">
<object type="Machine" os_index="0" cpuset="0x000000ff">
 <object type="Package" os_index="0" gp_index="3" cpuset="0x0000000f">
  <object type="NUMANode" os_index="0" cpuset="0x0000000f" local_memory="4294967296"/>
  <object type="L3Cache" gp_index="7" depth="3">
   <object type="Core" os_index="0"><object type="PU" os_index="0"/><object type="PU" os_index="2"/></object>
   <object type="Core" os_index="1"><object type="PU" os_index="1"/><object type="PU" os_index="3"/></object>
  </object>
 </object>
 <object type="Package" os_index="1" gp_index="4" cpuset="0x000000f0">
  <object type="NUMANode" os_index="1" cpuset="0x000000f0" local_memory="2147483648"/>
  <object type="L3Cache" gp_index="8" depth="3">
   <object type="Core" os_index="0"><object type="PU" os_index="4"/><object type="PU" os_index="6"/></object>
  </object>
  <object type="L3Cache" gp_index="9" depth="3">
   <object type="Core" os_index="1"><object type="PU" os_index="5"/><object type="PU" os_index="7"/></object>
  </object>
 </object>
</object>
<distances2 type="NUMANode" nbobjs="2" kind="5" indexing="os">
 <indexes length="4">0 1 </indexes><u64values length="12">10 17 17 10 </u64values></distances2>
</topology>"""


@pytest.mark.parametrize(
    "sockets, cores, expected",
    [(2, 2, [[0, 1], [2, 3]]), (2, 3, [[0, 1, 2], [4, 5, 6]]), (3, 1, [[0], [1], [2]]), (1, 5, [[0, 1, 2, 3, 4]])],
)
def test_apic_ids_follow_the_topology_bits(sockets: int, cores: int, expected: list[list[int]]) -> None:
    assert apic_ids(sockets, cores) == expected


def test_small_memory_is_all_low() -> None:
    assert q35_memory([GIB, GIB]) == [MemoryRange(0, GIB, 0), MemoryRange(GIB, GIB, 1)]


def test_large_memory_splits_at_two_gib_and_a_node_may_lie_on_both_sides() -> None:
    assert q35_memory([3 * GIB // 2] * 2) == [
        MemoryRange(0, 3 * GIB // 2, 0),
        MemoryRange(3 * GIB // 2, GIB // 2, 1),
        MemoryRange(4 * GIB, GIB, 1),
    ]


def test_nodes_after_the_split_start_at_four_gib() -> None:
    assert q35_memory([2 * GIB] * 3)[1:] == [MemoryRange(4 * GIB, 2 * GIB, 1), MemoryRange(6 * GIB, 2 * GIB, 2)]


@pytest.mark.parametrize("shape", [Shape(0, 2), Shape(2, 0), Shape(2, 2, 64 * MIB), Shape(2, 2, GIB + 4096)])
def test_impossible_shapes_are_refused(shape: Shape) -> None:
    with pytest.raises(InputError):
        emulated(shape)


def test_hwloc_file_gives_cores_nodes_caches_and_distances() -> None:
    machine = hwloc.parse_xml(TWO_SOCKETS_XML, "file")
    assert [(c.apic, c.socket, c.node) for c in machine.cores] == [(0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 1, 1)]
    assert len({c.l3 for c in machine.cores}) == 3
    assert [(r.size, r.node) for r in machine.memory] == [(2 * GIB, 0), (2 * GIB, 0), (2 * GIB, 1)]
    assert machine.distances[0, 1] == 17


@pytest.mark.parametrize("text", ["", "<html/>", "<topology/>"])
def test_other_files_are_not_topologies(text: str) -> None:
    with pytest.raises(InputError):
        hwloc.parse_xml(text, "file")


def test_missing_file_is_named() -> None:
    with pytest.raises(InputError, match="/nowhere.xml: No such file"):
        hwloc.read_xml(Path("/nowhere.xml"))


def test_sizes() -> None:
    assert [parse_size(t) for t in ("1G", "512M", "4096", "2MiB", "1 g")] == [GIB, 512 * MIB, 4096, 2 * MIB, GIB]
    assert [format_size(s) for s in (GIB, 1008 * MIB, 17)] == ["1 GiB", "1008 MiB", "17 B"]
    with pytest.raises(InputError):
        parse_size("much")
