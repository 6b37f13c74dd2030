# SPDX-License-Identifier: BSD-2-Clause
"""The list of mutations: what is replaced where, and what that breaks."""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("list")
KERNEL = Path("cluster-kernel")


class CatalogueError(Exception):
    """The list does not fit the tree; names the mutation."""


@dataclass(frozen=True)
class Mutation:
    area: str
    name: str
    file: Path  # below the root of the tree
    before: str  # occurs once in the file
    after: str
    breaks: str
    unseen: str = ""  # why no test that runs everywhere can see it

    @property
    def digest(self) -> str:
        return hashlib.sha256("\0".join((str(self.file), self.before, self.after)).encode()).hexdigest()[:16]

    def apply(self, text: str) -> str:
        found = text.count(self.before)
        if found != 1:
            raise CatalogueError(f"{self.name}: its source text occurs {found} times in {self.file}, not once")
        return text.replace(self.before, self.after)


def _parse(area: str, entry: dict[str, str]) -> Mutation:
    if set(entry) - {"unseen"} != {"name", "file", "breaks", "before", "after"}:
        raise CatalogueError(f"{area}: {entry.get('name', 'a mutation without a name')}: has {', '.join(sorted(entry))}")
    return Mutation(area, entry["name"], KERNEL / entry["file"], entry["before"], entry["after"], entry["breaks"],
                    entry.get("unseen", ""))


def load() -> list[Mutation]:
    found: list[Mutation] = []
    for path in sorted(LIST.glob("*.toml")):
        try:
            data = tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as error:
            raise CatalogueError(f"{path.name}: {error}") from None
        found += [_parse(path.stem, entry) for entry in data["mutation"]]
    twice = [name for name, count in Counter(m.name for m in found).items() if count > 1]
    if twice:
        raise CatalogueError(f"{twice[0]}: two mutations have this name")
    return found


def problems(root: Path) -> list[str]:
    """Mutations that do not fit the tree at `root`, a line each."""
    wrong = []
    for mutation in load():
        path = root / mutation.file
        try:
            if mutation.apply(path.read_text()) == path.read_text():
                wrong.append(f"{mutation.name}: changes nothing")
        except FileNotFoundError:
            wrong.append(f"{mutation.name}: there is no {mutation.file}")
        except CatalogueError as error:
            wrong.append(str(error))
    return wrong
