# SPDX-License-Identifier: BSD-2-Clause
"""Maps with several switches: what they may say, and what their channels carry."""

from pathlib import Path

import pytest

from topology.errors import InputError
from topology.limits import CHANNEL_PORTS, PORT_SIZE
from topology.machines.machine import Shape, emulated
from topology.maps.check import check_map
from topology.maps.clustermap import ClusterMap
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts

MACHINE = emulated(Shape(2, 2))
GOOD = (
    (Path(__file__).parent / "good.dts").read_text()
    .replace('"redis-server", "ycsb"; };', '"redis-server", "ycsb", "switch"; };')
    .replace('ycsb@3 { reg = <3>; program = "ycsb"; cpu = <&cpu1>;', 'ycsb@3 { reg = <3>; program = "ycsb"; cpu = <&cpu3>; switch = "below@4";')
    .replace("    run {", '    /* */ run {')
    .replace("        ycsb@3 {", '        below@4 { reg = <4>; program = "switch"; cpu = <&cpu2>; role = "switch"; switch = "switch@0"; heap = <0x0 0x200000>; };\n        ycsb@3 {')
)
SMALL = ("0x7f000000 0x0 0x1000000", "0x7f000000 0x0 0x400000")  # a channel
IN_SMALL = (0x400000 - CHANNEL_PORTS) // PORT_SIZE


def read(*edits: tuple[str, str]) -> ClusterMap:
    text = GOOD
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    made = read_dts(text)
    check_map(made, MACHINE)
    return made


def test_a_lower_switch() -> None:
    """is accepted, written and read again; its channel carries its port alone"""
    made = read()
    assert read_dts(write_dts(made)).applications == made.applications
    of = {app.name: made.switch_of(app) for app in made.applications}
    assert {name: switch and switch.name for name, switch in of.items()} == {
        "switch@0": None, "virtio-net@1": "switch@0", "redis@2": "switch@0", "below@4": "switch@0", "ycsb@3": "below@4",
    }  # fmt: skip
    assert made.ports_between(0, 1) == made.ports_between(1, 0) == 1
    across = ("mac = [02 53 4b 00 00 02];", 'mac = [02 53 4b 00 00 02]; switch = "below@4";')
    assert read(across).ports_between(0, 1) == 2


def test_ports_of_a_channel() -> None:
    """those of both sides have room in it, or the first for which there is none is named"""
    assert read(SMALL, _behind(IN_SMALL - 1)).ports_between(0, 1) == IN_SMALL
    with pytest.raises(InputError, match="channel@0: has no room for the network port of "):
        read(SMALL, _behind(IN_SMALL))


def _behind(count: int) -> tuple[str, str]:
    """Programs of the first cluster that use the lower switch of the second."""
    mark = "        below@4 {"
    programs = (
        f'        more@{16 + i:x} {{ reg = <{16 + i}>; program = "ycsb"; cpu = <&cpu1>; switch = "below@4"; heap = <0x0 0x200000>; '
        f'ipv4 = "10.0.2.{20 + i}"; mac = [02 53 4b 00 01 {i:02x}]; }};\n' for i in range(count)
    )
    return mark, "".join(programs) + mark


ABOVE = 'switch = "switch@0"; '
DRIVER = 'role = "nic";'


@pytest.mark.parametrize("old, new, expected", [
    (ABOVE, "", "below@4: switch@0 and below@4 both have role switch"),
    (ABOVE, 'switch = "below@4"; ', "below@4: its switch below@4 is not switch@0"),
    ('cpu = <&cpu0>; role = "switch";', 'cpu = <&cpu0>; role = "switch"; switch = "below@4";', "no application is the switch above all"),
    (ABOVE, 'switch = "switch@9"; ', "below@4: its switch switch@9 is no application"),
    (ABOVE, 'switch = "redis@2"; ', "below@4: redis@2 is no switch"),
    ('switch = "below@4";', 'switch = "redis@2";', "ycsb@3: redis@2 is no switch"),
    ('switch = "below@4";', 'switch = "ycsb@3";', "ycsb@3: ycsb@3 is no switch"),
    ('ipv4 = "10.0.2.151"; mac = [02 53 4b 00 00 03];', "", "ycsb@3: has switch below@4, and neither an address"),
    (DRIVER, f'{DRIVER} switch = "below@4";', "virtio-net@1: its switch below@4 is not switch@0"),
    (ABOVE, ABOVE + 'ipv4 = "10.0.2.99"; mac = [02 00 00 00 00 09]; ', "below@4: is the switch and can have no address"),
    ('switch = "below@4";', "switch;", "ycsb@3: switch is not one string"),
])  # fmt: skip
def test_one_edit_breaks_it(old: str, new: str, expected: str) -> None:
    """roots, circles, users of what is no switch: each is refused with the name of the culprit"""
    with pytest.raises(InputError) as refused:
        read((old, new))
    assert expected in str(refused.value)


def test_no_channel() -> None:
    """a lower switch needs a channel to the upper one"""
    start, end = GOOD.index("    channels {"), GOOD.index("    network {")
    with pytest.raises(InputError, match="below@4: no channel joins cluster@1 to cluster@0 of switch@0"):
        read((GOOD[start:end], ""))
