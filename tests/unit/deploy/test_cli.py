# SPDX-License-Identifier: BSD-2-Clause
"""Tests how a command ends, whichever it is."""

import errno
import io
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from deploy.base.choices import option
from deploy.cli.main import main
from deploy.cli.options import takes

man = import_module("deploy.cli.commands.project.man")


class Full(io.StringIO):
    """A file on a disk that is full."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("words", [["topology"], ["topology", "-f", "dts"], ["topology", "--json", "-"],
                                   ["completion", "fish"]])
def test_a_full_disk_is_one_line(words: list[str], monkeypatch: pytest.MonkeyPatch,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(words) == 1
    assert capsys.readouterr().err == "skerry: cannot write: no space left on device\n"


def test_a_full_disk_names_the_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """an error that comes when the file is open already has no name of its own"""
    assert Path("/dev/full").exists()
    monkeypatch.setattr(man, "PAGE", Path("/dev/full"))
    assert main(["man"]) == 1
    assert capsys.readouterr().err == "skerry: cannot write /dev/full: no space left on device\n"


def test_a_file_in_the_place_of_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    """is one line that names it"""
    path = tmp_path / "folder"
    path.touch()
    monkeypatch.setattr(man, "PAGE", path / "skerry.1")
    monkeypatch.setattr(man, "write_text", lambda page, text: page.parent.mkdir(exist_ok=True))
    assert main(["man"]) == 1
    assert capsys.readouterr().err.endswith(f"skerry: cannot write {path}: file exists\n")


@pytest.mark.parametrize(
    "words, near",
    [(["tpology"], "'topology'"), (["topology", "--layuot", "x"], "'--layout'"), (["bench", "scal"], "'scale'")],
)
def test_what_was_meant_is_named(words: list[str], near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert near in said and said.count("\n") == 1


def test_an_interrupt_is_one_line_and_status_130(monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*rest: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("deploy.cli.completion.script", interrupted)
    assert main(["completion", "bash"]) == 130
    assert capsys.readouterr().err == "skerry: interrupted\n"


@dataclass(frozen=True)
class Sizes:
    cores: Annotated[int, option("--cores -c NUMBER OF THEM", "Cores.", 1, most=4)]
    quick: Annotated[bool, option("--quick", "Soon.")] = False


def test_options_of_a_dataclass() -> None:
    """a command of one argument has its fields as options, with their defaults and help"""
    seen: list[Sizes] = []

    @takes(Sizes)
    def sizes(args: Sizes) -> None:
        """Says sizes."""
        seen.append(args)

    app = typer.Typer(add_completion=False)  # otherwise Typer changes how every shell completes
    app.command()(sizes)
    runner = CliRunner()
    assert runner.invoke(app, ["-c", "3"]).exit_code == 0 and seen == [Sizes(3)]
    assert all(runner.invoke(app, words).exit_code == 2 for words in ([], ["-c", "0"], ["--cores", "5"]))
    assert all(text in runner.invoke(app, ["--help"]).output for text in ("NUMBER OF THEM", "Cores.", "Soon."))
