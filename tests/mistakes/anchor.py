# SPDX-License-Identifier: BSD-2-Clause
"""Finds where a mistake is made: a pattern of tokens that matches once within a unit of a source file."""

import hashlib
from dataclasses import dataclass
from os.path import commonprefix

from tests.mistakes.source import CLOSING, OPENING, Source, lex, without_assertions

# of a pattern: as few tokens as will do, with all their brackets; of a replacement: what the same one of the pattern
# matches
HOLE = "..."


class AnchorError(Exception):
    """The pattern does not fit the source; says how."""


@dataclass(frozen=True)
class Match:
    start: int  # among the source's tokens
    end: int
    holes: tuple[tuple[int, int], ...]


def _hole_end(pattern: list[str], words: list[str], start: int, end: int) -> int | None:
    """Returns where `pattern` stands for the first time behind a hole from `start`."""
    depth = 0
    for i in range(start, end - len(pattern) + 1):
        if depth == 0 and words[i:i + len(pattern)] == pattern:
            return i
        depth += (words[i] in OPENING) - (words[i] in CLOSING)
        if depth < 0:
            break
    return None


def _match(parts: list[list[str]], words: list[str], start: int, end: int) -> Match | None:
    at, holes = start + len(parts[0]), []
    if at > end or words[start:at] != parts[0]:
        return None
    for part in parts[1:]:
        behind = _hole_end(part, words, at, end)
        if behind is None:
            return None
        holes.append((at, behind))
        at = behind + len(part)
    return Match(start, at, tuple(holes))


def _parts(find: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in lex(find):
        if token.text == HOLE:
            parts.append([])
        else:
            parts[-1].append(token.text)
    if not all(parts):
        raise AnchorError(f"its pattern is empty, or has {HOLE} at an end or twice in a row")
    return parts


def _where(source: Source, symbol: str) -> tuple[int, int]:
    if not symbol:
        return 0, len(source.tokens)
    units = [unit for unit in source.units if unit.name == symbol]
    if len(units) != 1:
        raise AnchorError(f"{symbol} is defined {len(units)} times, not once")
    return units[0].start, units[0].end


@dataclass(frozen=True)
class Edit:
    """Tokens `start` to `end` of the source become the text `put`."""

    source: Source
    start: int
    end: int
    put: str

    @property
    def text(self) -> str:
        """The source with the mistake. No token of it is made of two."""
        tokens, text = self.source.tokens, self.source.text
        before, behind = text[:tokens[self.start].start], text[tokens[self.end - 1].end:]
        put = lex(self.put)
        line = "\n" if put and put[-1].text == "\n" else " "  # behind a directive
        return f"{before}{'' if before[-1:].isspace() else ' '}{self.put}{'' if behind[:1] == line else line}{behind}"

    @property
    def changes(self) -> bool:
        return self.source.words[self.start:self.end] != [token.text for token in lex(self.put)]

    @property
    def digest(self) -> str:
        """Returns a digest of the units that change, as they are and as they become: neither comments, assertions nor
        the rest of the file are in it."""
        words = self.source.words
        first, last, put = self._changed()
        units = [unit for unit in self.source.units if unit.end > first
                 and unit.start < max(last, first + 1)] or self.source.units[-1:]
        start, end = units[0].start, units[-1].end
        old, new = words[start:end], words[start:first] + put + words[last:end]
        return hashlib.sha256("\1".join("\0".join(part) for part in (old, new)).encode()).hexdigest()[:16]

    def _changed(self) -> tuple[int, int, list[str]]:
        """Returns what is replaced by what, without the tokens at both ends that stay."""
        old, new = self.source.words[self.start:self.end], [token.text for token in without_assertions(lex(self.put))]
        same = len(commonprefix([old, new]))
        tail = len(commonprefix([old[same:][::-1], new[same:][::-1]]))
        return self.start + same, self.end - tail, new[same:len(new) - tail]


def place(source: Source, symbol: str, find: str, put: str) -> Edit:
    parts = _parts(find)
    start, end = _where(source, symbol)
    matches = [match for i in range(start, end) if source.words[i] == parts[0][0]
               and (match := _match(parts, source.words, i, end))]
    if len(matches) != 1:
        raise AnchorError(f"its pattern is found {len(matches)} times, not once")
    match = matches[0]
    return Edit(source, match.start, match.end, _filled(source, match, put))


def _filled(source: Source, match: Match, put: str) -> str:
    holes = iter(match.holes)
    text, at = "", 0
    for token in lex(put):
        if token.text != HOLE:
            continue
        hole = next(holes, None)
        if hole is None:
            raise AnchorError(f"its replacement has more {HOLE} than its pattern")
        first, behind = hole
        kept = source.text[source.tokens[first].start:source.tokens[behind - 1].end] if behind > first else ""
        text += f"{put[at:token.start]} {kept} "  # no token is made of two
        at = token.end
    return text + put[at:]
