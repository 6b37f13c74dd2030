# SPDX-License-Identifier: BSD-2-Clause
import itertools
import re
from dataclasses import replace

import pytest

from topology import layouts
from topology.errors import InputError
from topology.grouping import group
from topology.layouts import Clusters, possible_sizes
from topology.limits import MAX_CPUS
from topology.machines.machine import Machine, MemoryRange, Shape, emulated, uniform_distances
from topology.maps.check import check_map
from topology.maps.clustermap import ClusterMap, Range
from topology.maps.dts import write_dts
from topology.maps.mapmaker import channel_size, make_map
from topology.maps.reader import read_dts
from topology.maps.shares import carve, distant
from topology.units import GIB, LARGE_PAGE, MIB


def test_groups() -> None:
    machine = emulated(Shape(2, 3))
    assert group(machine, "per-socket") == [[0, 1, 2], [3, 4, 5]]
    assert group(machine, "per-numa") == group(machine, "per-l3") == group(machine, "per-socket")
    assert group(machine, "spanning") == [[0, 1, 2, 3, 4, 5]]
    assert group(machine, "size=1") == [[0], [1], [2], [3], [4], [5]]
    assert group(machine, "size=3") == group(machine, "per-socket")
    assert group(machine, "size=6") == group(machine, "spanning")


def test_the_threads_of_a_core_count_once() -> None:
    machine = emulated(Shape(2, 2, threads=2))
    assert group(machine, "size=1") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert group(machine, "size=2") == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize("sockets, expected", [
                             ([6, 6], [1, 2, 3, 6, 12]), ([8, 4], [1, 2, 4, 12]), ([5], [1, 5]),
                             ([1, 1, 1, 1], [1, 2, 4]), ([8, 1], [1, 9]), ([4] * 6, [1, 2, 4, 8, 12, 24]),
                         ])
def test_sizes_that_a_machine_divides_into(sockets: list[int], expected: list[int]) -> None:
    assert possible_sizes(sockets) == expected


@pytest.mark.parametrize("size", [2, 4, 5, 7, 99, 10**5])
def test_other_sizes_are_refused_with_those_that_are_possible(size: int) -> None:
    with pytest.raises(InputError, match=f"size={size}: .*2 of 3 cores.* possible: 1, 3, 6$"):
        make_map(emulated(Shape(2, 3)), f"size={size}")


def test_a_machine_without_l3_has_no_such_layout() -> None:
    machine = emulated(Shape(2, 2, caches=0))
    with pytest.raises(InputError, match="per-l3: this machine has no L3 cache$"):
        group(machine, "per-l3")
    with pytest.raises(InputError, match="no L3 cache; per-socket, per-numa, spanning, size=4 would fit$"):
        make_map(machine, "per-l3")
    with pytest.raises(InputError, match="per-l3: .* says nothing of caches; per-socket, per-numa, spanning, size=4"):
        make_map(replace(machine, caches_known=False), "per-l3")


SMALL = [  # machine, layout, the end of its refusal
    (Shape(2, 15, caches=3, threads=4), "spanning",
     "120 cpus and a kernel runs on 60 at most; per-socket, per-l3, per-numa, size=15 would fit, or --smt off"),
    (Shape(1, 64, caches=0, threads=4), "per-socket", "256 cpus and a kernel runs on 60 at most; size=8 would fit"),
    (Shape(2, 40, 16 * GIB), "size=1", "80 clusters are more than 64; per-socket, per-l3, per-numa, size=40 would fit"),
    # the largest that fits, 18 of 54 cores, would lie across L3 caches of 27
    (Shape(1, 54, caches=2, threads=3), "per-l3",
     "81 cpus and a kernel runs on 60 at most; size=9 would fit, or --smt off"),
    (Shape(1, 62, caches=31, nodes=31, memory=256 * MIB, threads=2), "spanning",
     "124 cpus and a kernel runs on 60 at most; per-l3, per-numa, size=2 would fit"),
    (Shape(1, 64, memory=512 * MIB), "per-socket", "64 cpus and a kernel runs on 60 at most; size=32 would fit"),
]


@pytest.fixture
def small_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels take 60 cores: no machine that is cheap to describe exceeds what they take."""
    monkeypatch.setattr("topology.maps.mapmaker.MAX_CPUS", 60)


@pytest.mark.usefixtures("small_kernels")
@pytest.mark.parametrize("shape, layout, end", SMALL, ids=lambda value: str(value)[-30:])
def test_a_refusal_names_layouts_that_can_be(shape: Shape, layout: str, end: str) -> None:
    with pytest.raises(InputError, match=f"{re.escape(end)}$"):
        make_map(emulated(shape), layout)


def test_large_kernels() -> None:
    """one kernel takes all cores of a machine, up to 1,024"""
    assert len(make_map(emulated(Shape(2, 60, 4 * GIB)), "spanning").clusters[0].cpus) == 120
    assert len(make_map(emulated(Shape(16, 64, 4 * GIB)), "spanning").clusters[0].cpus) == MAX_CPUS
    with pytest.raises(InputError, match="2048 cpus and a kernel runs on 1024 at most; .* or --smt off$"):
        make_map(emulated(Shape(16, 64, 4 * GIB, threads=2)), "spanning")


@pytest.mark.usefixtures("small_kernels")
def test_advice_across_caches() -> None:
    """where clusters of no possible size lie along the caches, the largest is named with what they lie across"""
    machine = emulated(Shape(1, 62))
    every_second = replace(machine, cores=tuple(replace(core, l3=core.physical % 2) for core in machine.cores))
    with pytest.raises(InputError, match=r"; per-l3, size=31 \(across L3 caches\) would fit$"):
        make_map(every_second, "spanning", ports=lambda cores: 4000 * (len(cores) < 31))


def test_advice_counts_channels() -> None:
    """a layout whose channels leave a cluster no memory is not named, nor without threads that it would not have"""
    machine = emulated(Shape(2, 4, memory=256 * MIB))
    with pytest.raises(InputError, match=r"do not divide into clusters of 3; possible: 1, 2, 4, 8$"):
        make_map(machine, "size=3")
    with pytest.raises(InputError, match=r"do not divide into clusters of 3; possible: 4, 8$"):
        make_map(machine, "size=3", ports=lambda cores: 400 * (len(cores) < 3))
    end = r"too little beside a channel of .*; per-socket, per-l3, per-numa, spanning, size=8 would fit$"
    with pytest.raises(InputError, match=end):
        make_map(machine, "size=2", ports=lambda cores: 400 * (len(cores) < 3))


# ---- Cores of nodes without memory ----


def without_memory(machine: Machine, *nodes: int) -> Machine:
    return replace(machine, memory=tuple(m for m in machine.memory if m.node not in nodes))


def sizes_of(made: ClusterMap) -> list[dict[int, int]]:
    """Returns the MiB of each node that each cluster has, with its channel."""
    sizes: list[dict[int, int]] = [{} for _ in made.clusters]
    owned = [(r, c.number) for c in made.clusters for r in c.memory] + [(c.memory, c.ends[1]) for c in made.channels]
    for r, number in owned:
        for m in made.memory:
            if common := min(r.end, m.end) - max(r.base, m.base):
                if common > 0:
                    sizes[number][m.node] = sizes[number].get(m.node, 0) + common // MIB
    return sizes


def test_cores_without_memory() -> None:
    """they count at the nearest node of their socket that has some"""
    machine = emulated(Shape(2, 4, nodes=2))
    bare = without_memory(machine, 1)
    made = make_map(bare, "per-numa")
    check_map(made, bare)
    assert sizes_of(made) == [{0: 512}, {0: 512}, {2: 1024}, {3: 1024}]
    assert distant(made) == ["cluster 1 has memory of node 0, distance 21: there is none in NUMA node 1, where its "
                             "cores are"]
    assert distant(make_map(bare, "per-socket")) == distant(make_map(machine, "per-numa")) == []


def test_sockets_without_memory() -> None:
    """they count at the nearest nodes of the machine; of several that are as near, at all of them in equal parts"""
    machine = without_memory(emulated(Shape(4, 2)), 1, 3)
    far = {**machine.distances, (1, 2): 30, (2, 1): 30}
    made = make_map(replace(machine, distances=far), "per-socket")
    check_map(made, machine)
    assert sizes_of(made) == [{0: 408}, {0: 408}, {2: 682}, {0: 208, 2: 342}]


def test_cores_without_memory_beside_others() -> None:
    """a cluster with cores in a node that has memory gets none of others, whichever is nearer to its other cores"""
    machine = without_memory(emulated(Shape(1, 8, nodes=4)), 1)
    near = {**machine.distances, (1, 2): 11, (2, 1): 11}
    made = make_map(replace(machine, distances=near), "size=4")
    check_map(made, machine)
    assert [set(sizes) for sizes in sizes_of(made)] == [{0}, {2, 3}]


def test_memory_beside_cores_without_any() -> None:
    """fast memory beside a node that has no other is what its cores have"""
    machine = without_memory(emulated(Shape(2, 2)), 1)
    fast = MemoryRange(4 * GIB, GIB, 2)
    machine = replace(machine, memory=(*machine.memory, fast), distances=uniform_distances([0, 1, 2]),
                      near={2: frozenset({1})})
    made = make_map(machine, "per-socket")
    check_map(made, machine)
    assert sizes_of(made) == [{0: 1024}, {2: 1024}] and distant(made) == []


def test_memory_that_is_too_small_to_be_divided() -> None:
    machine = emulated(Shape(1, 4))
    with pytest.raises(InputError, match="cluster 0 would have no memory: .* NUMA node 0, too small .*; per-socket"):
        make_map(replace(machine, memory=(MemoryRange(0, 6 * MIB, 0),)), "size=1")


def test_memory_goes_by_the_number_of_cores() -> None:
    machine = emulated(Shape(1, 4))
    uneven = replace(machine, cores=tuple(replace(core, l3=int(core.physical > 2)) for core in machine.cores))
    made = make_map(uneven, "per-l3")
    assert [len(c.cpus) for c in made.clusters] == [3, 1]
    assert made.clusters[0].memory == [Range(0, 768 * MIB)]


def test_memory_of_a_node_without_cores_goes_to_the_nodes_beside_it() -> None:
    machine = emulated(Shape(2, 2))
    expander = MemoryRange(4 * GIB, GIB, 2)
    machine = replace(
        machine, memory=(*machine.memory, expander), distances=uniform_distances([0, 1, 2]), near={2: frozenset({1})}
    )
    made = make_map(machine, "per-socket")
    check_map(made, machine)
    assert Range(expander.base, GIB) in made.clusters[1].memory
    assert not any(r.overlaps(expander) for r in made.clusters[0].memory)


def test_a_channel_leaves_what_it_does_not_need() -> None:
    share = [Range(0x1000, 64 * MIB), Range(GIB, GIB)]
    taken = carve(share, 16 * MIB, "spanning", 1)
    assert taken == Range(2 * MIB, 16 * MIB)
    assert share == [Range(0x1000, 2 * MIB - 0x1000), Range(18 * MIB, 46 * MIB + 0x1000), Range(GIB, GIB)]
    with pytest.raises(InputError, match="cluster 1 would have 16 MiB of memory"):
        carve([Range(GIB, 16 * MIB)], 16 * MIB, "size=1", 1)


@pytest.mark.parametrize("layout", ["per-sock", "size=0", "size=", "size=-1", "size=two", ""])
def test_unknown_layouts_are_refused(layout: str) -> None:
    with pytest.raises(InputError, match="--layout"):
        group(emulated(Shape()), layout)


SHAPES = [Shape(1, 1), Shape(2, 4, GIB, caches=2, nodes=2, threads=2), Shape(2, 2), Shape(2, 3), Shape(4, 2, GIB),
          Shape(2, 4, 2 * GIB), Shape(2, 2, 3 * GIB // 2)]
LAYOUTS = ["per-socket", "spanning", "size=1", "per-l3"]


@pytest.mark.parametrize("shape, layout", list(itertools.product(SHAPES, LAYOUTS)))
def test_every_map_passes_its_own_checks_and_survives_its_text(shape: Shape, layout: str) -> None:
    machine = emulated(shape)
    made = make_map(machine, layout)
    read = read_dts(write_dts(made))
    assert read == made
    check_map(read, machine)


@pytest.mark.parametrize("shape, layout", list(itertools.product(SHAPES, LAYOUTS)))
def test_all_memory_is_given_away_once(shape: Shape, layout: str) -> None:
    made = make_map(emulated(shape), layout)
    total = sum(r.size for c in made.clusters for r in c.memory) + sum(c.memory.size for c in made.channels)
    assert total == shape.sockets * shape.nodes * shape.memory


def test_first_cluster_owns_the_devices_and_has_a_channel_to_each() -> None:
    made = make_map(emulated(Shape(4, 2)), "per-socket")
    assert [c.devices for c in made.clusters] == [True, False, False, False]
    assert [c.ends for c in made.channels] == [(0, 1), (0, 2), (0, 3)]


def test_channels_grow_with_their_ports() -> None:
    assert channel_size(1) == 16 * MIB
    assert channel_size(40) >= 2 * MIB + 40 * 0x66000
    assert channel_size(40) % LARGE_PAGE == 0


@pytest.mark.parametrize("clusters, why", [
    ([[0, 1], [2]], "core 3 is in 0 clusters"),
    ([[0, 1, 2], [2, 3]], "core 2 is in 2 clusters"),
    ([[0, 1, 2, 3], []], "cluster 1 has no core"),
    ([[0, 1, 2, 3, 4]], "place 4 of a cluster is none of machine.cores, which are 0 to 3"),
    ([[0, 2], [1, 3]], "0 and 1 are threads of one core, but in two clusters"),
])
def test_a_function_that_breaks_its_promise_is_named(clusters: Clusters, why: str,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(layouts.EVERY, "odd", layouts.Layout("odd", "Odd.", lambda machine: clusters))
    with pytest.raises(InputError, match=re.escape(f"topology/layouts.py: odd: {why}")):
        group(emulated(Shape(1, 2, threads=2)), "odd")


def test_a_function_that_is_no_layout_is_named() -> None:
    def mute(machine: Machine) -> Clusters:
        return [[0]]

    def three(machine: Machine, one: int, two: int) -> Clusters:
        """Three."""
        return [[0]]

    def spanning(machine: Machine) -> Clusters:
        """Another."""
        return [[0]]

    before = dict(layouts.EVERY)
    for function, why in ((mute, "its docstring is missing"), (three, "has 3 parameters"),
                          (spanning, "there is a layout spanning already")):
        with pytest.raises(InputError, match=f"{function.__name__}: {why}"):
            layouts.layout(function)
    assert layouts.EVERY == before
