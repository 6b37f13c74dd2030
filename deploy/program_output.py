# SPDX-License-Identifier: BSD-2-Clause
"""A machine's console for a reader's terminal: whole, or what programs of the user's write, line by line."""

import re
from collections.abc import Callable
from pathlib import Path

from deploy.deaths import plain
from deploy.expand import Plan

_LINE = re.compile(r"\[([^\]\s]{1,31})\] (.*)")
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # ECMA-48, 5.4
_BEGUN = re.compile(r"\x1b(\[[0-?]*[ -/]*)?\Z")
_LONGEST = 32  # a control sequence that is longer is none


class ConsoleText:
    """`feed` is for pieces of the console as they come; `show` gets what a terminal prints, not what it obeys: GRUB clears
    the screen, and with it what the command has said."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show, self._rest = show, ""

    def feed(self, text: str) -> None:
        text = self._rest + text
        begun = _BEGUN.search(text, max(0, len(text) - _LONGEST))
        self._rest = text[begun.start():] if begun else ""
        self._pass(text[:begun.start()] if begun else text)

    def end(self) -> None:
        """At the machine's end a sequence may lack its end."""
        self._pass(self._rest)
        self._rest = ""

    def _pass(self, text: str) -> None:
        text = CONTROL.sub("", text).replace("\r", "")
        if text:
            self._show("".join(c if c.isprintable() or c in "\n\t" else "?" for c in text))


class ProgramOutput:
    """`feed` is for pieces of the console as they come; whole lines of [[program]] elf = … go to `say`."""

    def __init__(self, what: Plan, say: Callable[[str], None]) -> None:
        own = {name for name, module in what.own.items() if isinstance(module, Path)}
        self.names = {a.name for a in what.cluster_map.applications if a.program in own}
        self._say, self._rest = say, ""

    def feed(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._line(line)

    def end(self) -> None:
        """At the machine's end a line may lack its end."""
        self._line(self._rest)
        self._rest = ""

    def _line(self, line: str) -> None:
        found = _LINE.match(line)
        if found and found[1] in self.names:
            self._say(plain(line))
