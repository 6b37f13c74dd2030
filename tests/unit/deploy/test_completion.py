# SPDX-License-Identifier: BSD-2-Clause
"""Shell completion, by the shells that are here: their own completion functions ask the real launcher."""

import os
import shlex
import shutil
import subprocess

import click
import pytest
import typer

from deploy.cli import COMMANDS, main, make_app
from deploy.completion import SHELLS, script
from deploy.paths import ROOT

LAUNCHER = str(ROOT / "skerry")

# How each shell is made to complete the words "…/skerry …", one candidate a line; files are the shell's own business.
ASK = {
    "bash": "{script}\nCOMP_WORDS=({words}); COMP_CWORD={place}; _skerry_completion {launcher}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
    "zsh": "compdef() {{ }}\n_describe() {{ print -l ${{completions_with_descriptions%%:*}}; }}\ncompadd() {{ print -l $completions; }}\n"
    "{script}\nwords=({words}); CURRENT={place}+1; _skerry_completion",
    "fish": "{script}\ncomplete -C {line} | string split -f 1 \\t",
}
OPTIONS = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}


def ask(shell: str, words: list[str]) -> list[str]:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    line = [LAUNCHER, *words]
    text = ASK[shell].format(
        script=script(typer.main.get_command(make_app()), shell),
        words=shlex.join(line), place=len(words), launcher=LAUNCHER, line=shlex.quote(" ".join(line)),
    )  # fmt: skip
    done = subprocess.run([shell, *OPTIONS[shell], "-c", text], capture_output=True, text=True, cwd="/", timeout=50,
                          env={**os.environ, "HOME": "/nonexistent"})  # fmt: skip
    return [word for word in done.stdout.splitlines() if word]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands(shell: str) -> None:
    """a shell completes commands"""
    assert set(ask(shell, ["co"])) == {name for name in COMMANDS if name.startswith("co")}


def test_options() -> None:
    """a shell completes options and their values"""
    assert ask("bash", ["compare", "--bas"]) == ["--baseline"]
    assert ask("bash", ["run", "--layout", "per-"]) == ["per-socket", "per-l3", "per-numa"]


def leaves(command: click.Command) -> list[click.Command]:
    inside = command.commands.values() if isinstance(command, click.Group) else ()
    return [leaf for one in inside for leaf in leaves(one)] or [command]


def test_files() -> None:
    """wherever a file may be named, the shell is told to complete files"""
    found = 0
    for command in leaves(typer.main.get_command(make_app())):
        context = click.Context(command)
        for parameter in command.params:
            if isinstance(parameter.type, click.Path) or "FILE" in (parameter.metavar or ""):
                items = parameter.shell_complete(context, "./x")
                assert [(item.type, item.value) for item in items] == [("file", "./x")], f"{command.name} {parameter.name}"
                found += 1
    assert found > 30
    assert ask("bash", ["topology", "--from", "l"]) == ["live"]


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "skerry: 'tcsh': not one of bash, zsh, fish\n"
