# SPDX-License-Identifier: BSD-2-Clause
"""What a machine writes to its console: all of it, or what programs of the user's write, line by line."""

import re
from collections.abc import Callable
from pathlib import Path

from deploy.deaths import plain
from deploy.expand import Plan

CONTROL = r"\x1b\[[0-9;=?]*[A-Za-z]"  # firmware and GRUB clear the screen
_BEGUN = re.compile(r"\x1b(\[[0-9;=?]{0,32})?\Z")
_LINE = re.compile(r"\[([^\]\s]{1,31})\] (.*)")


class ConsoleText:
    """`feed` is for pieces of the console as they come; all goes to `say` but what controls a terminal."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._rest = say, ""

    def feed(self, text: str) -> None:
        text = re.sub(CONTROL, "", self._rest + text)
        begun = _BEGUN.search(text)
        self._rest = begun[0] if begun else ""
        self._say(text[:begun.start()] if begun else text)


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
