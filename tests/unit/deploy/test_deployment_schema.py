# SPDX-License-Identifier: BSD-2-Clause
"""The form of deployment files: as pages and for editors, and where files say what."""

import json
import re
from dataclasses import fields

from deploy.base.paths import ROOT
from deploy.deployment import Deployment, Load, Metrics, Program, Redis, parse, places, reference, schema
from topology.machines.machine import Shape

AGAIN = "is out of date: build/venv/bin/python -m deploy.deployment writes it anew"


def test_schema_file() -> None:
    """docs/deployment.schema.json is the schema"""
    assert reference.SCHEMA.read_text() == reference.json_schema(), f"{reference.SCHEMA} {AGAIN}"


def test_page() -> None:
    """docs/deployments.md has every key of the schema"""
    text = reference.PAGE.read_text()
    assert text == reference.page(text), f"{reference.PAGE} {AGAIN}"
    table_of_layouts = reference.LAYOUTS_PAGE.read_text()
    assert table_of_layouts == reference.layouts(table_of_layouts), f"{reference.LAYOUTS_PAGE} {AGAIN}"
    for table in ("Machine", "Clusters", "NetworkTable", "RedisTable", "Ycsb", "MetricsTable", "ProgramTable"):
        keys = json.loads(reference.json_schema())["$defs"][table]["properties"]
        assert keys and all(f"| `{key}` |" in text for key in keys)


def test_page_examples() -> None:
    """every example in docs/deployments.md is a deployment"""
    blocks = [part.split("```")[0] for part in reference.PAGE.read_text().split("```toml\n")[1:]]
    assert len(blocks) == 4
    made = [parse(block) for block in blocks]
    assert made[1].locks == ("clh", "mcs") and made[1].redis and made[1].redis.cpus == (1, 2, 8, 9)


TEXT = """\
a.b = 1  # line 1
"q x" = [1, [2,
  3], { y = 4,
  z = 5 }]

[one]
two.three = "
"
[[list]]
k = 1
[[list]]
k = 2
[list.inner]
l = '''
[not.a.table]
m = 1'''
n = 2
[one.more]
""".replace('"\n"', '"""\n"""')


def test_places() -> None:
    """every key, table and list item is found at its line"""
    lines = places.find(TEXT, "file").lines
    expected = {
        ("a",): 1, ("a", "b"): 1, ("q x",): 2, ("q x", 0): 2, ("q x", 1): 2, ("q x", 1, 1): 3, ("q x", 2, "y"): 3,
        ("q x", 2, "z"): 4, ("one",): 6, ("one", "two", "three"): 7, ("list",): 9, ("list", 0, "k"): 10,
        ("list", 1): 11, ("list", 1, "k"): 12, ("list", 1, "inner", "l"): 14, ("list", 1, "inner", "n"): 17,
        ("one", "more"): 18,
    }  # fmt: skip
    assert {path: lines.get(path) for path in expected} == expected
    assert ("not",) not in lines and not any("m" in path for path in lines)


def test_declared_once() -> None:
    """each key of a table of programs is declared at the member that it sets, and nowhere again; a default stands in one place"""
    for model, table in ((Redis, schema.RedisTable), (Load, schema.Ycsb), (Metrics, schema.MetricsTable), (Program, schema.ProgramTable)):
        assert not table.__annotations__, f"{table.__name__} declares {list(table.__annotations__)} again"
        members = [member for member in fields(model) if "key" in member.metadata]
        assert [member.name for member in members] == list(table.model_fields)
        for member in members:
            declared = member.metadata["key"]
            assert declared.kinds and table.model_fields[member.name].description == declared.doc
    assert list(schema.NetworkTable.__annotations__) == ["switch"]
    literal = re.compile(r"(?:Field\(|^ {8})(\d+|\"[\w-]+\"|True)[,)]", re.MULTILINE)
    assert not literal.findall((ROOT / "deploy/deployment/schema.py").read_text())
    empty = schema.File()
    assert (empty.machine.sockets, empty.machine.cores, empty.machine.threads) == (Shape.sockets, Shape.cores, Shape.threads)
    assert (empty.clusters.layout, empty.clusters.lock, empty.shutdown) == (Deployment.layout, Deployment.lock, Deployment.shutdown)
