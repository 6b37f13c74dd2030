# SPDX-License-Identifier: BSD-2-Clause
"""Answers a shell's TAB from what deploy/cli/completion.py has written down of a command, without loading any of it.

Standard library only, and little of it: this runs at every TAB. It answers as click does, or not at all: then click
does.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "completion"
Item = tuple[str, str, "str | None"]  # type, value, help, as click has them
Node = dict[str, Any]


def stamp() -> list[int]:
    """Changes with everything that commands and their options are made of."""
    newest = count = 0
    # the last two have the lists of regimes and drivers
    for folder in ("deploy", "topology", "cluster-kernel/lock", "net"):
        for where, _, names in os.walk(ROOT / folder):
            for name in names:
                if name.endswith((".py", ".toml")):
                    newest = max(newest, os.stat(f"{where}/{name}").st_mtime_ns)
                    count += 1
    return [newest, count]


def split(text: str) -> list[str]:
    """Splits a line as click does: an open quotation is a word."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        for token in lexer:
            words.append(token)
    except ValueError:
        words.append(lexer.token)
    return words


def asked(shell: str) -> tuple[list[str], str]:
    """Whole words behind the program's name, and the one that is not."""
    words, at = split(os.environ["COMP_WORDS"]), os.environ["COMP_CWORD"]
    if shell != "fish":
        return words[1 : int(at)], words[int(at)] if int(at) < len(words) else ""
    incomplete = split(at)[0] if at else ""
    args = words[1:]
    return (args[:-1] if incomplete and args and args[-1] == incomplete else args), incomplete


def called(args: list[str]) -> str:
    return next((word for word in args if not word.startswith("-")), "")


def load(name: str) -> Node | None:
    try:
        written = json.loads((FOLDER / f"{name or 'skerry'}.json").read_text())
    except (OSError, ValueError):
        return None
    return written["node"] if written["stamp"] == stamp() else None


def renew() -> None:
    """Has all commands written down where sources have changed since, before somebody waits for it at a TAB."""
    if load("") is None:
        import subprocess

        subprocess.run([sys.executable, "-m", "deploy.cli.write_completion"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _option(node: Node, name: str) -> Node | None:
    return next((option for option in node["options"] if name in option["names"]), None)


def _parsed(node: Node, args: list[str]) -> tuple[Node, set[str], int] | None:
    """The innermost command, its options that are given, and how many arguments are; None where click must look."""
    typed: set[str] = set()
    arguments, place = 0, 0
    while place < len(args):
        word = args[place]
        place += 1
        if word.startswith("-") and len(word) > 1:
            name, _, value = word.partition("=")
            option = _option(node, name)
            if option is None or value and not (name.startswith("--") and option["value"]):
                return None
            if option["value"] and "=" not in word:
                if place == len(args):
                    break  # its value is what is being typed
                place += 1
            typed.add(option["names"][0])
        elif node["commands"] is not None:
            if word not in node["commands"]:
                return node, typed, 0  # as click: behind an unknown word it offers what could have stood there
            node, typed = node["commands"][word], set()
            if not node:
                return None
        else:
            arguments += 1
    return node, typed, arguments


def _values(form: Node, incomplete: str) -> list[Item]:
    values = [(kind, value, sentence) for kind, value, sentence in form["choices"] if value.startswith(incomplete)]
    values += [("plain", value, None) for value in form["late"] if incomplete and value.startswith(incomplete)]
    return values or ([(form["file"], incomplete, None)] if form["file"] else [])


def _names(node: Node, typed: set[str], incomplete: str) -> Iterator[Item]:
    if node["commands"] is not None:
        for name, sentence in node["listed"]:
            if name.startswith(incomplete):
                yield "plain", name, sentence
    if incomplete and not incomplete[0].isalnum():
        for option in node["options"]:
            if option["multiple"] or option["names"][0] not in typed:
                yield from (("plain", name, option["help"]) for name in option["names"] if name.startswith(incomplete))


def completions(top: Node, args: list[str], incomplete: str) -> list[Item] | None:
    parsed = _parsed(top, args)
    if parsed is None or "--" in args:
        return None
    node, typed, arguments = parsed
    if incomplete == "=":
        incomplete = ""
    elif "=" in incomplete and incomplete.startswith("-"):
        name, _, incomplete = incomplete.partition("=")
        args = [*args, name]
    if incomplete.startswith("-"):
        return list(_names(node, typed, incomplete))
    last = _option(node, args[-1]) if args and args[-1].startswith("-") else None
    if last and last["value"]:
        return _values(last["value"], incomplete)
    for place, form in enumerate(node["arguments"]):
        if form["many"] or place >= arguments:
            return _values(form, incomplete)
    return list(_names(node, typed, incomplete))


def shown(shell: str, item: Item) -> str:
    kind, value, sentence = item
    if shell == "zsh":
        escaped = value.replace(":", r"\:") if sentence else value
        return f"{kind}\n{escaped}\n{sentence or '_'}"
    if shell == "fish" and sentence:
        escaped = sentence.replace("\n", "\\n").replace("\t", " ")
        return f"{kind},{value}\t{escaped}"
    return f"{kind},{value}"


def answer(instruction: str) -> str | None:
    """The lines for `bash_complete` and the like; None where click must answer."""
    shell, _, what = instruction.partition("_")
    if what != "complete" or shell not in ("bash", "zsh", "fish"):
        return None
    try:
        args, incomplete = asked(shell)
    except (KeyError, ValueError, IndexError):
        return None
    top = load(called(args)) or load("")
    items = completions(top, args, incomplete) if top else None
    return None if items is None else "\n".join(shown(shell, item) for item in items)
