# SPDX-License-Identifier: BSD-2-Clause
"""A machine's console for a reader's terminal: whole, or what programs of the user's write, line by line."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from deploy.deployment.planner import Plan
from deploy.machine.console_lines import MARKS, SEAL_LETTERS, By, ConsoleLines, Line
from deploy.machine.crashes import plain

_LINE = re.compile(r"\[([^\]\s]{1,31})\] (.*)")
CONTROL = re.compile(rf"\x1b\[[0-?]*[ -/]*[@-~]|[{MARKS}{SEAL_LETTERS}]")  # ECMA-48, 5.4; marks and seals of lines
_BEGUN = re.compile(r"\x1b(\[[0-?]*[ -/]*)?\Z")
_LONGEST = 32  # a control sequence that is longer is none


class ConsoleText:
    """`feed` is for pieces of the console as they come; `show` gets what a terminal prints, not what it obeys: GRUB
    clears the screen, and with it what the command has said."""

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
        self._say, self._lines = say, ConsoleLines()

    def feed(self, text: str) -> None:
        self._show(self._lines.feed(text))

    def end(self) -> None:
        """At the machine's end a line may lack its end."""
        self._show(self._lines.end())

    def _show(self, lines: Iterable[Line]) -> None:
        for line in lines:
            match = _LINE.match(line.text)
            if line.by == By.ANYBODY and match and match[1] in self.names:
                self._say(plain(line.text))
