# SPDX-License-Identifier: BSD-2-Clause
"""Python packages that some commands need, installed while the build runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.terminal import Output
from deploy.setup import bootstrap, extensions


class Stop(Exception):
    pass


def test_environment_made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """an environment that is made anew gets back, with the next command, the groups that it had"""
    venv = tmp_path / "venv"
    for name, path in (("VENV", venv), ("STAMP", venv / "stamp"), ("HAD", venv / "had"), ("LOG", tmp_path / "log")):
        monkeypatch.setattr(bootstrap, name, path)
    installed: list[list[str]] = []

    def run(command: list[str]) -> bool:
        installed.append(command)
        venv.mkdir(exist_ok=True)
        return True

    monkeypatch.setattr(bootstrap, "run_logged", run)
    monkeypatch.setattr(extensions, "is_ours", lambda: True)
    quiet = Output(quiet=True)
    assert bootstrap.make_venv_alone() and bootstrap.had() == set()
    extensions.ensure(quiet, frozenset({"test"}))
    assert bootstrap.had() == {"test"} and not extensions.missing(frozenset({"test"}))
    for _ in range(2):
        assert bootstrap.make_venv_alone() and extensions.missing(frozenset({"test"})) and bootstrap.had() == {"test"}
    installed.clear()
    extensions.ensure(quiet, frozenset())
    assert [command[-1] for command in installed] == [str(extensions.HERE / "requirements-test.txt")]


@pytest.fixture
def venv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[list[str]]]:
    """An environment without packages; what pip was called with, which `pip` in the folder stands for."""
    called: list[list[str]] = []

    def install(*arguments: str) -> list[str]:
        called.append(list(arguments))
        return ["sh", str(tmp_path / "pip")]

    monkeypatch.setattr(bootstrap, "VENV", tmp_path)
    monkeypatch.setattr(bootstrap, "HAD", tmp_path / "had")
    monkeypatch.setattr(bootstrap, "LOG", tmp_path / "log")
    monkeypatch.setattr(bootstrap, "pip_install", install)
    monkeypatch.setattr(extensions, "is_ours", lambda: True)
    (tmp_path / "log").touch()
    yield called


PLOTS = frozenset({"plots"})


def test_python_packages_beside_the_build(venv: list[list[str]], tmp_path: Path) -> None:
    """what only draws is installed while the build runs; it counts as installed when pip says so, and then only"""
    (tmp_path / "pip").write_text(f"until [ -e {tmp_path}/built ]; do sleep 0.05; done\n")
    with extensions.beside(Output(), PLOTS):
        assert extensions.missing(PLOTS)
        (tmp_path / "built").touch()
    assert not extensions.missing(PLOTS) and len(venv) == 1
    with extensions.beside(Output(), PLOTS):
        pass
    assert len(venv) == 1


def test_python_packages_fail_beside_the_build(venv: list[list[str]], tmp_path: Path) -> None:
    """where pip fails during the build it is tried once more after it, and its error is told; where the build fails pip is ended"""
    (tmp_path / "pip").write_text("echo ERROR: no such package; exit 1\n")
    with extensions.beside(Output(), PLOTS):
        pass
    with pytest.raises(Failure, match="ERROR: no such package"):
        extensions.ensure(Output(), PLOTS)
    assert len(venv) == 2 and extensions.missing(PLOTS)
    (tmp_path / "pip").write_text("exec sleep 1000\n")
    with pytest.raises(Stop), extensions.beside(Output(), PLOTS):
        raise Stop
    assert extensions.missing(PLOTS)


def test_killed_pip(venv: list[list[str]], tmp_path: Path) -> None:
    """a package that a killed pip has left half-way is installed over"""
    said = "ERROR: Cannot uninstall x 1.0, RECORD file not found"
    (tmp_path / "pip").write_text(f"[ -e {tmp_path}/twice ] || {{ touch {tmp_path}/twice; echo '{said}'; exit 1; }}\n")
    extensions.ensure(Output(), PLOTS)
    assert not extensions.missing(PLOTS) and ["--ignore-installed" in arguments for arguments in venv] == [False, True]
