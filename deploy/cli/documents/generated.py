# SPDX-License-Identifier: BSD-2-Clause
"""Pages that are made from the tree and are not in git, the reference of the command line among them: docs/generated.md
names them for readers."""

from __future__ import annotations

import re
from pathlib import Path

import click
import typer

from deploy.base.atomic_files import write_text
from deploy.base.paths import BUILD
from deploy.cli.help import EXAMPLES
from deploy.cli.main import make_app
from deploy.cli.man import STATUSES, commands
from deploy.deployment import reference as keys

HEAD = """<!-- SPDX-License-Identifier: BSD-2-Clause -->
# The command line

Made from the help texts (`deploy/cli/documents/generated.py`); do not edit. `./skerry COMMAND --help` and `./skerry man` say the same.
"""


def page(top: click.Command) -> str:
    """Every command with its arguments, options and examples."""
    every = list(commands(top))
    parts = [HEAD, "| command | does |\n|---|---|"]
    parts[-1] += "".join(f"\n| [`{name}`](#{_anchor(name)}) | {_cell(_summary(command))} |" for name, command in every)
    parts += [_section(name, command) for name, command in every]
    parts += ["## Exit status\n", "| status | means |\n|---|---|"
              + "".join(f"\n| {code} | {_cell(meaning)} |" for code, meaning in STATUSES)]
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _anchor(name: str) -> str:
    """Returns the anchor that GitHub and Python-Markdown make of "skerry NAME"."""
    return f"skerry-{name.replace(' ', '-')}"


def _summary(command: click.Command) -> str:
    return command.short_help or " ".join((command.help or "").split("\n\n")[0].split())


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"./skerry {name}")
    usage = " ".join([f"./skerry {name}", *command.collect_usage_pieces(context)])
    lines = [f"## skerry {name}", "", f"`{usage}`", "", *_paragraphs(command.help or "")]
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and "--help" not in parameter.opts:
            rows.append(f"| `{_bar(record[0])}` | {_cell(record[1])} |")
    if rows:
        lines += ["| option or argument | |", "|---|---|", *rows, ""]
    if examples := EXAMPLES.get(name):
        lines += ["```sh", *(f"./skerry {line}" for line in examples), "```", ""]
    return "\n".join(lines)


def _paragraphs(text: str) -> list[str]:
    """A help text; a paragraph that begins with \\b keeps its lines."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        body = paragraph.replace("\b", "").strip("\n")
        if paragraph.lstrip().startswith("\b"):
            lines += ["```", *(line.strip() for line in body.splitlines()), "```", ""]
        else:
            lines += [_escaped(" ".join(body.split())), ""]
    return lines


def _escaped(text: str) -> str:
    """Outside of code: a reader's software takes <...> for a tag, and * and _ for emphasis."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>*_])", r"\\\1", part) for part in parts)


def _bar(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _cell(text: str) -> str:
    return _escaped(_bar(text))


FOLDER = BUILD / "docs"


def cli() -> str:
    return page(typer.main.get_command(make_app()))


def abi() -> str:
    from deploy.tools.abi_reference import reference  # its libclang is not in every environment

    return reference.generate()


PAGES = {"cli": cli, "keys": keys.page, "abi": abi}


def write(folder: Path, *names: str) -> None:
    """Writes the pages of these names, all of them where none is named."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PAGES:
        write_text(folder / f"{name}.md", PAGES[name]())
