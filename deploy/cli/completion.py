# SPDX-License-Identifier: BSD-2-Clause
"""Shell completion: scripts that ask this very launcher, wherever it is called from, and the answers to them."""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class, shell_complete
from typer.models import TyperPath

from deploy.base.paths import ROOT
from deploy.setup import tab

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_SKERRY_COMPLETE"  # a script asks by it
NAME = "skerry"

# typer leaves files to scripts of its own
TyperPath.shell_complete = click.Path.shell_complete  # type: ignore[method-assign]


def asked() -> bool:
    return VARIABLE in os.environ


def _value(parameter: click.Parameter, context: click.Context) -> dict[str, Any]:
    """Returns the possible values: some words, and files or folders."""
    items = parameter.shell_complete(context, "")
    custom = getattr(parameter, "_custom_shell_complete", None)
    return {
        "choices": [(item.type, item.value, item.help) for item in items if item.type == "plain"],
        "late": list(getattr(custom, "choices", ())),
        "file": next((item.type for item in items if item.type != "plain"), None),
    }


def _node(command: click.Command, context: click.Context, called: str | None) -> tab.Node:
    options, arguments = [], []
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Argument):
            arguments.append({**_value(parameter, context), "many": parameter.nargs == -1})
        elif isinstance(parameter, click.Option) and not parameter.hidden:
            is_switch = parameter.is_flag or parameter.count
            options.append({
                "names": [*parameter.opts, *parameter.secondary_opts], "help": parameter.help,
                "multiple": parameter.multiple, "value": None if is_switch else _value(parameter, context),
            })  # fmt: skip
    node: tab.Node = {"options": options, "arguments": arguments, "commands": None}
    if isinstance(command, click.Group):
        inner = {name: command.commands[name] for name in command.list_commands(context)}
        node["listed"] = [(name, one.get_short_help_str()) for name, one in inner.items() if not one.hidden]
        node["commands"] = {
            name: _node(one, click.Context(one, parent=context, info_name=name), None) if called in (None, name) else {}
            for name, one in inner.items()
        }
    return node


def write(command: click.Command, called: str) -> None:
    """Writes the answer for the next TAB, which then needs no more than this. `called`: the command whose parameters
    `command` has."""
    node = _node(command, click.Context(command, info_name=NAME), called)
    try:
        tab.FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=tab.FOLDER, delete=False) as file:
            json.dump({"stamp": tab.stamp(), "node": node}, file)
        Path(file.name).replace(tab.FOLDER / f"{called or NAME}.json")
    except OSError:  # a tree of somebody else's, a full disk: click goes on answering
        pass


def answer(command: click.Command, called: str | None = None) -> int:
    """To a script that asks; the exit status."""
    if called is not None:
        write(command, called)
    return shell_complete(command, {}, NAME, VARIABLE, os.environ[VARIABLE])


def script(command: click.Command, shell: str) -> str:
    """Click's, which take it that the command is in PATH; ours is called as ./skerry."""
    kind = get_completion_class(shell)
    assert kind
    text = kind(command, {}, NAME, VARIABLE).source()
    text = re.sub(r"^.*\$\+commands\[.*\n", "", text, flags=re.MULTILINE)  # zsh's look into PATH
    launcher = shlex.quote(str(ROOT / NAME))
    made, count = re.subn(rf"({VARIABLE}={shell}_complete(?: COMP_\w+=\([^)]*\))*) (?:\$1|{NAME})\b", rf"\1 {launcher}",
                          text)
    assert count == 1, "click's script has changed"
    return made.strip() + "\n"
