# SPDX-License-Identifier: BSD-2-Clause
"""Tries a mistake against the component's tests that are meant to see it, in a mirror of the tree."""

import threading
from dataclasses import replace
from pathlib import Path

from deploy.base.errors import Failure
from deploy.tools.testing import meson_tests
from deploy.tools.testing.meson_tests import MesonTest
from deploy.tools.testing.result import Result
from tests.mistakes.catalogue import CatalogueError, Mistake, Placed, Seen, sources
from tests.mistakes.graph import Graph
from tests.mistakes.mirror import BuildFailure, Mirror
from tests.mistakes.verdicts import CAUGHT, SAME, SURVIVED, UNFIT, UNREAD, Verdict

SHORTEST = 10.0  # seconds of given time that a test has with a mistake, at least
SLACK = 8        # times as long as without one


class Unused(CatalogueError):
    """The test does not read what the mistake changes."""


class Bench:
    """A mirror, and the tests that run in it."""

    def __init__(self, folder: Path, graph: Graph, tests: dict[str, MesonTest], targets: dict[str, list[str]]) -> None:
        self._mirror = Mirror(folder, graph, threading.Event())
        self._tests, self._targets = tests, targets
        self._sources = sources()
        self._took: dict[tuple[str, ...], float] = {}  # by command: seconds without a mistake

    def knows(self, seen: Seen) -> bool:
        return seen.test in self._tests

    def attempt(self, mistake: Mistake, seen_by: tuple[Seen, ...]) -> Verdict:
        """Tries the mistake with the tests in order, up to the first that fails. Not strict: tests that do not read
        what it changes are left out, and what no test sees may be the same code."""
        reading: list[Seen] = []
        try:
            placed = mistake.place(self._sources)
            for seen in seen_by:
                try:
                    if why := self._sees(placed, seen):
                        return Verdict(placed.digest, CAUGHT, f"{seen.test}: {why}")
                    reading.append(seen)
                except Unused:
                    if mistake.strict:
                        raise
            if not mistake.strict and not reading:
                return Verdict(placed.digest, UNREAD, "")
            if not mistake.strict and self._is_same_code(placed, reading[0]):
                return Verdict(placed.digest, SAME, "")
        except (CatalogueError, BuildFailure) as error:
            return Verdict(placed.digest if isinstance(error, BuildFailure) else mistake.digest, UNFIT, str(error))
        finally:
            self._mirror.restore()
        return Verdict(placed.digest, SURVIVED, "")

    def _sees(self, placed: Placed, seen: Seen) -> str:
        """Returns how the test tells that there is a mistake; empty: it does not."""
        own = self._tests[seen.test]
        test = replace(own, command=seen.command(own.command))
        made = self._mirror.make(placed.texts, self._targets[seen.test])
        if not made and not any(str(file) in word for file in placed.texts for word in test.command):
            raise Unused(f"{seen.test}: does not use {', '.join(map(str, placed.texts))}")
        limit = max(SHORTEST, SLACK * self._sound(own, seen))
        result = meson_tests.run_one(self._moved(test, limit))
        if seen.finds is not None:
            return f"finds '{seen.finds}' in '{seen.words}'" if result.outcome == "passed" else ""
        return reason(result) if result.outcome == "failed" else ""

    def _is_same_code(self, placed: Placed, seen: Seen) -> bool:
        """Returns whether the compiler makes the same objects of the sound text, for a test that reads it."""
        made, sound = [], {file: self._sources(file).text for file in placed.texts}
        for texts in (placed.texts, sound):
            self._mirror.restore()
            self._mirror.make(texts, self._targets[seen.test])
            made.append(self._mirror.objects())
        return bool(made[0]) and made[0] == made[1]

    def _moved(self, test: MesonTest, limit: float) -> MesonTest:
        return replace(test, command=[self._mirror.text(word) for word in test.command], limit=limit,
                       folder=self._mirror.text(test.folder) if test.folder else str(self._mirror.build))

    def _sound(self, test: MesonTest, seen: Seen) -> float:
        """Returns how many seconds it takes without a mistake. Failure if it does not pass then."""
        command = seen.sound(test.command)
        if (key := tuple(command)) not in self._took:
            result = meson_tests.run_one(replace(test, command=command))
            if result.outcome == "failed":
                raise Failure(f"{seen}: fails without a mistake: {reason(result)}")
            self._took[key] = result.seconds
        return self._took[key]


def bench(folder: Path, graph: Graph) -> Bench:
    tests, targets = meson_tests.by_name()
    return Bench(folder, graph, tests,
                 {name: sorted(graph.relative(path) for path in paths) for name, paths in targets.items()})


def reason(result: Result) -> str:
    """The line of its output that tells why it failed."""
    lines = [line.strip() for line in result.detail.splitlines() if line.strip() and "WARNING" not in line]
    telling = [line for line in lines if "ERROR" in line or "runtime error" in line] or lines
    return telling[0] if telling else "failed"
