# SPDX-License-Identifier: BSD-2-Clause
"""Shell completion: scripts that ask this very launcher, wherever it is called from, and the answers to them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from typer.models import TyperPath

from deploy.paths import ROOT

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_SKERRY_COMPLETE"  # a script asks by it
NAME = "skerry"

TyperPath.shell_complete = click.Path.shell_complete  # type: ignore[method-assign]  # typer leaves files to scripts of its own


def asked() -> bool:
    return VARIABLE in os.environ


def answer(command: click.Command) -> int:
    """To a script that asks; the exit status."""
    return shell_complete(command, {}, NAME, VARIABLE, os.environ[VARIABLE])


def script(command: click.Command, shell: str) -> str:
    """Click's, which take it that the command is in PATH; ours is called as ./skerry."""
    kind = get_completion_class(shell)
    assert kind
    text = kind(command, {}, NAME, VARIABLE).source()
    text = re.sub(r"^.*\$\+commands\[.*\n", "", text, flags=re.MULTILINE)  # zsh's look into PATH
    launcher = shlex.quote(str(ROOT / NAME))
    made, count = re.subn(rf"({VARIABLE}={shell}_complete(?: COMP_\w+=\([^)]*\))*) (?:\$1|{NAME})\b", rf"\1 {launcher}", text)
    assert count == 1, "click's script has changed"
    return made.strip() + "\n"


def words(*choices: str) -> Callable[[str], list[str]]:
    """For an option's `autocompletion`: those that begin as what is typed."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def files(*choices: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """For an option's `shell_complete`: these choices, and else the shell's own files."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(choice) for choice in choices if incomplete and choice.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]

    return complete
