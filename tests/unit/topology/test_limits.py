# SPDX-License-Identifier: BSD-2-Clause
"""Limits of maps, and maps with switches."""

import re
import subprocess
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.deployment import file_tree
from topology import headers
from topology.errors import InputError
from topology.limits import CHANNEL_PORTS, PORT_SIZE
from topology.machines.machine import Shape, emulated
from topology.maps.check import check_map
from topology.maps.clustermap import ClusterMap
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts

# ---- What Python reads from the headers is what the C compiler finds there ----

FILES = "lib/include/skerry/file_tree.h"
PLACES = (headers.KERNEL, headers.LIBRARY)
READ = ("boot.h", "stat.h", "map_limits.h", "process.h", "channel.h", "port.h")


def test_enumerators(tmp_path: Path) -> None:
    """every enumerator of the headers that Python reads has the compiler's value"""
    values = {name: value for place in PLACES for file in READ if (ROOT / place / file).exists()
              for name, value in headers.enumerators(place / file).items()}
    assert len(values) > 50
    lines = "".join(f'printf("{name} %lld\\n", (long long){name});\n' for name in values)
    includes = "".join(f"#include <skerry/{file}>\n" for file in READ)
    (tmp_path / "values.c").write_text(f"#include <stdio.h>\n{includes}int main(void)\n{{\n{lines}return 0;\n}}\n")
    folders = [f"-I{ROOT / place.parent}" for place in PLACES]
    subprocess.run(["gcc", "-w", *folders, "-o", "values", "values.c"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "values"], capture_output=True, text=True, check=True).stdout
    assert {name: int(value) for name, value in (line.split() for line in printed.splitlines())} == values


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a header that Python cannot read is named, with what it does not understand"""
    monkeypatch.setattr(headers, "ROOT", tmp_path)
    path = Path("odd.h")
    (tmp_path / path).write_text("enum { A = 3, B = A * 2 + 1, C, D = sizeof(int) };\nstruct odd {\n\tuint64_t a, "
                                 "b[B];\n\tuint32_t c;\n};\n")
    with pytest.raises(headers.HeaderError, match=r"odd.h: 'sizeof\(int\)'"):
        headers.constant(path, "A")
    headers.enumerators.cache_clear(), headers._text.cache_clear()
    (tmp_path / path).write_text((tmp_path / path).read_text().replace("sizeof(int)", "1 << C"))
    assert headers.enumerators(path) == {"A": 3, "B": 7, "C": 8, "D": 256}
    with pytest.raises(headers.HeaderError, match="odd.h: struct odd: 'uint32_t c'"):
        headers.layout(path, "odd")


def constant(header: str, name: str) -> int:
    match = re.search(rf"\b{name}\s*=?\s*((?:0x)?[0-9a-fA-F]+(?:\s*\*\s*\d+)?)", (ROOT / header).read_text())
    assert match, f"{header} has no {name}"
    product = 1
    for factor in match[1].split("*"):
        product *= int(factor, 0)
    return product


@pytest.mark.parametrize("value, header, name", [
                             (file_tree.VERSION, FILES, "FILE_TREE_VERSION ="),
                             (file_tree.ALIGNED, FILES, "FILE_TREE_ALIGNED ="),
                             (file_tree.MOST_ENTRIES, FILES, "FILE_TREE_ENTRIES"),
                             (file_tree.LONGEST_NAME, FILES, "FILE_TREE_NAME"),
                             (file_tree.MAGIC, FILES, "FILE_TREE_MAGIC"),
                         ])
def test_file_tree(value: int, header: str, name: str) -> None:
    """the layout of file trees is the header's"""
    assert value == constant(header, name)


# ---- Maps with several switches: what they may say, and what their channels carry ----

MACHINE = emulated(Shape(2, 2))
GOOD = (
    (Path(__file__).parent / "good.dts").read_text()
    .replace('"redis-server", "ycsb"; };', '"redis-server", "ycsb", "switch"; };')
    .replace('ycsb@3 { reg = <3>; program = "ycsb"; cpu = <&cpu1>;',
             'ycsb@3 { reg = <3>; program = "ycsb"; cpu = <&cpu3>; switch = "below@4";')
    .replace("    run {", '    /* */ run {')
    .replace("        ycsb@3 {",
             '        below@4 { reg = <4>; program = "switch"; cpu = <&cpu2>; role = "switch"; switch = "switch@0"; heap = <0x0 0x200000>; };\n        ycsb@3 {')
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
    ('cpu = <&cpu0>; role = "switch";', 'cpu = <&cpu0>; role = "switch"; switch = "below@4";',
     "no application is the switch above all"),
    (ABOVE, 'switch = "switch@9"; ', "below@4: its switch switch@9 is no application"),
    (ABOVE, 'switch = "redis@2"; ', "below@4: redis@2 is no switch"),
    ('switch = "below@4";', 'switch = "redis@2";', "ycsb@3: redis@2 is no switch"),
    ('switch = "below@4";', 'switch = "ycsb@3";', "ycsb@3: ycsb@3 is no switch"),
    ('ipv4 = "10.0.2.151"; mac = [02 53 4b 00 00 03];', "", "ycsb@3: has switch below@4, and neither an address"),
    (DRIVER, f'{DRIVER} switch = "below@4";', "virtio-net@1: its switch below@4 is not switch@0"),
    (ABOVE, ABOVE + 'ipv4 = "10.0.2.99"; mac = [02 00 00 00 00 09]; ',
     "below@4: is the switch and can have no address"),
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
