# SPDX-License-Identifier: BSD-2-Clause
"""Generates each one-step weakening of a memory order in the sources that ship: mistakes that need an answer in list/.

An atomic access states its order by name, as the last of its arguments, or is sequentially consistent as it names none
(C11, 7.17). One step weaker (RC11: Lahav et al., PLDI 2017) is: of seq_cst the strongest of the others that the
operation may have, of acq_rel either half, of acquire and release relaxed. A compare-exchange has two orders, and the
one of its failure is weakened with that of its success where it would be the stronger one. A fence is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.base.paths import ROOT
from tests.mistakes.anchor import Edit
from tests.mistakes.source import CLOSING, OPENING, Source, Unit, closing

# Folders of C that ends in an image, and those below them that do not.
FOLDERS = ("cluster-kernel", "lib", "net", "cluster-manager", "apps/libc")
OTHERS = {"test", "bench", "arch-hosted"}
_HOST = re.compile(r"^(test|fuzz|bench)-|-(host|linux)\.c$")

RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST = "relaxed", "acquire", "release", "acq_rel", "seq_cst"
_C11 = re.compile(r"memory_order_(\w+)$")
_BUILTIN = re.compile(r"__ATOMIC_(\w+)$")
_IMPLICIT = re.compile(r"atomic_(load|store|exchange|fetch_\w+?|compare_exchange_(?:strong|weak)|flag_\w+)$")


@dataclass(frozen=True)
class Weakening:
    """One order that is one step weaker than it stands."""

    file: Path      # below the root of the tree
    function: str   # the unit of the file that it stands in
    access: str     # the call, as it stands
    steps: str      # as `acq_rel -> acquire`
    edit: Edit

    @property
    def name(self) -> str:
        return f"{self.file}: {self.function}: {self.access}: {self.steps}"


@dataclass(frozen=True)
class _Access:
    name: int             # the token that is the called function
    end: int              # behind its closing bracket
    orders: list[int]     # tokens that name its orders: of success, then of failure


def files(root: Path = ROOT) -> list[Path]:
    """Lists the sources that ship, below the root."""
    return sorted(path.relative_to(root) for folder in FOLDERS for path in (root / folder).rglob("*.[ch]")
                  if not OTHERS & set(path.relative_to(root).parts) and not _HOST.search(path.name))


def generate(source: Callable[[Path], Source], root: Path = ROOT) -> Iterator[Weakening]:
    """Yields all weakenings, in the order of files and places."""
    for file in files(root):
        if "atomic" in (root / file).read_text().lower():
            yield from of(file, source(file))


def is_strong(word: str) -> bool:
    """Whether the token names an order that is stronger than relaxed."""
    return _order(word) in (ACQUIRE, RELEASE, ACQ_REL, SEQ_CST, "consume")


def accesses(source: Source) -> Iterator[list[str]]:
    """Yields the tokens of each atomic access that the generator finds."""
    for unit in source.units:
        for access in _accesses(source, unit):
            yield source.words[access.name:access.end]


def of(file: Path, source: Source) -> Iterator[Weakening]:
    """Yields the weakenings of a file."""
    for unit in source.units:
        for access in _accesses(source, unit):
            words = source.words
            called = " ".join(words[access.name:access.end])
            if "fence" in words[access.name]:
                yield Weakening(file, unit.name, called, "dropped", Edit(source, access.name, access.end + 1, ""))
                continue
            start, end = (access.orders[0], access.orders[-1] + 1) if access.orders else (access.name, access.end)
            for put, steps in _weaker(source, access):
                yield Weakening(file, unit.name, called, steps, Edit(source, start, end, put))


def _accesses(source: Source, unit: Unit) -> Iterator[_Access]:
    words = source.words
    for i in range(unit.start, unit.end - 1):
        if words[i + 1] != "(" or "atomic" not in words[i]:
            continue
        end = closing(words, i + 1)
        orders = [at for at in range(i + 2, end) if _order(words[at]) and _depth(words, i + 2, at) == 0]
        if orders or (_IMPLICIT.match(words[i]) and words[i - 1] != "define"):
            yield _Access(i, end, orders)


def _depth(words: list[str], start: int, end: int) -> int:
    return sum((word in OPENING) - (word in CLOSING) for word in words[start:end])


def _order(word: str) -> str:
    match = _C11.match(word) or _BUILTIN.match(word)
    return match[1].lower() if match else ""


def _weaker(source: Source, access: _Access) -> Iterator[tuple[str, str]]:
    """Yields what takes the place of the orders, or of the whole access where it names none, and how that is called."""
    words = source.words
    called = words[access.name]
    if not access.orders:
        yield from _explicit(source, access)
        return
    spelt = [words[at] for at in access.orders]
    orders = [_order(word) for word in spelt]
    prefix = spelt[0][:-len(orders[0])]
    for i, order in enumerate(orders):
        for weaker in _steps(called, order):
            new = list(orders)
            new[i] = weaker
            if i == 0 and len(new) > 1 and not _may_fail(new[0], new[1]):
                new[1] = RELAXED if new[0] in (RELAXED, RELEASE) else ACQUIRE
            yield _spelt(words, access, prefix, new), f"{', '.join(orders)} -> {', '.join(new)}"


def _may_fail(success: str, failure: str) -> bool:
    """Whether a compare-exchange with this order may fail with that one: failure is not the stronger of both."""
    return failure == RELAXED or success in (failure, SEQ_CST) or (failure == ACQUIRE and success == ACQ_REL)


def _spelt(words: list[str], access: _Access, prefix: str, orders: list[str]) -> str:
    names = [prefix + (order.upper() if prefix.isupper() else order) for order in orders]
    between = words[access.orders[0] + 1:access.orders[-1]]
    return " ".join([names[0], *between, *names[1:]])


def _explicit(source: Source, access: _Access) -> Iterator[tuple[str, str]]:
    called = source.words[access.name]
    inside = source.text[source.tokens[access.name + 1].start:source.tokens[access.end - 1].start]
    for weaker in _steps(called, SEQ_CST):
        orders = f"memory_order_{weaker}"
        if "compare_exchange" in called:
            orders += f", memory_order_{ACQUIRE}"
        yield f"{called}_explicit{inside}, {orders})", f"{SEQ_CST} -> {weaker}"


def _steps(called: str, order: str) -> list[str]:
    """Returns the orders that are one step weaker, of those that this operation may have (C11, 7.17.7)."""
    if order == SEQ_CST:
        return [ACQUIRE if "load" in called else RELEASE if "store" in called or "clear" in called else ACQ_REL]
    return {ACQ_REL: [ACQUIRE, RELEASE], ACQUIRE: [RELAXED], RELEASE: [RELAXED]}.get(order, [])
