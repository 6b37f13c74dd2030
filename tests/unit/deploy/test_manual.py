# SPDX-License-Identifier: BSD-2-Clause
"""skerry(1): whole, valid for groff and mandoc, and of this version."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from deploy.base.paths import ROOT
from deploy.base.version import version
from deploy.cli import main, man
from tests.unit.deploy.test_completion import ask

TOP = typer.main.get_command(main.make_app())
PAGE = man.page(TOP)
MACROS = {"TH", "SH", "SS", "PP", "TP", "B", "BI", "BR", "I", "IR", "RI", "RS", "RE", "nf", "fi", "br", '\\"'}
# Programs that may judge the page, where it is installed; each is silent about a good one.
JUDGES = (["groff", "-man", "-Tutf8", "-ww", "-z"], ["man", "--warnings", "-l"],
          ["mandoc", "-T", "lint", "-W", "warning"])


def test_whole() -> None:
    """every command, argument and option is in the manual page"""
    for name, command in man.commands(TOP):
        start = PAGE.index(f".SS {man.escaped(name)} ")
        section = PAGE[start : PAGE.find("\n.S", start + 1)]
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or man.escaped(option) in section, f"{name} {option}"


def test_requests() -> None:
    """each line is text or a macro of groff_man(7), escapes are known, and what is opened is closed"""
    for line in PAGE.splitlines():
        assert line, "an empty line is no paragraph"
        if line.startswith("."):
            assert line[1:].split()[0] in MACROS, line
        assert set(re.findall(r"\\(.)", line)) <= set('e-&"f'), line
    assert PAGE.count("\n.nf\n") == PAGE.count("\n.fi\n") and PAGE.count("\n.RS") == PAGE.count("\n.RE")
    assert re.search(r"^\.TP\n(?!\.B )", PAGE, re.MULTILINE) is None  # a tag stands behind each
    headings = re.findall(r"^\.SH (.*)", PAGE, re.MULTILINE)
    assert headings == ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS", "FILES", "SEE ALSO"]


def test_escapes() -> None:
    """text that looks like a request is text"""
    assert man.escaped(".SH a-b\\c\n'x") == "\\&.SH a\\-b\\ec\n\\&'x"


def test_judged(tmp_path: Path) -> None:
    """programs that show manual pages have no complaint"""
    page = tmp_path / "skerry.1"
    assert main.main(["man", "-o", str(page)]) == 0 and page.read_text() == PAGE
    for judge in JUDGES:
        if shutil.which(judge[0]):
            done = subprocess.run([*judge, str(page)], capture_output=True, text=True)
            said = done.stderr + (done.stdout if judge[0] == "mandoc" else "")
            assert (done.returncode, said) == (0, ""), judge


def test_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """each command has a page of its own, with its options; all go into a folder; a command that is none is refused"""
    assert main.main(["man", "-o", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"skerry.1"} | {f"skerry-{name.replace(' ', '-')}.1" for name, _ in man.commands(TOP)}
    assert main.main(["man", "bench", "ipc"]) == 0
    text = capsys.readouterr().out
    assert (
        text == (tmp_path / "skerry-bench-ipc.1").read_text() and r"\-\-icount" in text
        and ".TH SKERRY\\-BENCH\\-IPC 1" in text
    )
    for judge in JUDGES[:1]:
        if shutil.which(judge[0]):
            paths = sorted(map(str, tmp_path.iterdir()))
            done = subprocess.run([*judge, *paths], capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")
    assert main.main(["man", "fly"]) == 2 and "fly: is no command" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """the page tells this version and the day of its release; without a terminal its source is printed"""
    assert main.main(["man"]) == 0
    assert capsys.readouterr().out == PAGE
    assert f'.TH SKERRY 1 "{man.released()}" "Skerry {version()}"' in PAGE and man.released()


def test_see_also() -> None:
    """pages that the manual page refers to are there"""
    assert all((ROOT / name).is_file() for name in man.PAGES)


def test_completed() -> None:
    """a shell completes the command"""
    assert "man" in ask("bash", ["ma"])
