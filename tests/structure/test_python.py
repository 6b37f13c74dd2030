# SPDX-License-Identifier: BSD-2-Clause
"""Python is checked as pyproject.toml says."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from deploy.paths import ROOT
from tests.structure.test_style import properties


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def check(tool: str, *arguments: str, text: str | None = None) -> tuple[int, str]:
    """The tool's exit status, and what it says."""
    done = subprocess.run([sys.executable, "-m", tool, *arguments], cwd=ROOT, input=text, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_ruff() -> None:
    """ruff finds no unused name, no unsorted import and no common mistake in Python"""
    status, said = check("ruff", "check", "--output-format", "concise")
    assert status == 0, said


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
        status, said = check("ruff", "check", "--output-format", "concise", "--stdin-filename", "deploy/new.py", "-", text=text)
        assert status == 1 and f": {rule} " in said, f"{rule}: {said}"


def test_limits() -> None:
    """ruff's limit of a line is .editorconfig's, and pyproject.toml says no version of Skerry"""
    said = settings()
    assert str(said["tool"]["ruff"]["line-length"]) == properties(Path("deploy/cli.py"))["max_line_length"]
    assert "version" not in said["project"] and said["project"]["dynamic"] == ["version"]
