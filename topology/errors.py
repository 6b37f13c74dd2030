# SPDX-License-Identifier: BSD-2-Clause
"""The one exception that means: the input is wrong. It is data; the line that a user reads is made of it here alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

KeyPath = tuple[str | int, ...]  # from the outermost in: keys, numbers of list items, names of nodes


@dataclass(frozen=True)
class Place:
    """In a file; line and column count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(eq=False)
class InputError(ValueError):
    """Bad input from the user; commands print its single line on stderr and exit with status 2.

    `problem` says in words what `found` and `expected` alone do not. Whoever handles an error decides by `at`: what it
    is about, in the names of whoever raised it (a parameter, a key of a file, a node of a map and its property).
    """

    culprit: str  # as the user knows it: an option, a key, a node of a map, a program
    problem: str = ""
    at: KeyPath = field(default=(), kw_only=True)
    place: Place | None = field(default=None, kw_only=True)
    expected: str | None = field(default=None, kw_only=True)
    found: str | None = field(default=None, kw_only=True)
    nearest: str | None = field(default=None, kw_only=True)  # what was meant, perhaps
    # the culprit is a node of a map, and `at` the key that it comes from
    of_node: bool = field(default=False, kw_only=True)
    others: int = field(default=0, kw_only=True)  # mistakes beside this one

    def __post_init__(self) -> None:
        self.problem = (self.problem or self._mismatch()).replace("\n", " ")
        self.culprit = self.culprit.replace("\n", " ")

    def _mismatch(self) -> str:
        return f"{self.found} is not {self.expected}"

    def _parts(self) -> Iterator[str]:
        if self.place:
            yield str(self.place).replace("\n", " ")
        if self.culprit:
            yield self.culprit
        near = f"; did you mean {self.nearest}?" if self.nearest else ""
        more = f" (and {self.others} more)" if self.others else ""
        yield f"{self.problem}{near}{more}"

    def __str__(self) -> str:
        return ": ".join(self._parts())

    def to_json(self) -> dict[str, Any]:
        """Returns what is known, for a program."""
        data = {field.name: getattr(self, field.name) for field in fields(self)
                if field.name not in ("place", "others", "of_node")}
        data |= {"file": self.place.file, "line": self.place.line, "column": self.place.column} if self.place else {}
        return {"text": str(self), **{name: value for name, value in data.items() if value not in (None, (), "")}}


class ListError(InputError):
    """A list of the tree (regimes.toml, drivers.toml) is wrong; names the file, the table and the key."""
