# SPDX-License-Identifier: BSD-2-Clause
import itertools

import pytest

from topology.check import check_map
from topology.dts import write_dts
from topology.errors import InputError
from topology.layouts import channel_size, group, make_map
from topology.machine import Shape, emulated
from topology.reader import read_dts
from topology.units import GIB, LARGE_PAGE, MIB


def test_groups() -> None:
    machine = emulated(Shape(2, 3))
    assert group(machine, "per-socket") == [[0, 1, 2], [3, 4, 5]]
    assert group(machine, "per-numa") == group(machine, "per-l3") == group(machine, "per-socket")
    assert group(machine, "spanning") == [[0, 1, 2, 3, 4, 5]]
    assert group(machine, "size=4") == [[0, 1, 2, 3], [4, 5]]


@pytest.mark.parametrize("layout", ["per-sock", "size=0", "size=", "size=-1", "size=two", ""])
def test_unknown_layouts_are_refused(layout: str) -> None:
    with pytest.raises(InputError, match="--layout"):
        group(emulated(Shape()), layout)


SHAPES = [Shape(1, 1), Shape(2, 2), Shape(2, 3), Shape(4, 2, GIB), Shape(2, 4, 2 * GIB), Shape(2, 2, 3 * GIB // 2)]
LAYOUTS = ["per-socket", "spanning", "size=1", "size=3"]


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
    given = sum(r.size for c in made.clusters for r in c.memory) + sum(c.memory.size for c in made.channels)
    assert given == shape.sockets * shape.memory


def test_first_cluster_owns_the_devices_and_has_a_channel_to_each() -> None:
    made = make_map(emulated(Shape(4, 2)), "per-socket")
    assert [c.devices for c in made.clusters] == [True, False, False, False]
    assert [c.ends for c in made.channels] == [(0, 1), (0, 2), (0, 3)]


def test_channels_grow_with_their_ports() -> None:
    assert channel_size(1) == 16 * MIB
    assert channel_size(40) >= 2 * MIB + 40 * 0x120000
    assert channel_size(40) % LARGE_PAGE == 0
