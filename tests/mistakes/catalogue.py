# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue of mistakes: what is changed where, and the test that must see it.

A file of list/ has a section for each source file, `[net/lwip/opening.c]`. Below it `seen by TEST` names the test for
all mistakes that follow. A mistake is its name, perhaps ` | ` and the promise that it breaks, and below it, indented by
four blanks:

- `FUNCTION:: OLD => NEW`, its changes: tokens that stand once in the function, and those that take their place
(anchor.py).
  In the function's place may be `struct TAG`, `#define MACRO`, a label of assembly (source.py), or nothing: the whole
  file. `[FILE] ` in front of it names another file. ⏎ is the end of a line behind a directive.
- `seen by TEST`, where another one is meant to see it; several with `; ` between them. `seen by TEST | WORDS` runs it
with
  these arguments, `seen by TEST | CASE | FINDS` is one case of the explorer, which must say FINDS. Without a test's
  name, that of the section. A test has the name that its meson.build gives it, or is a stage (stages.py).
- `unseen: REASON`, where no test that runs everywhere can see it.
- `argued: REASON`, where it is no mistake but a weaker memory order (orders.py) that would do as well, or of which
  no test can depend. It is never tried.

A line that is indented by eight blanks goes on with the one before; one that begins with # is a comment.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from deploy.base.paths import ROOT
from tests.mistakes import anchor
from tests.mistakes.source import Source

LIST = Path(__file__).with_name("list")
KERNEL, MANAGER = Path("cluster-kernel"), Path("cluster-manager")
SEEN, UNSEEN, ARGUED, UNIT, BECOMES, BAR = "seen by ", "unseen: ", "argued: ", ":: ", "=>", " | "
INDENT = "    "
LINE_END = "⏎"  # in a change: the end of a line, where it matters


class CatalogueError(Exception):
    """The catalogue does not fit the tree; names the mistake."""


@dataclass(frozen=True)
class Change:
    file: Path  # below the root of the tree
    symbol: str  # a unit of the file; empty: the whole file
    find: str
    put: str

    @property
    def where(self) -> str:
        return f"{short(self.file)}: {self.symbol}" if self.symbol else short(self.file)


@dataclass(frozen=True)
class Seen:
    """A test that is meant to see a mistake, or a stage of tests."""

    test: str
    words: str = ""  # in place of the test's own arguments
    finds: str | None = None  # the explorer must say this; `words` is one of its cases

    def command(self, own: list[str]) -> list[str]:
        """Returns how the test is run that has this command of its own."""
        if self.finds is not None:
            return [*self.sound(own), "--finds", self.finds]
        return [own[0], *shlex.split(self.words)] if self.words else own

    def sound(self, own: list[str]) -> list[str]:
        """Returns how it is run without a mistake: the explorer, its one case, and no other left out."""
        if self.finds is None:
            return self.command(own)
        options = [pair for pair in zip(own[1::2], own[2::2], strict=False) if pair[0].startswith("--")
                   and pair[0] != "--without"]
        return [own[0], *(word for pair in options for word in pair), self.words]

    def __str__(self) -> str:
        return BAR.join([self.test, *([self.words] if self.words or self.finds is not None else []),
                         *([] if self.finds is None else [self.finds])]).rstrip()  # fmt: skip


@dataclass(frozen=True)
class Mistake:
    area: str  # the file of the list
    name: str
    changes: tuple[Change, ...]
    breaks: str = ""  # the promise that it breaks
    seen_by: tuple[Seen, ...] = ()
    unseen: str = ""  # why no test that runs everywhere can see it
    argued: str = ""  # why it is no mistake
    digest: str = ""  # a verdict is fresh while it stays the same; empty: the mistake does not fit the tree

    @property
    def file(self) -> Path:
        return self.changes[0].file

    @property
    def where(self) -> str:
        return self.changes[0].where

    @property
    def short(self) -> str:
        return short(self.file)

    @property
    def of_kernel(self) -> bool:
        return self.file.is_relative_to(KERNEL)

    @property
    def explored(self) -> bool:
        """Whether the explorer is meant to find it."""
        return any(seen.finds is not None for seen in self.seen_by)

    @property
    def tests(self) -> list[str]:
        """Lists the tests that are meant to see it, or stages of tests."""
        return [seen.test for seen in self.seen_by]

    @property
    def key(self) -> str:
        """Its name, which others in other files of the list may have, too."""
        return f"{self.area}: {self.name}"

    @property
    def strict(self) -> bool:
        """Whether each test that is meant to see it must read what it changes."""
        return True

    def place(self, source: Callable[[Path], Source]) -> Placed:
        texts: dict[Path, Source] = {}
        digests, changes = [], True
        for change in self.changes:
            try:
                edit = anchor.place(texts.get(change.file) or source(change.file), change.symbol, change.find,
                                    change.put)
            except anchor.AnchorError as error:
                raise CatalogueError(f"{self.name}: in {change.where}: {error}") from None
            texts[change.file] = replace(edit.source, text=edit.text)
            digests.append(edit.digest)
            changes = changes and edit.changes
        whole = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()[:16]
        return Placed({file: made.text for file, made in texts.items()}, whole, changes)


@dataclass(frozen=True)
class Placed:
    """A mistake in the sources of a tree."""

    texts: Mapping[Path, str]
    digest: str
    changes: bool


def short(file: Path) -> str:
    return (file.relative_to(KERNEL) if file.is_relative_to(KERNEL) else file).as_posix()


def _seen(text: str, before: tuple[Seen, ...]) -> tuple[Seen, ...]:
    """Reads the tests that must see a mistake; a part without a test's name means the one that was named before."""
    seen = []
    for part in text.split("; "):
        test, *rest = re.split(r"(?:^|(?<=\s))\|(?=\s|$)", part)
        if not test.strip() and not before:
            raise CatalogueError(f"no test is named before '{part}'")
        words, finds = (rest + ["", ""])[0].strip(), rest[1].strip() if len(rest) > 1 else None
        seen.append(Seen(test.strip() or before[0].test, words, finds))
    return tuple(seen)


def _change(text: str, file: Path | None) -> Change:
    if other := re.match(r"\[(\S+)\] (?=\S*:: )", text):
        file, text = Path(other[1]), text[other.end():]
    unit, colons, rest = text.partition(UNIT)
    old, arrow, new = re.split(rf"(?<!\S)({BECOMES})(?!\S)", f"{rest} ", maxsplit=1) if BECOMES in rest else (rest, "",
        "")
    if not colons or not arrow or not file:
        raise CatalogueError(f"'{text}' is no change, as in 'FUNCTION{UNIT}OLD {BECOMES} NEW', below a [FILE]")
    return Change(file, unit.strip(), *(part.strip().replace(LINE_END, "\n") for part in (old, new)))


def _lines(text: str) -> Iterator[str]:
    """Yields lines without comments; a line that is indented twice goes on with the one before."""
    whole = ""
    for line in text.splitlines():
        if line.startswith(2 * INDENT) and whole:
            whole += " " + line.strip()
            continue
        if whole:
            yield whole
        whole = line.rstrip() if line.strip() and not line.startswith("#") else ""
    if whole:
        yield whole


def _entries(area: str, text: str) -> Iterator[Mistake]:
    file: Path | None = None
    seen: tuple[Seen, ...] = ()
    mistake: Mistake | None = None
    for line in _lines(text):
        if line.startswith(INDENT):
            if not mistake:
                raise CatalogueError(f"{area}: '{line.strip()}' belongs to no mistake")
            try:
                mistake = _with(mistake, line.strip(), file)
            except CatalogueError as error:
                raise CatalogueError(f"{area}: {mistake.name}: {error}") from None
            continue
        if mistake:
            yield mistake
            mistake = None
        if line.startswith("[") and line.endswith("]"):
            file, seen = Path(line[1:-1]), ()
        elif line.startswith(SEEN):
            seen = _seen(line.removeprefix(SEEN), ())
        else:
            name, _, breaks = line.partition(BAR)
            mistake = Mistake(area, name, (), breaks, seen)
    if mistake:
        yield mistake


def _with(mistake: Mistake, line: str, file: Path | None) -> Mistake:
    if line.startswith(SEEN):
        return replace(mistake, seen_by=_seen(line.removeprefix(SEEN), mistake.seen_by))
    if line.startswith(UNSEEN):
        return replace(mistake, unseen=line.removeprefix(UNSEEN))
    if line.startswith(ARGUED):
        return replace(mistake, argued=line.removeprefix(ARGUED), seen_by=())
    return replace(mistake, changes=(*mistake.changes, _change(line, file)))


def _once(every: list[Mistake], what: str, key: Callable[[Mistake], object]) -> None:
    first: dict[object, Mistake] = {}
    for mistake in every:
        other = first.setdefault(key(mistake), mistake)
        if other is not mistake:
            raise CatalogueError(f"two mistakes have the same {what}: {other.key!r}, {mistake.key!r}")


def _all() -> list[Mistake]:
    every = [mistake for path in sorted(LIST.glob("*.txt")) for mistake in _entries(path.stem, path.read_text())]
    for mistake in every:
        if not mistake.changes:
            raise CatalogueError(f"{mistake.area}: {mistake.name}: has no change")
    _once(every, "name", lambda m: m.key)
    return every


def sources(root: Path = ROOT) -> Callable[[Path], Source]:
    return cache(lambda file: Source.read(root / file))


def load(root: Path = ROOT) -> list[Mistake]:
    """All mistakes, with the digests that they have in the tree at `root`."""
    source, every = sources(root), []
    for mistake in _all():
        try:
            every.append(replace(mistake, digest=mistake.place(source).digest))
        except (CatalogueError, FileNotFoundError):
            every.append(mistake)  # problems() says why
    _once([m for m in every if m.digest], "effect", lambda m: (m.file, m.digest, m.seen_by))
    return every


def problems(root: Path) -> list[str]:
    """Mistakes that do not fit the tree at `root`, a line each."""
    wrong, source = [], sources(root)
    for mistake in _all():
        try:
            if not mistake.place(source).changes:
                wrong.append(f"{mistake.name}: changes nothing")
        except FileNotFoundError as error:
            wrong.append(f"{mistake.name}: there is no {Path(error.filename).relative_to(root)}")
        except CatalogueError as error:
            wrong.append(str(error))
    return wrong
