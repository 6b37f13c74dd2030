# SPDX-License-Identifier: BSD-2-Clause
"""Mutants: which tests may kill one, what is kept of it, and that its answer is found again."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mistakes import mutants, operators
from tests.mistakes.catalogue import load
from tests.mistakes.mutants import Answer, Answers
from tests.mistakes.operators import Mutant
from tests.mistakes.source import Source
from tests.mistakes.verdicts import CAUGHT, SURVIVED, UNREAD

FILE = Path("lib/a.c")
SOURCE = Source("int less(int a, int b)\n{\n\treturn a < b + 1;\n}\n")


def made() -> list[Mutant]:
    return list(operators.of(FILE, SOURCE))


def test_placed() -> None:
    """a mutant is tried as the change that it is, with the digest by which its answer is kept"""
    for mutant in made():
        tried = mutants.tryable(mutant, {FILE: ["one", "two"]})
        placed = tried.place(lambda file: SOURCE)
        assert placed.texts == {FILE: mutant.edit.text} and placed.digest == tried.digest == mutant.edit.digest
        assert [seen.test for seen in tried.seen_by] == ["one", "two"] and not tried.strict


def test_tests_of() -> None:
    """a file's own tests run first, else those of its folder; those of a part of the tree last, each once"""
    known = {Path("cluster-kernel/core/cap.c"): ["system calls, clh", "lookup, clh"], Path("net"): ["net ring"]}
    tests = mutants.tests_of(Path("cluster-kernel/core/cap.c"), known)
    assert tests[:2] == ("system calls, clh", "lookup, clh") and max(Counter(tests).values()) == 1
    assert set(mutants.ALL_OF[Path("cluster-kernel/core")]) <= set(tests)
    assert mutants.tests_of(Path("net/ring.c"), known) == ("net ring",) and not mutants.tests_of(FILE, known)


def test_kept(tmp_path: Path) -> None:
    """answers are kept after each, and found again by file and digest; another mutant has none"""
    path, every = tmp_path / "mutants.txt", made()
    answers = Answers(path)
    for mutant, verdict in zip(every, (CAUGHT, SURVIVED), strict=False):
        answers.set(mutant.file, mutant.edit.digest, Answer(verdict, "one" if verdict == CAUGHT else ""))
    again = Answers(path)
    assert again.of(every[0]) == Answer(CAUGHT, "one") and again.of(every[1]) == Answer(SURVIVED, "")
    assert len(every) > 2 and again.of(every[2]) is None
    assert again.of(replace(every[0], file=Path("lib/b.c"))) is None


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """one that survives, or whose file no test reads, is no success; an argument answers it"""
    answers, every = Answers(tmp_path / "mutants.txt"), made()[:2]
    answers.set(FILE, every[0].edit.digest, Answer(CAUGHT, "one"))
    for verdict in (SURVIVED, UNREAD):
        answers.set(FILE, every[1].edit.digest, Answer(verdict, ""))
        assert mutants.report(every, answers, {}, None) == 1
        assert f"2 mutants: 1 {CAUGHT}, 1 {verdict}" in capsys.readouterr().out
    assert mutants.report(every, answers, {(FILE, every[1].edit.digest): "nothing reads it"}, None) == 0


def test_arguments_fit() -> None:
    """each argument in the list is about a mutant that an operator makes"""
    for one in load():
        if one.area == mutants.AREA:
            source = Source.read(operators.ROOT / one.file)
            assert one.digest in {mutant.edit.digest for mutant in operators.of(one.file, source)}, one.name
