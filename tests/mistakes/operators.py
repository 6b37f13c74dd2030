# SPDX-License-Identifier: BSD-2-Clause
"""Generates mutants of the kernel and its managers by operator, and draws some evenly by file and operator.

A mutant is one small change within the body of a function (DeMillo, Lipton and Sayward, Computer 11(4), 1978; the
operators are among those of Agrawal et al., Design of Mutant Operators for the C Programming Language, 1989).
`python -m tests.mistakes.operators` counts and prints them; it tries none. Tokens are those of source.py: assertions,
comments and directives are never changed. A mutant need not compile, and need not change what the program does.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.base.paths import ROOT
from tests.mistakes import orders
from tests.mistakes.anchor import Edit
from tests.mistakes.source import CLOSING, OPENING, Source, Unit, closing

FOLDERS = tuple(map(Path, ("cluster-kernel/core", "cluster-kernel/lock", "cluster-kernel/arch-x86_64", "lib",
                           "cluster-manager")))
OTHERS = Path("cluster-kernel/core/check")  # what the kernel asserts of itself

# operators
RELATION, CONNECTIVE, ARITHMETIC, BITS = "relation", "connective", "arithmetic", "bits"
CONSTANT, CONDITION, CALL, ASSIGNMENT, RESULT, JUMP = "constant", "condition", "call", "assignment", "result", "jump"

_SWAPS = {RELATION: {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
          CONNECTIVE: {"&&": "||", "||": "&&"},
          ARITHMETIC: {"+": "-", "-": "+"},
          BITS: {"&": "|", "|": "&", "<<": ">>", ">>": "<<"},
          JUMP: {"break": "continue", "continue": "break"}}
_ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*$")
_NAME = re.compile(r"[A-Za-z_]\w*$")
_KEYWORDS = {"return", "sizeof", "case", "else", "do", "goto", "if", "while", "for", "switch"}
_ASSERTED = {"_Static_assert", "static_assert"}
_STARTS = {";", "{", "}", "else"}  # behind which a statement begins


@dataclass(frozen=True)
class Mutant:
    """One change by an operator."""

    file: Path      # below the root of the tree
    function: str   # the unit of the file that it stands in
    operator: str
    old: str
    edit: Edit

    @property
    def name(self) -> str:
        """Its line of the file, and what becomes what there."""
        line = self.edit.source.text.count("\n", 0, self.edit.source.tokens[self.edit.start].start) + 1
        return f"{self.file}:{line}: {self.function}: {self.operator}: {self.old} => {self.edit.put or 'nothing'}"


def files(root: Path = ROOT) -> list[Path]:
    """Lists the sources that are mutated, below the root."""
    return [file for file in orders.files(root)
            if any(map(file.is_relative_to, FOLDERS)) and not file.is_relative_to(OTHERS)]


def generate(source: Callable[[Path], Source], root: Path = ROOT) -> Iterator[Mutant]:
    """Yields all mutants, in the order of files and places."""
    for file in files(root):
        yield from of(file, source(file))


def of(file: Path, source: Source) -> Iterator[Mutant]:
    """Yields the mutants of a file."""
    for unit in source.units:
        for operator, start, end, put in _changes(source, unit):
            yield Mutant(file, unit.name, operator, " ".join(source.words[start:end]), Edit(source, start, end, put))


def draw(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draws so many, or all there are: of each file and operator one, then of each that has more a second one, and so
    on."""
    cells: dict[tuple[Path, str], list[Mutant]] = {}
    for mutant in mutants:
        cells.setdefault((mutant.file, mutant.operator), []).append(mutant)
    chance = random.Random(seed)
    for cell in cells.values():
        chance.shuffle(cell)
    drawn: list[Mutant] = []
    while cells and len(drawn) < count:
        left = list(cells)
        chance.shuffle(left)
        for key in left[:count - len(drawn)]:
            drawn.append(cells[key].pop())
            if not cells[key]:
                del cells[key]
    return drawn


def _changes(source: Source, unit: Unit) -> Iterator[tuple[str, int, int, str]]:
    """Yields operator, first token, token behind the last, and what takes their place, within the body."""
    words, start = source.words, _body(source, unit)
    skipped = start
    for i in range(start, unit.end - 1):
        if words[i] in _ASSERTED:
            skipped = closing(words, i + 1)
        if i < skipped or source.tokens[i].directive:
            continue
        for operator, swaps in _SWAPS.items():
            if words[i] in swaps and (operator not in (ARITHMETIC, BITS) or _binary(words, i)):
                yield operator, i, i + 1, swaps[words[i]]
        if _NUMBER.match(words[i]):
            yield CONSTANT, i, i + 1, f"({words[i]} + 1)"
        if words[i] in ("if", "while") and words[i + 1] == "(":
            end = closing(words, i + 1)
            yield CONDITION, i + 1, end, f"(!{_text(source, i + 1, end)})"
        if words[i] == "return" and words[i + 1] != ";":
            end = _semicolon(words, i, unit.end)
            yield RESULT, i + 1, end, f"!({_text(source, i + 1, end)})"
        if words[i - 1] in _STARTS:
            yield from _dropped(words, i, unit.end)


def _dropped(words: list[str], start: int, limit: int) -> Iterator[tuple[str, int, int, str]]:
    """Yields the statement from `start` left out, if it is a call or an assignment and declares nothing."""
    end = _semicolon(words, start, limit)
    if words[start] in _KEYWORDS or not (_NAME.match(words[start]) or words[start] == "*"):
        return
    if words[start + 1] == "(" and closing(words, start + 1) == end:
        yield CALL, start, end, ""
        return
    depth = 0
    for i in range(start, end):
        depth += (words[i] in OPENING) - (words[i] in CLOSING)
        if depth == 0 and words[i] in _ASSIGNS:
            target = words[start:i]
            pairs = zip(target, target[1:], strict=False)
            if not any(_NAME.match(one) and (_NAME.match(two) or two == "*") for one, two in pairs):
                yield ASSIGNMENT, start, end, ""
            return


def _body(source: Source, unit: Unit) -> int:
    """Returns the token behind the brace that opens the function; the unit's end where it is none."""
    depth = 0
    if not unit.name or " " in unit.name or source.tokens[unit.start].directive or source.assembly:
        return unit.end
    for i in range(unit.start, unit.end):
        if source.words[i] == "{" and depth == 0:
            return i + 1
        depth += (source.words[i] in OPENING) - (source.words[i] in CLOSING)
    return unit.end


def _binary(words: list[str], i: int) -> bool:
    before = words[i - 1]
    return before in (")", "]") or (bool(re.match(r"\w", before)) and before not in _KEYWORDS)


def _semicolon(words: list[str], start: int, limit: int) -> int:
    """Returns the semicolon that ends the statement, or `limit`."""
    depth = 0
    for i in range(start, limit):
        depth += (words[i] in OPENING) - (words[i] in CLOSING)
        if depth <= 0 and words[i] == ";":
            return i
    return limit


def _text(source: Source, start: int, end: int) -> str:
    return source.text[source.tokens[start].start:source.tokens[end - 1].end]


def main() -> int:
    """Prints how many there are, or those that a seed draws. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mistakes.operators", description=main.__doc__)
    parser.add_argument("--draw", metavar="N", type=int, help="print N, drawn evenly by file and operator")
    parser.add_argument("--seed", metavar="N", type=int, help="of the draw; else any")
    options = parser.parse_args()
    if options.draw is not None and options.draw < 1:
        parser.error("--draw is a number above 0")
    every = list(generate(lambda file: Source.read(ROOT / file)))
    if options.draw is None:
        for what, number in sorted(Counter(mutant.operator for mutant in every).items()):
            print(f"{what}: {number}")
        print(f"{len(every)} mutants of {len({mutant.file for mutant in every})} files")
        return 0
    seed = random.SystemRandom().randrange(1 << 31) if options.seed is None else options.seed
    print(f"seed {seed}")
    for mutant in draw(every, options.draw, seed):
        print(" ".join(mutant.name.split()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
