# SPDX-License-Identifier: BSD-2-Clause
"""The list of mutations: what is replaced where, and what that breaks.

An entry of list/*.toml: `in = "core/cap.c: slot_move"`, a file below cluster-kernel/ and a unit of it (source.py);
without a unit, the whole file. A file of the managers or the loader has its whole path: those are tried by their own hosted
tests, and by the booted ones in `seen_by`. `find` is a pattern of tokens that matches once there, `put` what replaces it
(anchor.py). `seen_by` names the tests, or stages (stages.py), that are meant to see the mutation: they are tried first.
`unseen` says why no test that runs everywhere can see it: it is tried without the slow stages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from deploy.base.paths import ROOT
from tests.long.mutations import anchor
from tests.long.mutations.source import Source

LIST = Path(__file__).with_name("list")
KERNEL, MANAGER = Path("cluster-kernel"), Path("cluster-manager")
REQUIRED = {"name", "in", "breaks", "find", "put"}
OPTIONAL = {"seen_by", "unseen"}


class CatalogueError(Exception):
    """The list does not fit the tree; names the mutation."""


@dataclass(frozen=True)
class Mutation:
    area: str
    name: str
    file: Path  # below the root of the tree
    symbol: str  # of a unit of the file; empty: the whole file
    find: str
    put: str
    breaks: str
    seen_by: tuple[str, ...] = ()
    unseen: str = ""
    digest: str = ""  # a verdict is fresh while it stays the same; empty: the mutation does not fit the tree

    @property
    def where(self) -> str:
        return f"{self.short}: {self.symbol}" if self.symbol else self.short

    @property
    def short(self) -> str:
        """The file, as the list names it."""
        return (self.file.relative_to(KERNEL) if self.of_kernel else self.file).as_posix()

    @property
    def of_kernel(self) -> bool:
        return self.file.is_relative_to(KERNEL)

    def place(self, source: Source) -> anchor.Edit:
        try:
            return anchor.place(source, self.symbol, self.find, self.put)
        except anchor.AnchorError as error:
            raise CatalogueError(f"{self.name}: in {self.where}: {error}") from None


def _parse(area: str, entry: dict[str, Any]) -> Mutation:
    if set(entry) - OPTIONAL != REQUIRED:
        name, keys, needed = entry.get("name", "a mutation without a name"), ", ".join(sorted(entry)), ", ".join(sorted(REQUIRED))
        raise CatalogueError(f"{area}: {name}: has {keys}, needs {needed}")
    file, _, symbol = entry["in"].partition(": ")
    path = Path(file)
    return Mutation(area, entry["name"], path if path.is_relative_to(MANAGER) else KERNEL / path, symbol, entry["find"], entry["put"], entry["breaks"],
                    tuple(entry.get("seen_by", ())), entry.get("unseen", ""))


def _once(found: list[Mutation], what: str, key: Callable[[Mutation], object]) -> None:
    first: dict[object, Mutation] = {}
    for mutation in found:
        other = first.setdefault(key(mutation), mutation)
        if other is not mutation:
            raise CatalogueError(f"two mutations have the same {what}: {other.name!r}, {mutation.name!r}")


def _entries() -> list[Mutation]:
    found: list[Mutation] = []
    for path in sorted(LIST.glob("*.toml")):
        try:
            data = tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as error:
            raise CatalogueError(f"{path.name}: {error}") from None
        found += [_parse(path.stem, entry) for entry in data["mutation"]]
    _once(found, "name", lambda m: m.name)
    return found


def _sources(root: Path) -> Callable[[Path], Source]:
    return cache(lambda file: Source.read(root / file))


def load(root: Path = ROOT) -> list[Mutation]:
    """With the digests that they have in the tree at `root`."""
    source, found = _sources(root), []
    for mutation in _entries():
        try:
            found.append(replace(mutation, digest=mutation.place(source(mutation.file)).digest))
        except (CatalogueError, FileNotFoundError):
            found.append(mutation)  # problems() says why
    _once([m for m in found if m.digest], "effect", lambda m: (m.file, m.digest))
    return found


def problems(root: Path) -> list[str]:
    """Mutations that do not fit the tree at `root`, a line each."""
    wrong, source = [], _sources(root)
    for mutation in _entries():
        try:
            if not mutation.place(source(mutation.file)).changes:
                wrong.append(f"{mutation.name}: changes nothing")
        except FileNotFoundError:
            wrong.append(f"{mutation.name}: there is no {mutation.file}")
        except CatalogueError as error:
            wrong.append(str(error))
    return wrong
