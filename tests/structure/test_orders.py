# SPDX-License-Identifier: BSD-2-Clause
"""Each memory order has an answer: one step weaker, a test finds it, or a line says why nothing depends on it.

The weakenings are generated (tests/mistakes/orders.py), the answers are mistakes of the catalogue.
"""

from collections import Counter
from functools import cache
from pathlib import Path

from tests.mistakes import orders
from tests.mistakes.catalogue import Mistake, load, sources
from tests.mistakes.orders import Weakening

LEAST = 190  # weakenings: fewer means that the generator has lost its way
AREA = "orders"  # files of the list that hold nothing else begin so
WORDS = 6  # of an argument, at least


@cache
def generated() -> dict[tuple[Path, str], Weakening]:
    """Returns the weakenings by file and effect."""
    return {(weakening.file, weakening.edit.digest): weakening for weakening in orders.generate(sources())}


@cache
def answers() -> list[Mistake]:
    """Lists the mistakes that are one of the weakenings."""
    return [mistake for mistake in load() if (mistake.file, mistake.digest) in generated()]


def test_answered() -> None:
    """each order of what ships has an answer for each way to weaken it by one step"""
    answered = {(mistake.file, mistake.digest) for mistake in answers() if mistake.seen_by or mistake.argued}
    missing = [weakening.name for key, weakening in generated().items() if key not in answered]
    advice = "add each to tests/mistakes/list/orders*.txt, with the test that finds it or `argued: REASON`"
    assert not missing, "\n".join([*missing, advice])


def test_no_stale_answer() -> None:
    """each entry that answers for an order is still a weakening of it, and only such an entry is argued"""
    known = {mistake.key for mistake in answers()}
    assert not [m.key for m in load() if (m.area.startswith(AREA) or m.argued) and m.key not in known]


def test_arguments() -> None:
    """an argument is a sentence, and none is given where a test finds the weakening"""
    argued = [mistake for mistake in answers() if mistake.argued]
    assert not [m.key for m in argued if len(m.argued.split()) < WORDS or m.seen_by or m.unseen]
    found = {(m.file, m.digest) for m in answers() if m.seen_by}
    assert not [m.key for m in argued if (m.file, m.digest) in found]


def test_complete() -> None:
    """no order that is stronger than relaxed escapes the generator: it reads all places where one is named"""
    assert len(generated()) >= LEAST
    source = sources()
    for file in orders.files():
        named = Counter(word for word in source(file).words if orders.is_strong(word))
        read = Counter(word for access in orders.accesses(source(file)) for word in access if orders.is_strong(word))
        assert named == read, f"{file}: an order stands outside of the accesses that orders.py finds"
