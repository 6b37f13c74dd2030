# SPDX-License-Identifier: BSD-2-Clause
"""Campaigns that keep their results in one place: the second one is refused, and told of the first."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD, ROOT
from deploy.cli.main import main
from deploy.tools.fuzz.target import Target
from tests.pages import verdicts

HOLDER = "import sys, time\nfrom pathlib import Path\nfrom deploy.base.file_lock import alone\nwith alone('a campaign', Path(sys.argv[1])):\n    print(flush=True)\n    time.sleep(600)\n"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_alone(how: signal.Signals, tmp_path: Path) -> None:
    """a second campaign in a folder is refused with the first one's process, until that is gone; another folder is free"""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "one")], cwd=ROOT, stdout=subprocess.PIPE) as first:
        try:
            assert first.stdout and first.stdout.readline()
            with pytest.raises(Failure) as error, alone("another", tmp_path / "one"):
                pass
            assert str(error.value) == f"{tmp_path / 'one'} is being written by process {first.pid}, a campaign: wait until it has ended, or end it"
            with alone("another", tmp_path / "two"):
                pass
        finally:
            first.send_signal(how)
    with alone("another", tmp_path / "one"):
        pass


def test_fuzz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """a fuzzer of the same target is refused before it fuzzes, also with a corpus of its own: logs and finds have one place"""
    command = importlib.import_module("deploy.cli.commands.project.fuzz")
    monkeypatch.setattr(Target, "folder", tmp_path)
    monkeypatch.setattr(command, "ensure_built", lambda *what: None)
    monkeypatch.setattr(command, "build", lambda output, name, regime: Target(name, regime))
    monkeypatch.setattr(command, "run_fuzzers", lambda *what: pytest.fail("it fuzzes"))
    with alone("skerry fuzz", tmp_path):
        for more in ([], ["--corpus", str(tmp_path / "corpus")]):
            assert main(["fuzz", *more]) == 1
            words = capsys.readouterr().err.strip().splitlines()
            assert words == [f"skerry: {tmp_path} is being written by process {os.getpid()}, skerry fuzz: wait until it has ended, or end it"]


def test_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """figures are not run into a folder of results that another process writes; their list can be read"""
    with alone("skerry paper", tmp_path):
        assert main(["paper", "uemura-tables", "--into", str(tmp_path), "--quiet"]) == 1
        assert f"{tmp_path} is being written by process {os.getpid()}" in capsys.readouterr().err
        assert main(["paper", "uemura-tables", "--into", str(tmp_path), "--list"]) == 0


LONG = {
    "mutations": ("tests.long.mutations.__main__", ROOT / "tests/long/mutations/verdicts.json"),
    "cluster-restarts": ("tests.long.cluster_restarts", ROOT / "tests/long/cluster_restarts.json"),
    "pages": ("tests.long.pages", verdicts.FILE),
}


@pytest.mark.parametrize("name", LONG)
def test_long(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a long campaign is refused while another one in this tree writes the same verdicts, whatever else it is told"""
    words, writes = LONG[name]
    module = importlib.import_module(words)
    assert writes.is_file() and module.BUILD == BUILD
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "attend", lambda *what: pytest.fail("it runs beside the other"))
    monkeypatch.setattr(sys, "argv", [name])
    told: list[str] = []
    monkeypatch.setattr(module, "print", lambda *what, **where: told.append(str(what[0])), raising=False)
    with alone(words, writes, tmp_path / f"{name}.lock"):
        try:
            assert module.main() == 1
        except Failure as error:  # which what calls main() prints
            told.append(str(error))
    assert f"{writes} is being written by process {os.getpid()}" in told[-1]
