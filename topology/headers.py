# SPDX-License-Identifier: BSD-2-Clause
"""Constants and layouts from the C headers, which alone have them: enumerators, and structures of words of 64 bits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL, LIBRARY = Path("cluster-kernel/include/skerry"), Path("lib/include/skerry")
WORD = 8


class HeaderError(Exception):
    """A header that is not as this module can read it: a mistake in the tree, not of the user."""


@cache
def _text(header: Path) -> str:
    """Returns the header without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", " ", (ROOT / header).read_text(), flags=re.DOTALL)
    return re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)


@cache
def enumerators(header: Path) -> Mapping[str, int]:
    """All of a header's, by name."""
    values: dict[str, int] = {}
    for body in re.findall(r"\benum\b\s*\w*\s*\{([^}]*)\}", _text(header)):
        value = -1
        for part in filter(None, (part.strip() for part in body.split(","))):
            name, _, expression = (word.strip() for word in part.partition("="))
            value = _value(header, expression, values) if expression else value + 1
            values[name] = value
    return values


def _value(header: Path, expression: str, known: Mapping[str, int]) -> int:
    """Sums, products and shifts of numbers and of enumerators before."""
    words = re.findall(r"\w+|<<|>>|[-+*()]", expression)
    try:
        python = " ".join(
            word if re.fullmatch(r"<<|>>|[-+*()]", word) else str(_number(word) if word[0].isdecimal() else known[word])
            for word in words
        )
        return int(eval(python, {"__builtins__": {}}))  # of numbers and operators alone
    except (KeyError, SyntaxError, ValueError) as error:
        raise HeaderError(f"{header}: '{expression}' is not a sum of numbers and enumerators before it") from error


@cache
def macro(header: Path, name: str) -> int:
    """The number that a header defines a name as."""
    match = re.search(rf"^#define {name}\s+(\d\w*)", (ROOT / header).read_text(), re.MULTILINE)
    if not match:
        raise HeaderError(f"{header}: no number {name}")
    return _number(match[1])


@cache
def _known(header: Path) -> Mapping[str, int]:
    """The enumerators of a header and of those of its folder that it includes."""
    beside = (header.parent / name for name in re.findall(r"#include <skerry/([\w.]+)>", (ROOT / header).read_text()))
    included = [enumerators(path) for path in beside if (ROOT / path).exists()]
    return {name: value for values in (*included, enumerators(header)) for name, value in values.items()}


@cache
def offset(header: Path, struct: str, name: str) -> int:
    """Bytes from a structure's beginning to a field before which there are integers and arrays of them alone."""
    at = 0
    for declaration in _declarations(header, struct):
        parts = re.fullmatch(r"(?:_Alignas\((\d+)\) )?(?:_Atomic )?u?int(8|16|32|64)_t\s+(.*)", declaration, re.DOTALL)
        if not parts:
            raise HeaderError(f"{header}: struct {struct}: '{declaration}' is no field of integers")
        size = int(parts[2]) // 8
        align = max(int(parts[1] or 0), size)
        at = (at + align - 1) // align * align
        for field, length in re.findall(r"(\w+)(?:\[(.*?)\])?(?:,|$)", parts[3]):
            if field == name:
                return at
            at += size * (_value(header, length, _known(header)) if length else 1)
    raise HeaderError(f"{header}: struct {struct} has no field {name}")


def _declarations(header: Path, struct: str) -> list[str]:
    match = re.search(rf"\bstruct {struct}\s*\{{(.*?)^\}}", _text(header), re.DOTALL | re.MULTILINE)
    if not match:
        raise HeaderError(f"{header}: no struct {struct}")
    return [part.strip() for part in match[1].split(";") if part.strip()]


def _number(word: str) -> int:
    """Reads a number of C: hexadecimal, octal or decimal, with or without a suffix of its type."""
    digits = re.sub(r"(?i)(?<=[0-9a-f])(?:u?l{0,2}|l{0,2}u)$", "", word)
    return int(digits, 8) if re.fullmatch(r"0\d+", digits) else int(digits, 0)


def constant(header: Path, name: str) -> int:
    try:
        return enumerators(header)[name]
    except KeyError:
        raise HeaderError(f"{header}: no enumerator {name}") from None


def members(header: Path, enum: str) -> list[str]:
    """The enumerators of one enumeration, in their order."""
    match = re.search(rf"\benum {enum}\s*\{{([^}}]*)\}}", _text(header))
    if not match:
        raise HeaderError(f"{header}: no enum {enum}")
    return [part.partition("=")[0].strip() for part in match[1].split(",") if part.strip()]


@dataclass(frozen=True)
class Field:
    """Field of a structure: its offset, in words, its number of elements, and the words of each."""

    at: int
    count: int
    words: int
    array: bool
    type: str  # as declared: of a structure its name
    comment: str  # behind it, in the same line


@cache
def _types(header: Path) -> frozenset[str]:
    """Names of types of 64-bit integers: C's own, and the header's."""
    return frozenset({"uint64_t", "int64_t", *re.findall(r"\btypedef u?int64_t (\w+);", _text(header))})


@cache
def _comments(header: Path) -> Mapping[str, str]:
    """Maps each field, as "lock_stat.acquisitions", to the comment behind its declaration."""
    comments: dict[str, str] = {}
    struct = ""
    for line in (ROOT / header).read_text().splitlines():
        if begun := re.match(r"struct (\w+) \{", line):
            struct = begun[1]
        if declared := re.match(r"\t[^(]*?(\w+)(?:\[\w+\])?;\s*/\* (.*?) \*/$", line):
            comments[f"{struct}.{declared[1]}"] = declared[2]
    return comments


@cache
def layout(header: Path, struct: str) -> Mapping[str, Field]:
    """The fields of a structure that consists of words and of such structures."""
    fields: dict[str, Field] = {}
    at = 0
    for declaration in _declarations(header, struct):
        parsed = re.fullmatch(r"(?:_Atomic )?(?:struct (\w+)|(\w+))\s+(.*)", declaration, re.DOTALL)
        if not parsed or not parsed[1] and parsed[2] not in _types(header):
            raise HeaderError(f"{header}: struct {struct}: '{declaration}' is no field of 64-bit words")
        words = size(header, parsed[1]) if parsed[1] else 1
        for name, length in re.findall(r"(\w+)(?:\[(.*?)\])?(?:,|$)", parsed[3]):
            count = _value(header, length, _known(header)) if length else 1
            fields[name] = Field(at, count, words, bool(length), parsed[1] or parsed[2],
                                 _comments(header).get(f"{struct}.{name}", ""))
            at += count * words
    return fields


def size(header: Path, struct: str) -> int:
    """In words."""
    return max(field.at + field.count * field.words for field in layout(header, struct).values())
