# SPDX-License-Identifier: BSD-2-Clause
"""Hostile text: each reader refuses it in one line, after a bounded number of steps."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.steps import steps
from topology import foreign
from topology.errors import InputError
from topology.foreign import parse_spans
from topology.machines import hwloc
from topology.machines.sources import read_machine
from topology.maps import dts
from topology.maps.dts import check_source, compile_dts


@pytest.mark.parametrize("text", ["0-99999999999", "4096", "0-4095,0", "0-4095," * 100_000, f"1-{'9' * 4000}", "0,,1",
                                  "", "1-2-3", "x"])
def test_spans(text: str) -> None:
    """a list of numbers is bounded before it is made"""
    assert steps(lambda: parse_spans(text)) < 100
    assert len(parse_spans("0-4095")) == 4096 and parse_spans("5-4") == set()


@pytest.mark.parametrize("attribute", ["siblings='0-99999999999'", "siblings='0-4095,0-4095'"])
def test_capabilities(attribute: str, tmp_path: Path) -> None:
    """268 bytes of a libvirt host take no memory"""
    path = tmp_path / "host.xml"
    path.write_text(
        "<capabilities><host><cpu><arch>x86_64</arch></cpu><topology><cells><cell id='0'><memory "
        "unit='KiB'>1</memory><cpus>"
        f"<cpu id='0' socket_id='0' core_id='0' {attribute}/></cpus></cell></cells></topology></host></capabilities>"
    )
    assert steps(lambda: read_machine(str(path))) < 5000
    with pytest.raises(InputError, match="not a host's capabilities as libvirt writes them .*more than 4096 numbers"):
        read_machine(str(path))


def test_sets_of_hwloc() -> None:
    """a set of bits is bounded before it is made"""
    for text in ("0x1" + ",0x1" * 1_000_000, "0x" + "f" * 1_000_000):
        assert steps(lambda text=text: hwloc.bitmap(text)) < 100


@pytest.mark.parametrize("root", ["topology", "capabilities"])
def test_nested_xml(root: str, tmp_path: Path) -> None:
    """nested elements are refused, and not after all of them were built"""
    path = tmp_path / "nested.xml"
    path.write_text(f"<{root}>" + "<object type='Group'>" * 300_000 + "</object>" * 300_000 + f"</{root}>")
    assert steps(lambda: read_machine(str(path))) < 5000
    with pytest.raises(InputError, match="nested.xml: not XML that anybody means: nested deeper than 64 elements"):
        read_machine(str(path))


def test_many_elements() -> None:
    """elements are counted while they are read"""
    with pytest.raises(InputError, match="x: has more than 131072 XML elements"):
        foreign.xml("<a>" + "<b/>" * 140_000 + "</a>", "x")
    assert len(foreign.xml("<a>" + "<b/>" * 1000 + "</a>", "x")) == 1000


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z '" + "&x;" * 1000 + "'><!ENTITY q '" + "&z;" * 1000 + "'>]><a>"
        + "&q;" * 1000 + "</a>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><a>&x;</a>", "<a>", "", "\0", "<a/><b/>",
        "<?xml version='1.0' encoding='none'?><a/>",
    ],
    ids=["entities", "external", "cut", "empty", "zero", "two roots", "encoding"],
)  # fmt: skip
def test_broken_xml(text: str) -> None:
    """what is no XML of ours is one line"""
    with pytest.raises(InputError, match="^file: not XML"):
        foreign.xml(text.encode(), "file")


@pytest.mark.parametrize("number", ["4096", "4294967295", "9" * 5000])
@pytest.mark.parametrize("kind", ["PU", "NUMANode"])
def test_numbers_of_hwloc(kind: str, number: str, tmp_path: Path) -> None:
    """a number that would become a set of millions of bits is refused before hwloc gets the file"""
    path = tmp_path / "machine.xml"
    path.write_text(f"<topology version='2.0'><object type='Machine'><object type='{kind}' "
                    f"os_index='{number}'/></object></topology>")
    with pytest.raises(InputError, match=f"more than 4096 objects of type {kind}, or one numbered above 4095"):
        read_machine(str(path))


def test_json() -> None:
    """nesting, digits and broken text of JSON are one line each"""
    nested = "[" * foreign.DEPTH + "]" * foreign.DEPTH
    assert foreign.json(nested, "x") is not None
    for text in (f"[{nested}]", "[" * 1_000_000, '{"a":' * 500 + "1" + "}" * 500):
        with pytest.raises(InputError, match="^x: not JSON that anybody means: nested too deeply|^x:1: not JSON"):
            foreign.json(text, "x")
    with pytest.raises(InputError, match="^x: a number with too many digits"):
        foreign.json("9" * 5000, "x")
    with pytest.raises(InputError, match="^x:2: not JSON: .*, column 1"):
        foreign.json("[\n}", "x")
    with pytest.raises(InputError, match="^x: not JSON: not text"):
        foreign.json(b"[\xff]", "x")
    assert foreign.json(json.dumps([{}] * 10_000), "x")


@pytest.mark.parametrize("unit", ["{},", "[],", "0,", '"a":{},', "[", "{"])
def test_many_values_of_json(unit: str) -> None:
    """what would take gigabytes is refused before a parser gets it"""
    text = "[" + unit * (foreign.VALUES // sum(map(unit.count, ",[{")) + 1)
    for content in (text, text.encode()):
        with pytest.raises(InputError, match=f"^x: not JSON that anybody means: has more than {foreign.VALUES} values"):
            foreign.json(content, "x")


KEY = ".".join("a" * foreign.KEY_PARTS)

TOML_GOOD = [
    f"{KEY} = 1", f"[{KEY}]\nx = 1.5", f"[[{KEY}]]", f"x = '{KEY}.a.b'", f'x = "{KEY}.\\".a.b"', f"# {KEY}.a.b",
    "x = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5]",
    f'x = """\n{KEY}.a.b\n"" {KEY}.a.b """', f"x = '''\n{KEY}.a.b '' '''",
    f'x = """{KEY}.a"""""\n{KEY} = 1', f"x = '''{KEY}.a'''''\n{KEY} = 1",
    "x = { a.b = 1, c.d = 2, e.f = 3, g.h = 4, i.j = 5 }", "'a.b.c.d.e.f.g.h.i.j' = 1",
    "x = " + "[" * foreign.DEPTH + "]" * foreign.DEPTH, "x = 1979-05-27T07:32:00.999",
]  # fmt: skip
TOML_BAD = [
    f"{KEY}.a = 1", f"[{KEY}.a]", f"x = {{ {KEY}.a = 1 }}", f'"a" . {KEY} = 1', f"x = \"\\\"\"\n{KEY}.a = 1",
    f"x = '\"'\n{KEY}.a = 1", f'x = """"""\n{KEY}.a = 1',
    f"x = ''''''\n{KEY}.a = 1", f'x = """a\\""""\n{KEY}.a = 1', f'x = ""\n{KEY}.a = 1', f"x = 1 # '\n{KEY}.a = 1",
    f"]]]]\n{KEY}.a = 1", f"x = '''a''''\n{KEY}.a = 1",
    f'x = {{ a = """b"""" , {KEY}.a = 1 }}', f'x = {{ a = """b""""" , {KEY}.a = 1 }}',
    f"x = {{ a = '''b'''' , {KEY}.a = 1 }}",
    f"x = {{ a = '''b''''' , {KEY}.a = 1 }}", 'x = { a = """b"""" , b = ' + "[" * 100 + "]" * 100 + " }",
    "x = " + "[" * (foreign.DEPTH + 1) + "]" * (foreign.DEPTH + 1), "x = " + "{a=" * 1000 + "1" + "}" * 1000,
    "x = " + "[" * 500_000,
]  # fmt: skip


@pytest.mark.parametrize("text", TOML_GOOD)
def test_toml_good(text: str) -> None:
    """dots in strings, comments and numbers make no key, and keys of 8 parts are taken"""
    assert isinstance(foreign.toml(text, "x"), dict)


@pytest.mark.parametrize("text", TOML_BAD, ids=[text[:40] for text in TOML_BAD])
def test_toml_bad(text: str) -> None:
    """long keys and nesting are refused with their line, wherever strings end before them"""
    with pytest.raises(InputError,
                       match=f"^x:{2 if chr(10) in text else 1}: (a key of more than 8 parts|is nested too deeply)"):
        foreign.check_toml(text, "x")


def test_toml_work() -> None:
    """a key of 1 MiB ends the reading at its ninth part; a file of 1 MiB takes a few steps for each character, whatever
    is in it"""
    assert steps(lambda: foreign.check_toml("a." * (1 << 19) + "a = 1", "x")) < 200
    size = 20_000
    for unit in ('"', "'", '"""', "'''", '"""a', "\\", '"\\', "#", "[", "]", "a.b=1\n", '""""', "{}", '"a"', "'''\\"):
        text = unit * (size // len(unit))

        def read(text: str = text) -> None:
            foreign.check_toml(text, "x")
            raise ValueError

        assert steps(read) < 12 * size, unit


INCLUDES = [
    '/include/ "secret"', '/incbin/("secret")', '/include//**/"secret"', '/dts-v1//include/ "secret"',
    '/dts-v1//* */ /include/ "secret"',
    '&{/a//b} /include/ "secret"\n', "'\\' \" ' /include/ \"secret\"", '/* " */ /include/ "secret" /* " */',
    '"a" /include/ "secret"', '// "\n/include/ "secret"',
    '"\\"" /include/ "secret"', '"\\\\" /include/ "secret"', '"a\\\n" /include/ "secret"', '/plugin//include/ "secret"',
    '/***/ /include/ "secret"', '//*\n/include/ "secret" //*/',
    'x = /incbin/("secret", 0, 1)', '/bits//include/ "secret"', '&{a//b} "\n/include/ "secret"',
    '/delete-node//include/"secret"', '/* */ */include/ "secret"',
]  # fmt: skip


@pytest.mark.parametrize("text", INCLUDES)
def test_includes(text: str) -> None:
    """a map in source form reads no other file, however it is written"""
    with pytest.raises(InputError, match=r"^file: line \d+: "):
        compile_dts(f"/dts-v1/;\n/ {{ {text} }};\n", "file")


def test_no_includes() -> None:
    """strings and comments may say it"""
    text = (
        '/dts-v1/;\n/* /include/ "a" */ // /incbin/("b")\n/ { x = "/include/ \\"", "/usr/include/x"; y = <1>; /* " */ };\n'
    )
    check_source(f"{text}// /include/")
    assert dts.compile_dts(text)


def test_lexer_agrees(tmp_path: Path) -> None:
    """dtc opens no file of a text that was let pass: what it does open, it says by itself"""
    pieces = ['"', "'", "\\", "/", "*", "//", "/*", "*/", "\n", " ", '/include/ "secret"', '/incbin/("secret")', "&{",
              "}", "/dts-v1/", "a", "<1>", "/bits/", "[00]", '"x"', ";", "x =", "#"]
    (tmp_path / "secret").write_text("")
    rng, passed = random.Random(20261128), 0
    for _ in range(4000):
        text = "/dts-v1/;\n/ { " + "".join(rng.choices(pieces, k=rng.randint(1, 9))) + " };\n"
        try:
            check_source(text)
        except InputError:
            continue
        if "secret" not in text:
            continue
        passed += 1
        opened = tmp_path / "opened"
        opened.unlink(missing_ok=True)
        subprocess.run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", "/dev/null", "-d", str(opened), "-"],
                       input=text.encode(), cwd=tmp_path, capture_output=True)
        assert not opened.exists() or "secret" not in opened.read_text(), text
    assert passed > 50


def test_dts_work() -> None:
    """a source of marks takes a few steps for each"""
    for unit in ("/*", "//", '"', "'", "/* */", '""', "/incbin", "&{/}"):
        text = unit * (20_000 // len(unit))

        def read(text: str = text) -> None:
            check_source(text)
            raise ValueError

        assert steps(read) < 12 * len(text), unit


def test_sizes(tmp_path: Path) -> None:
    """a file is read up to its kind's size, and one byte more says that it is none"""
    path = tmp_path / "file"
    path.write_bytes(b"x" * foreign.MIB)
    assert len(foreign.read(path, foreign.DEPLOYMENT)) == foreign.MIB
    path.write_bytes(b"x" * (foreign.MIB + 1))
    with pytest.raises(InputError, match="file: has more than 1 MiB: not a deployment file"):
        foreign.read(path, foreign.DEPLOYMENT)
    with pytest.raises(InputError, match="/dev/zero: has more than 4 MiB: not a cluster map"):
        dts.load(Path("/dev/zero"))
    with pytest.raises(InputError, match="/dev/zero: has more than 16 MiB: not a machine's topology"):
        read_machine("/dev/zero")
    with pytest.raises(InputError, match="is a directory"):
        foreign.read(tmp_path, foreign.MAP)
    with pytest.raises(InputError, match="is not a file's name"):
        foreign.read(Path("a\0b"), foreign.MAP)


def test_tools_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """a program that parses for us has its own memory and time, and what it got stays whole"""
    monkeypatch.setattr(foreign, "TOOL_SECONDS", 1)
    with pytest.raises(InputError, match="^x: python.* ended with signal"):
        foreign.run([sys.executable, "-c", "import sys\nsys.stdin.read()\nwhile True: pass"], "", "x")
    done = foreign.run([sys.executable, "-c", "import sys\nsys.stdin.read()\nbytearray(5 << 30)"], "", "x")
    assert done.returncode == 1 and b"MemoryError" in done.stderr
    done = foreign.run([sys.executable, "-c", "import sys\nsys.stdout.write(sys.stdin.read())"], "ü" * 100_000, "x")
    assert done.returncode == 0 and done.stdout.decode() == "ü" * 100_000
