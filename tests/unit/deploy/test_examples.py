# SPDX-License-Identifier: BSD-2-Clause
"""Examples, and pages that are followed."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.base.terminal import Output
from deploy.cli.main import make_app
from deploy.setup import examples, sources
from deploy.tools.fuzz.target import Target
from tests.pages.reader import CORPUS, cut_off, unchanged
from topology.errors import InputError

# ---- `skerry build examples/NAME`: what is built anew, and what is kept ----

SCRIPT = ("#!/bin/sh\necho run >>runs\n[ -e object ] || echo compiled >>compilations\ntouch object\ncat runs "
          ">\"$OUTPUT/one.elf\"\n")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An example, one, whose script writes what it did to its work folder, build/examples/one."""
    folder, compiler, library = tmp_path / "examples/one", tmp_path / "compiler", tmp_path / "library"
    folder.mkdir(parents=True)
    (folder / "build.sh").write_text(SCRIPT)
    for file in (compiler, library):
        file.write_text("first")
    values = {"EXAMPLES": folder.parent, "BUILD": tmp_path / "build", "LOGS": tmp_path, "COMPILED_WITH": (compiler,),
              "LINKED_WITH": (library,), "ensure_built": lambda output, needed: None}  # fmt: skip
    for name, value in values.items():
        monkeypatch.setattr(examples, name, value)
    monkeypatch.setattr("deploy.setup.build.BUILD", tmp_path / "build")
    return folder


def lines(example: Path, name: str) -> int:
    return len((example.parents[1] / "build/examples/one" / name).read_text().splitlines())


def test_kept(example: Path) -> None:
    """an example is linked anew after its libraries changed, compiled anew after its compiler did, and left alone
    else"""
    output = Output(True)
    assert examples.ensure(output, "one") and not examples.ensure(output, "one")
    (example.parents[1] / "library").write_text("second")
    assert examples.ensure(output, "one")
    assert lines(example, "runs") == 2 and lines(example, "compilations") == 1
    (example.parents[1] / "compiler").write_text("second")
    assert examples.ensure(output, "one")
    assert lines(example, "runs") == 1 and lines(example, "compilations") == 1
    (example / "one.elf").unlink()
    assert examples.ensure(output, "one")


def test_failure(example: Path) -> None:
    """a script that fails is named with its lines, and runs again the next time"""
    (example / "build.sh").write_text("echo 'x.c:1: error: no such thing' >&2\nfalse\necho unreached "
                                      ">\"$OUTPUT/one.elf\"\n")
    for _ in range(2):
        with pytest.raises(Failure, match="(?s)no such thing.*examples/one could not be built"):
            examples.ensure(Output(True), "one")


def test_named(example: Path) -> None:
    """an example is named by its folder; another folder is refused with the list of those that there are"""
    assert examples.named(str(example)) == "one"
    with pytest.raises(InputError, match="no example to build; there are examples/one"):
        examples.named(str(example.parents[1]))


def test_sources() -> None:
    """the build fetches no example's sources, and each example of the list is there to build"""
    assert {source.name for source in sources.needed()} == {"redis", "lwip", "musl"}
    for name in ("lua", "sqlite", "memcached", "nginx"):
        assert name in examples.names() and sources.needed(name)


# ---- docs/libvirt.md shows commands that exist, with options that they have ----

PAGE = (ROOT / "docs/libvirt.md").read_text()


def test_commands() -> None:
    """every command of the page can be parsed, and names files that are there"""
    app = typer.main.get_command(make_app())
    shown = re.findall(r"^\./skerry (.*)$", PAGE, re.MULTILINE)
    assert len(shown) >= 6
    for line in shown:
        name, *words = shlex.split(line)
        command = app.commands[name]  # type: ignore[attr-defined]
        command.make_context(name, list(words))
        for path in re.findall(r"\S+\.toml", line):
            assert (ROOT / path).is_file(), path


def test_options() -> None:
    """every option that the page speaks of belongs to one of its commands"""
    app = typer.main.get_command(make_app())
    commands = [app.commands[n] for n in ("deploy", "status", "logs", "console", "kill", "stop", "undeploy")]  # type: ignore[attr-defined]
    known = {option for command in commands for parameter in command.params
             for option in parameter.opts + parameter.secondary_opts}
    assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))) <= known


# ---- What runs the commands of pages as a reader would (tests/pages/reader.py) ----

def test_cut_off() -> None:
    """what was cut off in a table is seen, with a terminal and without"""
    assert cut_off("│ 1.5 [1.4..… │\n│ whole │\nand so on …\n", None) == ["│ 1.5 [1.4..… │"]
    assert cut_off(f"│ {'x' * 90} │", None) == [] and cut_off(f"│ {'x' * 90} │", 80)


def test_unchanged(tmp_path: Path) -> None:
    """what a command changes in a file of the tree is put back, also when it fails"""
    file = tmp_path / "kernel.corpus"
    file.write_text("a YQ==\n")
    with pytest.raises(ZeroDivisionError), unchanged(file):
        file.write_text("b Yg==\n")
        raise ZeroDivisionError
    assert file.read_text() == "a YQ==\n"
    assert Target("kernel", "clh").corpus == ROOT / CORPUS
