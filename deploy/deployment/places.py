# SPDX-License-Identifier: BSD-2-Clause
"""Positions in a TOML file: the line of each key, table and list item.

Values come from the standard library's parser, which keeps no positions; these from tree-sitter's grammar of TOML.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from topology.errors import KeyPath, Place

if TYPE_CHECKING:
    import tree_sitter

Path = KeyPath  # keys and numbers of list items

_KEYS = ("bare_key", "quoted_key", "dotted_key")


@dataclass(frozen=True)
class Places:
    source: str
    lines: Mapping[Path, int] = field(default_factory=dict)  # from 1

    def place(self, path: Path) -> Place:
        """Returns the place of the path, or of the closest thing around it that the file has."""
        near = (path[:length] for length in range(len(path), 0, -1))
        return Place(self.source, next((self.lines[at] for at in near if at in self.lines), None))

    def line(self, path: Path) -> int:
        """To sort by; what is nowhere comes last."""
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 1 << 30)

    def without(self, *path: str) -> Places:
        """Returns the places less those below `path`, whose values no longer come from the file."""
        return replace(self, lines={p: line for p, line in self.lines.items() if p[: len(path)] != path})


def title(path: Path) -> str:
    """`[redis] heap`, `[[program]] cpu`: a key as a reader of the file finds it."""
    table, *rest = path
    words = [str(part) for part in rest if isinstance(part, str)]
    return " ".join(["[[program]]" if table == "program" else f"[{table}]", *words])


@cache
def _parser() -> tree_sitter.Parser:
    import tree_sitter  # only where there is a file to read
    import tree_sitter_toml

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))


def find(text: str, source: str) -> Places:
    """`text` is valid TOML."""
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    prefix: Path = ()
    for node in _parser().parse(text.encode()).root_node.children:
        line = node.start_point.row + 1
        if node.type == "pair":
            _pair(node, (), lines)
        elif node.type in ("table", "table_array_element"):
            prefix = _within(_key(node), counts)
            if node.type == "table_array_element":
                number = counts.get(prefix, 0)
                counts[prefix] = number + 1
                lines.setdefault(prefix, line)
                prefix += (number,)
            _note(prefix, line, lines)
            for child in node.children:
                if child.type == "pair":
                    _pair(child, prefix, lines)
    return Places(source, lines)


def broken(text: str) -> int:
    """The first line of what has no end, as a string without its last quote."""
    node = _parser().parse(text.encode()).root_node
    while deeper := next((child for child in node.children if child.has_error or child.is_missing), None):
        node = deeper
        if node.type == "ERROR":
            break
    lines = text.split("\n")
    if node.type == "ERROR" and node.parent:
        first = node.start_point.row
    else:
        first = max((number for number, line in enumerate(lines) if line.strip()), default=0)
    return first + 1


def _within(keys: list[str], counts: Mapping[Path, int]) -> Path:
    """A header's path; a list of tables on the way means its last item."""
    path: Path = ()
    for number, key in enumerate(keys):
        path += (key,)
        if number < len(keys) - 1 and path in counts:
            path += (counts[path] - 1,)
    return path


def _key(node: tree_sitter.Node) -> list[str]:
    first = next(child for child in node.children if child.type in _KEYS)
    return [_text(part) for part in _parts(first)]


def _parts(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """A dotted key is a tree that leans to the left."""
    if node.type != "dotted_key":
        yield node
        return
    for child in node.children:
        if child.type in _KEYS:
            yield from _parts(child)


def _text(key: tree_sitter.Node) -> str:
    text = (key.text or b"").decode()
    return text if key.type == "bare_key" else next(iter(tomllib.loads(f"{text} = 0")))


def _note(path: Path, line: int, lines: dict[Path, int]) -> None:
    """The path, and the tables that it implies."""
    for length in range(1, len(path) + 1):
        lines.setdefault(path[:length], line)


def _pair(node: tree_sitter.Node, prefix: Path, lines: dict[Path, int]) -> None:
    path = (*prefix, *_key(node))
    _note(path, node.start_point.row + 1, lines)
    _value(node.children[-1], path, lines)


def _value(node: tree_sitter.Node, path: Path, lines: dict[Path, int]) -> None:
    if node.type == "inline_table":
        for child in node.children:
            if child.type == "pair":
                _pair(child, path, lines)
    elif node.type == "array":
        items = [child for child in node.children if child.is_named and child.type != "comment"]
        for number, item in enumerate(items):
            lines.setdefault((*path, number), item.start_point.row + 1)
            _value(item, (*path, number), lines)
