# SPDX-License-Identifier: BSD-2-Clause
"""A source file of the kernel as tokens and units: C, assembly with C's preprocessor, linker scripts.

White space and comments are no tokens, and neither are assertions: statements kernel_assert(...); and the like. An
assertion can make a mistake seen, never unseen, so a verdict "caught" stays true when one is added, and a release image
has none. A unit is what a symbol names: in C `function`, `struct tag` or `#define MACRO`
at the top level, in assembly the lines from a label or `.macro` to the next. Each token is in exactly one unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

_TOKEN = re.compile(r"""
    (?P<line>\n)
  | (?P<space>[^\S\n]+|\\\r?\n|/\*.*?\*/|//(?:\\\r?\n|[^\n])*)
  | "(?:\\.|[^"\\\n])*"
  | '(?:\\.|[^'\\\n])+'
  | [A-Za-z_]\w*
  | \.?\d(?:[eEpP][+-]|\w|\.(?!\.))*
  | \.\.\.|<<=|>>=|->|\+\+|--|<<|>>|[<>=!+\-*/%&^|]=|&&|\|\||\#\#
  | .""", re.VERBOSE | re.DOTALL)
OPENING, CLOSING = set("([{"), set(")]}")
_NO_FUNCTION = {"__attribute__", "__typeof__", "typeof", "_Alignas", "_Atomic", "_Static_assert", "asm"}
_TAGGED = {"struct", "union", "enum"}
# cluster-kernel/core/assert.h
ASSERTIONS = {"kernel_assert", "kernel_assert_deep", "assert_held", "assert_entered", "assert_exclusive"}


class Token(NamedTuple):
    text: str  # a directive ends with "\n"
    start: int
    end: int
    directive: bool  # of a preprocessor directive
    first: bool  # on its line


def lex(text: str) -> list[Token]:
    tokens: list[Token] = []
    directive, first = False, True
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "space":
            continue
        if match.lastgroup == "line":
            if directive:
                tokens.append(Token("\n", match.start(), match.end(), True, False))
            directive, first = False, True
            continue
        directive = directive or (first and match.group() == "#")
        tokens.append(Token(match.group(), match.start(), match.end(), directive, first))
        first = False
    if directive:
        tokens.append(Token("\n", len(text), len(text), True, False))
    return tokens


def closing(words: list[str], start: int) -> int:
    """Returns the token behind the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(words)):
        depth += (words[i] in OPENING) - (words[i] in CLOSING)
        if not depth:
            return i + 1
    return len(words)


def without_assertions(tokens: list[Token]) -> list[Token]:
    """Their statements are left out, from the name to the semicolon; a definition of one is a directive, and stays."""
    kept: list[Token] = []
    i = 0
    while i < len(tokens):
        end = _statement_end(tokens, i) if tokens[i].text in ASSERTIONS and not tokens[i].directive else None
        if end is None:
            kept.append(tokens[i])
        i = end or i + 1
    return kept


def _statement_end(tokens: list[Token], start: int) -> int | None:
    """Behind NAME(...); or None where that is not what stands there."""
    depth = 0
    for i in range(start + 1, len(tokens)):
        depth += (tokens[i].text in OPENING) - (tokens[i].text in CLOSING)
        if depth <= 0:
            return i + 2 if tokens[i].text == ")" and tokens[i + 1:i + 2] and tokens[i + 1].text == ";" else None
    return None


@dataclass(frozen=True)
class Unit:
    name: str  # empty: nothing names it
    start: int  # among the tokens
    end: int


@dataclass(frozen=True)
class Source:
    text: str
    assembly: bool = False

    @staticmethod
    def read(path: Path) -> Source:
        return Source(path.read_text(), path.suffix == ".S")

    @cached_property
    def tokens(self) -> list[Token]:
        return without_assertions(lex(self.text))

    @cached_property
    def words(self) -> list[str]:
        return [token.text for token in self.tokens]

    @cached_property
    def units(self) -> list[Unit]:
        return list(_assembly_units(self.tokens) if self.assembly else _c_units(self.tokens))


def _assembly_units(tokens: list[Token]) -> Iterator[Unit]:
    start, name = 0, ""
    for i, token in enumerate(tokens[:-2]):
        label = token.text.isidentifier() and tokens[i + 1].text == ":"
        macro = token.text == "." and tokens[i + 1].text == "macro"
        if token.first and (label or macro):
            if i > start:
                yield Unit(name, start, i)
            start, name = i, token.text if label else tokens[i + 2].text
    if start < len(tokens):
        yield Unit(name, start, len(tokens))


def _c_units(tokens: list[Token]) -> Iterator[Unit]:
    start = 0
    while start < len(tokens):
        end = _directive_end(tokens, start) if tokens[start].directive else _declaration_end(tokens, start)
        yield Unit(_name(tokens, start, end), start, end)
        start = end


def _directive_end(tokens: list[Token], start: int) -> int:
    return next(i for i in range(start, len(tokens)) if tokens[i].text == "\n") + 1


def _declaration_end(tokens: list[Token], start: int) -> int:
    depth, body = 0, False
    for i in range(start, len(tokens)):
        text = tokens[i].text
        if tokens[i].directive:
            continue  # a macro need not have all of its brackets closed
        if text == "{" and depth == 0:
            body = bool(_function(tokens, start, i))
        depth = depth + 1 if text in OPENING else max(0, depth - 1) if text in CLOSING else depth
        if depth == 0 and (text == ";" or (text == "}" and body)):
            return i + 1
    return len(tokens)


def _top(tokens: list[Token], start: int, end: int) -> Iterator[int]:
    """Yields the tokens outside of all brackets; the brackets are among them themselves."""
    depth = 0
    for i in range(start, end):
        if tokens[i].directive:
            continue
        depth -= tokens[i].text in CLOSING
        if depth == 0:
            yield i
        depth += tokens[i].text in OPENING


def _function(tokens: list[Token], start: int, end: int) -> str:
    """The function that these tokens, up to a brace, declare; empty: none."""
    name = ""
    for i in _top(tokens, start, end):
        text = tokens[i].text
        if text == "=":
            return ""
        if not name and i + 1 < end and tokens[i + 1].text == "(" and text.isidentifier() and text not in _NO_FUNCTION:
            name = text
    return name


def _name(tokens: list[Token], start: int, end: int) -> str:
    texts = [token.text for token in tokens[start:end]]
    if tokens[start].directive:
        return " ".join(texts[:3]).replace(" ", "", 1) if texts[1:2] == ["define"] and len(texts) > 3 else ""
    brace = next((i for i in _top(tokens, start, end) if tokens[i].text == "{"), -1)
    if brace < 0:
        return ""
    if function := _function(tokens, start, brace):
        return function
    kind = next((text for text in texts[:brace - start] if text in _TAGGED), "")
    tag = tokens[brace - 1].text
    return f"{kind} {tag}" if kind and tag.isidentifier() and tag != kind else ""
