# SPDX-License-Identifier: BSD-2-Clause
"""Python is checked as pyproject.toml says."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import ROOT
from tests.structure.test_text import properties


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def check(tool: str, *arguments: str, text: str | None = None) -> tuple[int, str]:
    """The tool's exit status, and what it says."""
    done = subprocess.run([sys.executable, "-m", tool, *arguments], cwd=ROOT, input=text, capture_output=True,
                          text=True)
    return done.returncode, done.stdout + done.stderr


def test_ruff() -> None:
    """ruff finds no unused name, no unsorted import and no common mistake in Python"""
    status, printed = check("ruff", "check", "--output-format", "concise")
    assert status == 0, printed


def test_ruff_finds() -> None:
    """ruff reads pyproject.toml, and a mistake of each kind that this one selects is found"""
    mistakes = {
        "E711": "x = None\nif x == None:\n    pass\n",
        "F401": "import os\n",
        "I001": "import sys\nimport os\n\nprint(os, sys)\n",
        "UP006": "import typing\n\nx: typing.List[int] = []\n",
        "B006": "def f(x=[]):\n    return x\n",
        "B023": "f = []\nfor i in range(3):\n    f.append(lambda: i)\n",
    }
    for rule, text in mistakes.items():
        status, printed = check("ruff", "check", "--output-format", "concise", "--stdin-filename", "deploy/new.py", "-",
                                text=text)
        assert status == 1 and f": {rule} " in printed, f"{rule}: {printed}"


@pytest.mark.limit(240)
def test_mypy() -> None:
    """mypy finds no value of a wrong type, and no function without types, in deploy and topology"""
    status, printed = check("mypy")
    assert status == 0, printed


@pytest.mark.limit(240)
def test_mypy_finds(tmp_path: Path) -> None:
    """mypy reads pyproject.toml, and sees the types of a deployment's tables, of what may be missing, and of
    Matplotlib"""
    text = """
def untyped(x): return x  # no-untyped-def
cores: str = Table().cores  # assignment
threads = Table().thread  # attr-defined
def cluster(x: ClusterMap) -> int: return x.cluster_of(0).number  # union-attr
def size(axes: Axes) -> None: axes.errorbar(1, fmt=2)  # arg-type
number = 1  # type: ignore[misc]  # unused-ignore
def chosen(x: int) -> int:
    if x:
        y = 1
    return y  # possibly-undefined
"""
    imports = ("from deploy.deployment.schema import Machine as Table; from matplotlib.axes import Axes; from "
               "topology.maps.clustermap import ClusterMap")
    new = tmp_path / "new.py"
    new.write_text(imports + text)
    status, printed = check("mypy", str(new))
    missed = [line for n, line in enumerate(text.splitlines(), 1) if "  # " in line
              and not re.search(rf"new.py:{n}: .*\[{line.split()[-1]}\]", printed)]
    assert status == 1 and not missed, f"{missed}\n{printed}"


def test_limits() -> None:
    """ruff's limit of a line is .editorconfig's, both tools check for the oldest Python that is meant, and no version
    of Skerry is said"""
    project = settings()
    assert str(project["tool"]["ruff"]["line-length"]) == properties(Path("deploy/cli/main.py"))["max_line_length"]
    assert project["project"]["requires-python"] == f">={project['tool']['mypy']['python_version']}"
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
