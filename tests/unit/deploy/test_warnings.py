# SPDX-License-Identifier: BSD-2-Clause
"""Compilers' warnings are errors where it is asked for."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import BUILD, ROOT
from deploy.base.terminal import Output
from deploy.setup import build, packages
from deploy.setup.needs import Needs


def test_warnings_are_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a build is configured anew for warnings to be errors, once; a build that has them stays so"""
    ran: list[list[str]] = []

    def run(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0)

    def meson_says(value: bool) -> None:
        (tmp_path / "meson-info" / "intro-buildoptions.json").write_text(json.dumps([{"name": "werror", "value": value}]))

    for folder, file in (("", "build.ninja"), ("meson-private", "coredata.dat")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).touch()
    (tmp_path / "meson-info").mkdir()
    monkeypatch.setattr(build.subprocess, "run", run)
    monkeypatch.setattr(packages, "present", lambda: set())
    for name in ("BUILD", "LOGS"):
        monkeypatch.setattr(build, name, tmp_path)
    monkeypatch.setattr(build, "CONFIGURED", tmp_path / "configured")
    build.CONFIGURED.write_text("")
    meson_says(False)
    build.configure(Output(quiet=True), Needs())
    assert ran == []
    build.configure(Output(quiet=True), Needs(), werror=True)
    assert ran == [["meson", "setup", "--reconfigure", str(tmp_path), str(ROOT), "-Dwerror=true"]]
    meson_says(True)
    for werror in (True, False):
        build.configure(Output(quiet=True), Needs(), werror)
    assert len(ran) == 1


def test_every_command_warns() -> None:
    """what Meson does not know to be a compiler gets the same warnings, and has them as errors where Meson's have"""
    found = [path for path in ROOT.rglob("meson.build") if not path.is_relative_to(BUILD)]
    assert [str(path) for path in found if path.parent != ROOT and re.search("'-(Wall|Wextra|Werror)'", path.read_text())] == []
    assert sum("warning_args" in path.read_text() for path in found) > 5
