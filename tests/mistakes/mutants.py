# SPDX-License-Identifier: BSD-2-Clause
"""Tries mutants by operator (operators.py) and keeps what became of each: `build/venv/bin/python -m
tests.mistakes.mutants --count N [--file F]`.

N are drawn evenly by file and operator; a larger N draws the same ones and more. Each is built in a mirror of the tree
(mirror.py) and tried by the hosted tests that the catalogue names for its file, those that caught most first and
explorations last, then by those of ALL_OF. The first test that fails kills it. A mutant that none kills makes the same
object code, or is argued to be equivalent (`argued:` in list/mutants.txt), or survives: a missing test. A file that no
hosted test reads has no test at all.

mutants.txt is a part of the repository: a line has file, verdict, test, and the digests of the mutants (anchor.py). A
mutant with a verdict is not tried again, so a run may be stopped at any time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD
from deploy.tools.testing import explored, meson_tests
from deploy.tools.testing.meson_tests import MesonTest
from tests import verdict_file
from tests.mistakes import drawn, operators
from tests.mistakes.anchor import Edit
from tests.mistakes.catalogue import CatalogueError, Change, Mistake, Placed, Seen, load, sources
from tests.mistakes.operators import Mutant
from tests.mistakes.source import Source
from tests.mistakes.verdicts import CAUGHT, SURVIVED, UNREAD, Verdict, Verdicts

FILE = Path(__file__).with_name("mutants.txt")
ARGUED = "argued"
AREA = "mutants"  # of the list: arguments
SEED = 40
DIGITS = 8  # of a digest, in the file
TESTS = 10  # of a file, at most, before those of ALL_OF
LONG = 5  # seconds of an exploration, more than which no mutant waits for it
SLOW = ("millions", "fuzzer", "at once", "threads", "says clang")  # in the names of other tests that take longer
LOWEST = 19  # priority, as nice(1) has it
# What runs last, for all files of a folder: long programs of calls, and the explorer of states.
ALL_OF = {
    Path("cluster-kernel/core"): ("system calls, clh", "explore, clh, all", "explore, clh, messages",
                                  "explore, clh, deaths", "explore, clh, signals", "explore, clh, times",
                                  "explore, clh, mappings", "explore, clh, capabilities", "explore, clh, retype",
                                  "explore, clh, two cores"),
    Path("cluster-kernel/lock"): ("system calls, clh", "locks alone", "explore, dynamic, granularity"),
    Path("cluster-manager/loader"): ("the loader refuses broken cluster maps",
                                     "a checked cluster map says what the devicetree says",
                                     "the loader reads ACPI tables, and survives broken ones",
                                     "the loader names all that a CPU lacks",
                                     "the loader refuses broken memory maps, boot information and archives",
                                     "the loader understands its command line"),
    Path("cluster-manager/root/base"): ("messages that the manager takes or refuses", "slots and their owners",
                                        "where objects are at home", "lines of a manager and their seals",
                                        "every order of events in a run"),
    Path("lib/freestanding"): ("memory and strings without a C library", "text without a C library"),
}


@dataclass(frozen=True)
class Generated(Mistake):
    """A mutant as the bench takes it: tokens of a file, by their numbers."""

    start: int = 0
    end: int = 0

    @property
    def strict(self) -> bool:
        return False

    def place(self, source: Callable[[Path], Source]) -> Placed:
        edit = Edit(source(self.file), self.start, self.end, self.changes[0].put)
        return Placed({self.file: edit.text}, edit.digest, edit.changes)


@dataclass(frozen=True)
class Answer:
    verdict: str
    by: str


def tests_by_file(every: list[Mistake], known: Verdicts) -> dict[Path, list[str]]:
    """Returns the components' tests that the catalogue names for each file and folder, those that caught most first."""
    seconds = {name: verdict.seconds for name, verdict in explored.verdicts().items()}
    hosted = {name: test for name, test in meson_tests.by_name()[0].items() if is_cheap(test, seconds)}
    counts: dict[Path, Counter[str]] = {}
    caught = {mistake.key: test for mistake, test in known.caught_by(every)}
    for mistake in every:
        for test in {*mistake.tests, caught.get(mistake.key, "")} & set(hosted):
            weight = 2 if caught.get(mistake.key) == test else 1
            for path in {change.file for change in mistake.changes}:
                for place in (path, path.parent):
                    counts.setdefault(place, Counter())[test] += weight
    return {place: sorted(count, key=lambda test: (hosted[test].name in seconds, -count[test], test))
            for place, count in counts.items()}


def is_cheap(test: MesonTest, seconds: dict[str, int]) -> bool:
    """Returns whether a mutant may wait for the test: explorations have a record of their time."""
    return seconds.get(test.name, 0) <= LONG and not any(word in test.name for word in SLOW)


def tests_of(file: Path, known: dict[Path, list[str]]) -> tuple[str, ...]:
    """Lists the tests that may kill a mutant of the file, in the order in which they run."""
    first = known.get(file, [])[:TESTS] or known.get(file.parent, [])[:TESTS]
    last = [test for folder, tests in ALL_OF.items() if file.is_relative_to(folder) for test in tests]
    return tuple(dict.fromkeys([*first, *last]))


def pool(known: dict[Path, list[str]], word: str) -> list[Mutant]:
    """Lists the mutants of all files that a hosted test reads, as far as the file's name has the word."""
    read = sources()
    return [mutant for file in operators.files() if word in str(file) and tests_of(file, known)
            for mutant in operators.of(file, read(file))]


class Answers:
    """What became of mutants, by file and digest; kept in a file after each."""

    def __init__(self, path: Path = FILE) -> None:
        self.path = path
        self._known = {(file, digest): Answer(verdict, by) for file, verdict, by, digests in verdict_file.read(path)
                       for digest in digests.split()}

    def of(self, mutant: Mutant) -> Answer | None:
        return self._known.get((str(mutant.file), mutant.edit.digest[:DIGITS]))

    def set(self, file: Path, digest: str, answer: Answer) -> None:
        self._known[str(file), digest[:DIGITS]] = answer
        lines: dict[tuple[str, str, str], list[str]] = {}
        for (name, short_digest), one in sorted(self._known.items()):
            lines.setdefault((name, one.verdict, one.by), []).append(short_digest)
        verdict_file.write(self.path, ([*key, " ".join(digests)] for key, digests in sorted(lines.items())))


def argued(every: list[Mistake]) -> dict[tuple[Path, str], str]:
    """Returns the arguments that a mutant is equivalent, by file and digest."""
    return {(one.file, one.digest): one.argued for one in every if one.area == AREA and one.argued and one.digest}


def tryable(mutant: Mutant, known: dict[Path, list[str]]) -> Generated:
    change = Change(mutant.file, mutant.function, mutant.old, mutant.edit.put)
    seen = tuple(Seen(test) for test in tests_of(mutant.file, known))
    return Generated(AREA, " ".join(mutant.name.split()), (change,), seen_by=seen, digest=mutant.edit.digest,
                     start=mutant.edit.start, end=mutant.edit.end)


def by_file(mutants: list[Mutant]) -> Iterator[list[Mutant]]:
    """Yields them together with those of the same file, whose tests are built once."""
    files: dict[Path, list[Mutant]] = {}
    for mutant in mutants:
        files.setdefault(mutant.file, []).append(mutant)
    yield from files.values()


def attempt(mutants: list[Mutant], known: dict[Path, list[str]], answers: Answers, jobs: int,
            end: float | None) -> None:
    """Tries them, file by file, and says what became of each. A file whose tests cannot be had is left out."""
    tried = 0
    for some in by_file(mutants):
        tries = drawn.attempt([tryable(mutant, known) for mutant in some], min(jobs, len(some)))
        try:
            for one in tries:
                tried += 1
                verdict = one.verdict
                answers.set(one.mistake.file, one.mistake.digest, Answer(verdict.verdict, _by(verdict)))
                print(f"{tried}/{len(mutants)} {verdict.verdict}: {one.mistake.name}: {verdict.by} "
                      f"({one.seconds:.1f} s)", flush=True)
                if end and time.monotonic() > end:
                    return
        except Failure as error:
            print(f"left out: {some[0].file}: {error}", file=sys.stderr, flush=True)
        finally:
            tries.close()


def _by(verdict: Verdict) -> str:
    return verdict.by.partition(": ")[0] if verdict.verdict == CAUGHT else ""


def report(mutants: list[Mutant], answers: Answers, reasons: dict[tuple[Path, str], str],
           path: str | None) -> int:
    """Prints how many there are of each verdict, and the survivors. Returns the exit status: 1 where one has no
    answer."""
    counts: Counter[str] = Counter()
    rows, left = [], []
    for mutant in mutants:
        answer = answers.of(mutant)
        reason = reasons.get((mutant.file, mutant.edit.digest))
        verdict = ARGUED if reason else answer.verdict if answer else "not tried"
        counts[verdict] += 1
        rows.append({"name": " ".join(mutant.name.split()), "digest": mutant.edit.digest[:DIGITS], "verdict": verdict,
                     "by": reason or (answer.by if answer else "")})
        if verdict == SURVIVED:
            left.append(rows[-1]["name"])
    for name in left:
        print(f"{SURVIVED}: {name}")
    print(f"{len(mutants)} mutants: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    if path:
        Path(path).write_text(json.dumps({"mutants": rows}, indent=1) + "\n")
    return 1 if left or counts["not tried"] or counts[UNREAD] else 0


def main() -> int:
    """Tries mutants; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mistakes.mutants",
                                     description="Tries mutants by operator, and keeps what became of each.")
    parser.add_argument("--count", metavar="N", type=int, default=1500, help="draw so many (1500)")
    parser.add_argument("--file", metavar="F", default="", help="only of files with F in their path")
    parser.add_argument("--seed", metavar="N", type=int, default=SEED, help=f"of the draw ({SEED})")
    parser.add_argument("--budget", metavar="MINUTES", type=float, help="stop then")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="side by side, each in a mirror of its own")
    parser.add_argument("--list", action="store_true", help="say what is known of them, try none")
    parser.add_argument("--survivors", action="store_true", help="try those again that nothing killed")
    parser.add_argument("--json", metavar="FILE", help="write what is known of each")
    options = parser.parse_args()
    if options.count < 1 or options.jobs < 1 or (options.budget is not None and options.budget <= 0):
        parser.error("--count, --jobs and --budget are numbers above 0")
    process.heed_signals()
    every = load()
    known = tests_by_file(every, Verdicts(every))
    chosen = operators.draw(pool(known, options.file), options.count, options.seed)
    if not chosen:
        raise CatalogueError(f"--file {options.file}: no source with mutants that a hosted test reads has this in its "
                             f"path")
    with alone("tests.mistakes.mutants", FILE, BUILD / "mutants.lock"):
        answers, reasons = Answers(), argued(every)
        if not options.list:
            os.nice(LOWEST)
            end = time.monotonic() + options.budget * 60 if options.budget else None
            attempt([mutant for mutant in chosen if (mutant.file, mutant.edit.digest) not in reasons
                     and (not (one := answers.of(mutant)) or (options.survivors and one.verdict == SURVIVED))],
                    known, answers, options.jobs, end)
        return report(chosen, answers, reasons, options.json)


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    try:
        sys.exit(main())
    except (CatalogueError, Failure) as error:
        print(f"mutants: {error}", file=sys.stderr)
        sys.exit(1 if isinstance(error, Failure) else 2)
    except KeyboardInterrupt:
        sys.exit(130)
