# SPDX-License-Identifier: BSD-2-Clause
from dataclasses import replace

import pytest

from topology.errors import InputError
from topology.machines.machine import MemoryRange, Shape, emulated, shape_of, with_shape
from topology.machines.q35 import q35_memory
from topology.units import GIB, MIB, format_size, parse_size


@pytest.mark.parametrize(
    "sockets, cores, expected",
    [(2, 2, [[0, 1], [2, 3]]), (2, 3, [[0, 1, 2], [4, 5, 6]]), (3, 1, [[0], [1], [2]]), (1, 5, [[0, 1, 2, 3, 4]])],
)
def test_apic_ids_follow_the_topology_bits(sockets: int, cores: int, expected: list[list[int]]) -> None:
    found = emulated(Shape(sockets, cores))
    assert [[core.apic for core in found.cores if core.socket == socket] for socket in found.sockets] == expected


def test_every_part_of_an_apic_id_has_its_own_bits() -> None:
    found = emulated(Shape(sockets=2, cores=6, caches=2, nodes=2, threads=2))
    assert [core.apic for core in found.cores[:12]] == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13]
    assert found.cores[12].apic == 16
    assert [core.node for core in found.cores[::6]] == [0, 1, 2, 3]
    assert len({core.l3 for core in found.cores}) == 4


@pytest.mark.parametrize(
    "shape",
    [Shape(2, 6, caches=2), Shape(2, 6, nodes=3, threads=2), Shape(3, 5), Shape(1, 4, caches=0), Shape(2, 4, GIB, 4, 2)],
)
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


def test_sizes() -> None:
    assert [parse_size(t) for t in ("1G", "512M", "4096", "2MiB", "1 g", "2T")] == [GIB, 512 * MIB, 4096, 2 * MIB, GIB, 2048 * GIB]
    assert [format_size(s) for s in (GIB, 1008 * MIB, 17)] == ["1 GiB", "1008 MiB", "17 B"]
    with pytest.raises(InputError):
        parse_size("much")
