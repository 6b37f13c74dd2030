# SPDX-License-Identifier: BSD-2-Clause
"""CONTRIBUTING.md names files, commands, targets and names of the code that there are."""

import re
import shlex
import subprocess

import pytest
import typer

from deploy.base.paths import BUILD, ROOT
from deploy.cli.main import make_app
from tests.mistakes.catalogue import BECOMES, SEEN, UNIT, UNSEEN

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
CODE = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))
SHOWN = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
LINES = sorted({*CODE, *SHOWN})
# Words in place of which a reader writes their own.
OWN = {"WORD": "clh", "FILE": "deploy/deployments/minimal.toml", "SEED": "1", "CORES": "2", "PID": "1", "NAME": "x"}
FOLDERS = ("apps", "build", "cluster-kernel", "cluster-manager", "deploy", "docs", "emulator", "model", "net", "tests",
           "topology", ".editorconfig")


def commands(start: str) -> list[list[str]]:
    return [shlex.split(line.replace("[", "").replace("]", ""))[len(shlex.split(start)) :] for line in LINES
            if line.startswith(start)]


def test_paths() -> None:
    """every file and folder that it names is there"""
    named = {path for line in LINES for path in re.findall(r"(?<![\w./-])[\w.][\w./-]*", line)
             if path.partition("/")[0] in FOLDERS}
    named |= {link for link in re.findall(r"\]\(([^)#]+)\)", TEXT)}
    assert len(named) > 40
    built = {path for path in named if path.startswith("build/cluster-kernel/test/") or path.endswith(".elf")
             or "NAME" in path}
    gone = [path for path in sorted(named - built) if not (ROOT / path).exists()]
    assert not gone, gone


def test_skerry() -> None:
    """every ./skerry command can be parsed"""
    app = typer.main.get_command(make_app())
    quoted = commands("./skerry ")
    assert len(quoted) >= 8
    for name, *words in quoted:
        command, context = app.commands[name], None  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            command, words = command.commands[words[0]], words[1:]
        context = command.make_context(name, [OWN.get(word, word) for word in words])
        context.close()


def test_targets() -> None:
    """ninja has every target and program, Meson every suite"""
    known = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True,
                           check=True).stdout
    targets = {line.partition(":")[0] for line in known.splitlines()}
    quoted = {word for words in commands("ninja -C build ") for word in words if "/" in word}
    quoted |= {line.split()[0].removeprefix("build/") for line in LINES
               if line.startswith("build/cluster-kernel/test/")}
    assert len(quoted) >= 4 and quoted <= targets, quoted - targets
    suites = {suite for words in commands("meson test -C build ") for suite in words if not suite.startswith("-")}
    listed = subprocess.run(["meson", "test", "-C", str(BUILD), "--list"], capture_output=True, text=True,
                            check=True).stdout
    assert suites and all(f":{suite} / " in listed for suite in suites), suites


def test_pages() -> None:
    """every Python module that it runs can be found"""
    modules = {line.split("-m ")[1].split()[0] for line in LINES if "python -m " in line}
    assert {"pytest", "deploy.cli.documents", "tests.mistakes"} <= modules
    for module in modules - {"pytest"}:
        path = ROOT / module.replace(".", "/")
        assert (path / "__main__.py").is_file() or path.with_suffix(".py").is_file(), module


# Names in the text, each with the file that has it.
PLACES = [
    ("dispatch_call", "cluster-kernel/core/syscall.c"), ("must_write", "cluster-kernel/core/syscall.c"),
    ("enum skerry_syscall", "cluster-kernel/include/skerry/syscall.h"),
    ("enum skerry_invocation", "cluster-kernel/include/skerry/syscall.h"),
    ("kernel_relax", "cluster-kernel/core/lock.h"),
    ("PROGRAMS", "deploy/deployment/modules.py"), ("skerry_cc", "tests/programs/meson.build"),
    ("struct process_device", "lib/include/skerry/process.h"), ("calls[]", "cluster-kernel/test/operation.c"),
]  # fmt: skip


@pytest.mark.parametrize("word, path", PLACES, ids=[word for word, _ in PLACES])
def test_names(word: str, path: str) -> None:
    """a name of the code stands in the text and in the file it belongs to"""
    assert word in TEXT and word in (ROOT / path).read_text()


def test_mistake_form() -> None:
    """the words of an entry are those of the catalogue"""
    (section,) = re.findall(r"## Add a mistake\n\n(.*?)\n## ", TEXT, re.DOTALL)
    assert all(word.strip() in section for word in (UNIT, BECOMES, SEEN, UNSEEN))
