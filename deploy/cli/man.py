# SPDX-License-Identifier: BSD-2-Clause
"""skerry(1), the manual page, made from the help texts of all commands: groff_man(7)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from deploy.base.paths import ROOT
from deploy.base.version import version
from deploy.cli.help import example_lines

DESCRIPTION = """
Skerry runs one small microkernel on each group of cores that share a cache (a cluster). Clusters share nothing but
declared message channels. The commands build the system, boot it in QEMU or under libvirt, make images for real
machines, and measure: their main question is whether one kernel per socket or one kernel for the whole machine
serves Redis better.

Commands run from a checkout of the sources, on Debian 12 or 13, as root or with sudo; the first sets up what it needs.
"""
STATUSES = (
    ("0", "Everything that was asked for happened and was checked."),
    ("1", "Something failed. The last line on standard error says what."),
    ("2", "Wrong usage or bad input. One line names the culprit."),
    ("130", "The command was interrupted (Ctrl-C, SIGINT)."),
)
FILES = (
    ("deploy/deployments/*.toml", "Deployment files, ready to run."),
    ("emulator/machines/*.toml", "Modelled machines, for \\-\\-machine."),
    ("build/", "Everything that is built, results and logs. It may be removed at any time."),
)
PAGES = ("README.md", "CONTRIBUTING.md", "docs/deployments.md", "docs/topology.md", "docs/benchmarks.md",
         "docs/libvirt.md", "docs/json.md", "docs/glossary.md")  # fmt: skip


def released() -> str:
    """The date of this version, as CHANGELOG.md has it."""
    match = re.search(rf"^## \[{re.escape(version())}\] - (\d{{4}}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(),
                      re.MULTILINE)
    return match[1] if match else ""


def escaped(text: str) -> str:
    """Text as roff prints it: a backslash and a hyphen are characters, and no line is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def commands(group: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with its whole name."""
    if isinstance(group, click.Group):
        for word, inner in group.commands.items():
            yield from commands(inner, f"{name} {word}".strip())
    else:
        yield name, group


def page(top: click.Command) -> str:
    """The whole page, from the command line that `top` is."""
    lines = [
        '.\\" SPDX-License-Identifier: BSD-2-Clause', '.\\" Made by ./skerry man from the help texts; do not edit.',
        f'.TH SKERRY 1 "{released()}" "Skerry {version()}" "User Commands"', ".SH NAME",
        "skerry \\- " + escaped((top.help or "").strip().rstrip(".").replace("A clustered", "a clustered")),
        ".SH SYNOPSIS", ".B ./skerry", ".I command", ".RI [ options ]", ".br", ".B ./skerry \\-\\-version",
        ".SH DESCRIPTION", *_paragraphs(DESCRIPTION), ".PP", "A command explains itself:",
        ".BI ./skerry \" command \" \\-\\-help .", ".SH COMMANDS",
    ]  # fmt: skip
    for name, command in commands(top):
        lines += _command(name, command)
    lines += [".SH EXIT STATUS", *_list(STATUSES), ".SH FILES", *_list(FILES), ".SH SEE ALSO"]
    lines += [f".IR {escaped(name)} {',' if name != PAGES[-1] else '.'}" for name in PAGES]
    return "\n".join(lines) + "\n"


def command_page(name: str, command: click.Command) -> str:
    """skerry-NAME(1), of one command."""
    title = f"skerry-{name.replace(' ', '-')}"
    summary = (command.help or "").strip().split("\n\n")[0]
    body = _command(name, command)
    synopsis = body[0].removeprefix(".SS ")
    lines = [
        '.\\" SPDX-License-Identifier: BSD-2-Clause', '.\\" Made by ./skerry man from the help texts; do not edit.',
        f'.TH {escaped(title.upper())} 1 "{released()}" "Skerry {version()}" "User Commands"', ".SH NAME",
        f"{escaped(title)} \\- {escaped(_first_sentence(summary))}", ".SH SYNOPSIS", f".B ./skerry\n{synopsis}",
        ".SH DESCRIPTION", *body[1:], ".SH EXIT STATUS", *_list(STATUSES), ".SH SEE ALSO", ".IR skerry (1)",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _first_sentence(text: str) -> str:
    words = " ".join(text.split()).partition(". ")[0].rstrip(".")
    return words[:1].lower() + words[1:] if not words[:2].isupper() else words


def pages(top: click.Command) -> dict[str, str]:
    """skerry(1) and a page for each command, by the names of their files."""
    return {"skerry.1": page(top)} | {f"skerry-{name.replace(' ', '-')}.1": command_page(name, command)
                                      for name, command in commands(top)}


def _list(entries: tuple[tuple[str, str], ...]) -> list[str]:
    return [line for term, text in entries for line in (".TP", f".B {term}", text)]


def _paragraphs(text: str) -> list[str]:
    """A help text; a paragraph that begins with \\b keeps its lines."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        verbatim = paragraph.lstrip().startswith("\b")
        body = escaped("\n".join(line.strip() for line in paragraph.replace("\b", "").strip().splitlines()))
        lines += [".PP", *([".nf", body, ".fi"] if verbatim else [body])]
    return lines[1:]  # the first paragraph needs no request


def _command(name: str, command: click.Command) -> list[str]:
    context = click.Context(command, info_name=f"./skerry {name}")
    lines = [".SS " + escaped(" ".join([name, *command.collect_usage_pieces(context)]))]
    lines += _paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and "--help" not in parameter.opts:
            lines += [".TP", f".B {escaped(record[0])}", escaped(" ".join(record[1].split()))]
    if examples := example_lines(name):
        lines += [".PP", "Examples:", ".PP", ".RS 4", ".nf", *(escaped(line) for line in examples), ".fi", ".RE"]
    return lines
