# SPDX-License-Identifier: BSD-2-Clause
"""Lines of a console, each with its writer as far as no program could have written it: what readers on the host
believe.

A line of a program has its name in front, and its control characters are replaced
(cluster-manager/root/output/console.c). What managers and kernels say for themselves begins with their mark and ends
with its seal, a digest of all of it. Several write to one port: a line may stand within another one, whose rest would
else look like a line of its own, and a program's bytes may come between the mark and the end of a manager's line, which
has no valid seal then.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum


class By(Enum):
    """A line's writer, and the mark that it begins with: CONSOLE_MANAGER and CONSOLE_KERNEL of skerry/console.h."""

    ANYBODY = ""  # a program, the loader, firmware; and several in one line
    MANAGER = "\x01"
    KERNEL = "\x02"


MARKS = By.MANAGER.value + By.KERNEL.value
SEAL_LETTERS = "\x10\x12\x14\x15\x16\x17\x19\x1f"  # of skerry/seal.h: three bits each
_SEAL_BYTES = 12
_SEALED = re.compile(rf"([^{SEAL_LETTERS}]*)([{SEAL_LETTERS}]{{{_SEAL_BYTES * 8 // 3}}})\r*")
_UNSEALED = str.maketrans("", "", SEAL_LETTERS)
_CUT = re.compile(f"([{MARKS}\n])")
_PIECE = 1 << 22  # characters
_DEPTH = 8  # lines within each other; programs add none


@dataclass(frozen=True)
class Line:
    by: By
    text: str  # without its mark, its seal and its end
    number: int = 0  # of the file's line in which it ends, from 1 on
    whole: bool = True  # it has its end, and no line within it may have taken some of its bytes


def seal(line: str) -> str:
    """Returns the seal of a line of a manager or a kernel; `line` begins with its mark."""
    digest = int.from_bytes(hashlib.blake2s(line.encode(errors="replace"), digest_size=_SEAL_BYTES).digest(), "little")
    return "".join(SEAL_LETTERS[digest >> bit & 7] for bit in range(0, _SEAL_BYTES * 8, 3))


@dataclass
class _Open:
    by: By = By.ANYBODY
    text: str = ""
    whole: bool = True

    def line(self, number: int) -> Line:
        """A line whose seal is not that of its text is taken for anybody's."""
        if self.by != By.ANYBODY and (parts := _SEALED.fullmatch(self.text)) and seal(self.by.value
            + parts[1]) == parts[2]:
            return Line(self.by, parts[1], number)
        return Line(By.ANYBODY, self.text.translate(_UNSEALED).rstrip("\r"), number, self.whole)


class ConsoleLines:
    """`feed` is for pieces of the console as they come. Ends of lines are \\n alone: a program writes other
    separators."""

    def __init__(self) -> None:
        self._open = [_Open()]
        self._number = 1

    def feed(self, text: str) -> Iterator[Line]:
        """The lines that have ended."""
        for part in _CUT.split(text):
            last = self._open[-1]
            if part == "\n":
                line = last.line(self._number)
                yield line
                self._number += 1
                self._open.pop()
                if not self._open:
                    self._open.append(_Open())
                elif line.by != last.by:  # it has bytes of another writer's, which may be those of the line around it
                    self._open[-1].whole = False
            elif part and part in MARKS:
                self._begin(By(part))
            else:
                last.text += part

    def _begin(self, by: By) -> None:
        """Begins a writer's line. Of writers that were cut off, the outermost is given up."""
        if not self._open[-1].text and self._open[-1].by == By.ANYBODY:
            self._open.pop()
        elif len(self._open) == _DEPTH:
            del self._open[0]
        self._open.append(_Open(by))

    def end(self) -> Iterator[Line]:
        """Yields the lines without an end when the machine has stopped, innermost first."""
        yield from (replace(line.line(self._number), whole=False) for line in reversed(self._open)
                    if line.text or line.by != By.ANYBODY)
        self._open = [_Open()]


def lines(console: str) -> Iterator[Line]:
    """All of a console's text, in pieces: cut into lines it takes many times its size."""
    reader = ConsoleLines()
    for at in range(0, len(console), _PIECE):
        yield from reader.feed(console[at : at + _PIECE])
    yield from reader.end()


def lines_by(writer: By, console: str) -> list[str]:
    """Lists the whole lines of this kind of writer."""
    return [line.text for line in ConsoleLines().feed(console) if line.by == writer]
