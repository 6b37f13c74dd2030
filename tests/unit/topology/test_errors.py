# SPDX-License-Identifier: BSD-2-Clause
"""Errors are data: the line is made of them in one place, and nobody reads the line to decide."""

import ast
import json
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.deployment import parse
from deploy.deployment.planner import plan
from topology.errors import InputError, Place


def test_line() -> None:
    """the line has place, culprit, what was found, what was expected, what is near, and how many more"""
    bare = InputError("--lock", "no\nsuch lock")
    assert str(bare) == "--lock: no such lock" and bare.at == ()
    full = InputError("[redis] heap", at=("redis", "heap"), place=Place("a.toml", 3, 8), found="'x'", expected="a size",
                      nearest="'1G'", others=2)
    assert str(full) == "a.toml:3: [redis] heap: 'x' is not a size; did you mean '1G'? (and 2 more)"
    assert str(InputError("", "is empty", place=Place("a.toml"))) == "a.toml: is empty"


# A file's mistake, and what is known of it.
KNOWN = [
    ("[redis]\nheap = 'lots'", ("redis", "heap"), 2, {"found": "'lots'", "expected": "a size such as 512M or 2G"}),
    ("[clusters]\nlock = 'msc'", ("clusters", "lock"), 2, {"found": "'msc'", "nearest": "'mcs'"}),
    ("[redis]\nheep = 1", ("redis", "heep"), 2, {"nearest": "'heap'"}),
    ("[redsi]", ("redsi",), 1, {"nearest": "[redis]"}),
    ("[redis]\n[clusters]\nlayout = 'persocket'", ("clusters", "layout"), 3,
     {"nearest": "'per-socket'", "found": "'persocket'"}),
    ("[[program]]\nprogram = 'crash'\n[[program]]\ncpu = -1\nprogram = 'crash'", ("program", 1, "cpu"), 4,
     {"found": "-1"}),
    ("[redis]\nport: 3", (), 2, {"column": 5}),
    ("[redis]\nport = 1\nport = 2\n[machine]", (), 3, {"column": 9}),
    ("[redis]\ninstances = 4", ("redis", "instances"), 2, {}),
    ("[redis]\nheap = '2G'", ("redis", "heap"), 2, {}),
    ("[redis]\n[ycsb]\nclients = 2\nheap = '4G'", ("ycsb", "heap"), 4, {}),
    ("[redis]\nargs = ['" + "', '".join(["x"] * 200) + "']", ("redis", "args"), 2, {}),
    ("[[program]]\nprogram = 'crash'\n\nheap = '4G'", ("program", 0, "heap"), 4, {}),
    ("[redis]\n[clusters]\nlock = 'none'", ("clusters", "lock"), 3, {}),
    ("[redis]\n[machine]\nmemory = '2M'", ("machine", "memory"), 3, {}),
    ("[redis]\n[network]\nswitch = 'per-socket'\n[clusters]\nlayout = 'size=1'", ("network", "switch"), 3, {}),
    ("[redis]\nhost-port = 7000\n[metrics]\nhost-port = 7000", ("metrics", "host-port"), 4, {}),
]


@pytest.mark.parametrize("text, at, line, more", KNOWN, ids=[" ".join(map(str, at)) or "TOML" for _, at, _, _ in KNOWN])
def test_of_a_deployment(text: str, at: tuple[str | int, ...], line: int, more: dict[str, object]) -> None:
    """a deployment's mistake, in its file or with its machine, says its key, file and line, and what was found and
    expected"""
    with pytest.raises(InputError) as caught:
        plan(parse(text, "file"))
    error = caught.value
    assert error.at == at and error.place and (error.place.file, error.place.line) == ("file", line), error
    data = json.loads(json.dumps(error.to_json()))
    assert data["text"] == str(error) and data["file"] == "file" and data["line"] == line
    assert {name: data.get(name) for name in more} == more


def test_failure() -> None:
    """where all of it is belongs to a failure's line and is not part of its text"""
    failure = Failure("it stopped")
    failure.log = Path("/x/y.log")
    assert (failure.text, str(failure)) == ("it stopped", "it stopped (log: /x/y.log)")


MESSAGES = {"problem", "culprit", "text"}


def _is_message(node: ast.AST) -> bool:
    """`error.problem`, `str(error)`, and the like."""
    match node:
        case ast.Attribute(value=ast.Name(id="error" | "failure"), attr=name):
            return name in MESSAGES
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id="error" | "failure")]):
            return True
    return False


def test_nobody_reads_messages() -> None:
    """no condition and no pattern looks into the words of an error"""
    wrong = []
    for path in sorted([*ROOT.glob("deploy/**/*.py"), *ROOT.glob("topology/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Compare():
                    parts = [node.left, *node.comparators]
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"))):
                    parts = list(node.args)
                case ast.Call(func=ast.Attribute(value=inner,
                                                 attr="startswith" | "endswith" | "partition" | "split" | "find")):
                    parts = [inner]
                case _:
                    continue
            if any(_is_message(part) for part in parts):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong
