# SPDX-License-Identifier: BSD-2-Clause
"""`skerry prove`: the explorer's programs, as a user calls them."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

import pytest

from deploy.base.file_lock import alone
from deploy.cli.main import main
from deploy.tools.testing import meson_tests
from deploy.tools.testing.meson_tests import MesonTest

command = importlib.import_module("deploy.cli.commands.project.prove")
CASES = "echo 'ok: one: 12 executions, 3 redundant, 40 states, at most 7 choices in one, 0.0 s'; echo 'ok: two: 30 executions, 0 redundant, 2 states, 0.1 s'"
PROGRAMS = {"lock, clh": CASES, "ring": f"{CASES}; exit 1", "ring, the explorer finds no order": "exit 0"}


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [MesonTest(f"model: {name}", ["sh", "-c", script], {}, None, 60) for name, script in PROGRAMS.items()]
    monkeypatch.setattr(meson_tests, "collect", lambda word: [test for test in tests if word in test.name])
    monkeypatch.setattr(command, "ensure_built", lambda output, needed: None)
    monkeypatch.setattr(command, "LOGS", tmp_path)


def proved(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, object]], str]:
    status = main(["prove", *words, "--json", "-"])
    printed = capsys.readouterr()
    return status, json.loads(printed.out)["results"] if printed.out else [], printed.err.strip()


def test_proved(capsys: pytest.CaptureFixture[str]) -> None:
    """cases, executions and states of a program are counted"""
    status, (one,), _ = proved(capsys, "--only", "CLH")
    assert status == 0 and one.pop("seconds") is not None
    assert one == {"name": "lock, clh", "outcome": "passed", "metrics": {"cases": 2, "executions": 42, "states": 42}}


def test_not_proved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """a program that fails is named with its log, and the others are proved all the same; mistakes are planted where it is asked for"""
    status, results, said = proved(capsys, "--mistakes")
    assert status == 1 and [one["outcome"] for one in results] == ["passed", "failed", "passed"]
    assert said.splitlines()[-1] == f"skerry: not proved: ring (log: {tmp_path / 'prove' / 'ring.log'})"
    assert (tmp_path / "prove" / "ring.log").read_text().startswith("ok: one: 12")
    assert [one["name"] for one in proved(capsys)[1]] == ["lock, clh", "ring"]


def test_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    """the list runs nothing; a word of no proof is refused"""
    status, results, _ = proved(capsys, "--list", "--mistakes")
    assert status == 0 and results == [{"name": name} for name in PROGRAMS]
    assert proved(capsys, "--only", "no order")[0] == 2, "mistakes are planted only where it is asked for"
    assert proved(capsys, "--only", "xyz")[2] == "skerry: --only xyz: no proof has this in its name"


def test_one_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """two runs would write the same logs: the second is refused, and names the first"""
    with alone("skerry prove", tmp_path / "prove"):
        assert main(["prove", "--only", "lock"]) == 1
    assert f"is being written by process {os.getpid()}, skerry prove" in " ".join(capsys.readouterr().err.split())
    assert main(["prove", "--only", "lock"]) == 0
