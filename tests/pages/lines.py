# SPDX-License-Identifier: BSD-2-Clause
"""Finds the ./skerry commands that pages show."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import typer

from deploy.base.paths import ROOT
from deploy.cli import main
from deploy.cli.documents import generated, site

GENERATED = generated.FOLDER / "cli.md"  # the page that is not in git and has commands
generated.write(GENERATED.parent, GENERATED.stem)
PAGES = sorted([GENERATED, *(ROOT / name for name in site.OUTSIDE), *(ROOT / "docs").rglob("*.md"),
                *(ROOT / "examples").rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
TOP = typer.main.get_command(main.make_app())
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

# Words in whose place readers write their own. README has none: it can be pasted.
OWN = {
    "DEPLOYMENT": "deploy/deployments/redis.toml", "FILE": "deploy/deployments/redis.toml",
    "FILE.toml": "deploy/deployments/redis.toml",
    "NAME": "redis", "RESULTS.json": "results.json", "S": "10", "N": "1", "DIR": "build/corpus", "WORD": "clh",
    "URI": "qemu:///system",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    page: str
    text: str
    words: tuple[str, ...]  # behind ./skerry
    typed: bool  # in a block that is shown to be typed


def fenced(text: str) -> Iterator[str]:
    """Lines of blocks that are shown to be typed."""
    for language, block in FENCE.findall(text):
        if language in ("", "sh", "console"):
            yield from block.replace("\\\n", " ").splitlines()


def inline(text: str) -> Iterator[str]:
    yield from re.findall(r"`(\./skerry [^`\n]+)`", FENCE.sub("", text))


def lines(page: Path) -> Iterator[Line]:
    text, name = page.read_text(), page.relative_to(ROOT).as_posix()
    for shown, typed in (*((line, True) for line in fenced(text)), *((line, False) for line in inline(text))):
        for part in re.split(r"\s*(?:;|&&|\|(?=\s))\s*", re.sub(r"(^|\s)#.*", "", shown.replace("\\|", "|"))):
            part = part.removeprefix("sudo ").removeprefix("nice ").strip()
            if part.startswith("./skerry ") and "COMMAND" not in part and "…" not in part:
                yield Line(name, shown, tuple(shlex.split(part)[1:]), typed)


ALL = [line for page in PAGES for line in lines(page)]


def leaf(words: tuple[str, ...]) -> tuple[str, click.Command, tuple[str, ...]]:
    """The command that a line calls, by its whole name, and its arguments."""
    command: click.Command = TOP
    name: list[str] = []
    while isinstance(command, click.Group) and len(name) < len(words) and not words[len(name)].startswith("-"):
        name.append(words[len(name)])
        assert name[-1] in command.commands, f"no command {' '.join(name)}"
        command = command.commands[name[-1]]
    return " ".join(name), command, words[len(name) :]


def is_usage(line: Line) -> bool:
    """A list of what may be said, not a command: [--regime clh], acpi|cpio."""
    return any(word.startswith("[") or "|" in word for word in line.words)


def is_name(line: Line) -> bool:
    """`./skerry cc` in a sentence: the command, by its name; it wants arguments to run."""
    try:
        path, command, rest = leaf(line.words)
        if isinstance(command, click.Group):
            return not rest
        if not command.context_settings.get("ignore_unknown_options"):
            command.make_context(path, [OWN.get(word, word) for word in rest if word not in ("--help", "-h")]).close()
        return not line.typed and not rest and path in ("cc", "plan")
    except click.MissingParameter:
        return True
    except (click.ClickException, AssertionError):
        return False  # tests/structure/test_documents.py complains
