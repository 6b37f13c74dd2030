# SPDX-License-Identifier: BSD-2-Clause
"""Text that somebody else wrote is parsed by topology/foreign.py alone, which bounds its size, depth and number."""

import ast

from tests.structure.tree import ROOT, files

READERS = {
    "json": {"load", "loads", "JSONDecoder"},
    "tomllib": {"load", "loads"},
    "tomli": {"load", "loads"},
    "pickle": {"load", "loads", "Unpickler"},
    "xml.etree.ElementTree": {"fromstring", "fromstringlist", "parse", "iterparse", "XML", "XMLID", "XMLParser",
                              "XMLPullParser"},
}
OTHERS = ("xml.dom", "xml.sax", "xml.parsers", "plistlib", "yaml", "marshal", "shelve")  # which nothing may use
OF_THE_TREE = "a file of the tree"
OF_A_BUILD = "what this tree's own programs wrote into build/"

# Calls beside foreign.py's, each with the reason why its text is not somebody else's, or is checked before.
ALLOWED = {
    "topology/foreign.py": "bounds",
    "deploy/deployment/reader.py": "foreign.check_toml() has been called, and only tomli says where a mistake is",
    "deploy/deployment/places.py": "a quoted key of a file that has been read",
    "topology/maps/reader.py": "the answer of lib/cluster-map",
    "topology/drivers.py": OF_THE_TREE, "topology/regimes.py": OF_THE_TREE, "deploy/setup/sources.py": OF_THE_TREE,
    "deploy/setup/packages.py": OF_THE_TREE, "deploy/profile/training.py": OF_THE_TREE,
    "deploy/cli/documents/result.py": OF_THE_TREE,
    "deploy/cli/documents/__main__.py": "results that a maintainer publishes",
    "deploy/setup/build.py": OF_A_BUILD, "deploy/setup/tab.py": OF_A_BUILD, "deploy/machine/kvm.py": OF_A_BUILD,
    "deploy/bench/paper/page.py": OF_A_BUILD,
    "deploy/bench/paper/work.py": OF_A_BUILD, "deploy/bench/scale/figure.py": OF_A_BUILD,
    "deploy/bench/native/runs.py": OF_A_BUILD,
    "deploy/bench/lines/measure.py": OF_A_BUILD, "deploy/emulator/lockstep.py": OF_A_BUILD,
    "deploy/emulator/entries.py": OF_A_BUILD, "deploy/compare/map.py": OF_A_BUILD,
    "deploy/compare/suite.py": OF_A_BUILD,
    **{f"deploy/tools/testing/{name}.py": OF_A_BUILD for name in ("lane", "lanes", "meson_tests", "pytest_tests")},
    "deploy/base/parallel.py": "what a child process of this one pickled",
    "deploy/results/scheduler.py": "a job of this program, on a worker that runs whatever it is sent",
}  # fmt: skip


def parsers(text: str) -> list[int]:
    """Lines that name a parser of text, by whatever name it was imported."""
    lines, modules, names = [], {}, set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in READERS:
                    modules[alias.asname or alias.name] = alias.name
                if alias.name.startswith(OTHERS):
                    lines.append(node.lineno)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in READERS:
                    modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                if alias.name in READERS.get(node.module or "", ()):
                    names.add(alias.asname or alias.name)
                    lines.append(node.lineno)
                if (node.module or "").startswith(OTHERS) and node.module != "xml.sax.saxutils":  # which writes
                    lines.append(node.lineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in READERS.get(modules.get(ast.unparse(node.value), ""), ()):
            lines.append(node.lineno)
    return sorted(set(lines))


def test_one_place() -> None:
    """no tool parses JSON, TOML, XML or pickles but by topology/foreign.py, or for a reason that is written here"""
    mine = [path for path in files() if path.suffix == ".py" and path.parts[0] in ("deploy", "topology")]
    calls = {str(path): lines for path in mine if (lines := parsers((ROOT / path).read_text()))}
    assert {path: lines for path, lines in calls.items() if path not in ALLOWED} == {}
    assert [path for path in ALLOWED if path not in calls] == [], "no longer needed"


def test_finds() -> None:
    """each way to name a parser is found, and what only writes is not"""
    for text in (
        "import json\njson.loads(t)", "import json as j\nj.load(t)", "from json import loads",
        "from json import loads as read",
        "import xml.etree.ElementTree as E\nE.fromstring(t)", "from xml.etree import ElementTree\nElementTree.parse(t)",
        "import xml.etree.ElementTree\nxml.etree.ElementTree.XML(t)", "import tomllib\nread = tomllib.loads",
        "import yaml",
        "from xml.dom import minidom", "def f():\n    import tomli\n    return tomli.loads(t)",
        "import pickle\npickle.load(f)",
    ):  # fmt: skip
        assert parsers(text), text
    assert not parsers("import json\njson.dumps(t)\nimport xml.etree.ElementTree as E\nE.tostring(t)\nforeign.json(t)")
