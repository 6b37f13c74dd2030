# SPDX-License-Identifier: BSD-2-Clause
"""docs/libvirt.md shows commands that exist, with options that they have."""

from __future__ import annotations

import re
import shlex

import typer

from deploy.base.paths import ROOT
from deploy.cli.main import make_app

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
    known = {option for command in commands for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))) <= known
