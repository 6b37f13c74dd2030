# SPDX-License-Identifier: BSD-2-Clause
"""The campaign of mistakes: which verdicts are fresh, which tests go first, when it stops."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests import verdict_file
from tests.mistakes.campaign import Campaign, Task, check_seen_by
from tests.mistakes.catalogue import CatalogueError, Change, Mistake, Seen
from tests.mistakes.running import Stopped, run
from tests.mistakes.source import Source
from tests.mistakes.stages import Stage
from tests.mistakes.verdicts import CAUGHT, SURVIVED, UNFIT, Verdict, Verdicts, likely, page
from tests.mistakes.workspace import Workspace


def mistake(name: str, file: str = "core/cap.c", area: str = "rights") -> Mistake:
    change = Change(Path("cluster-kernel") / file, name, "true", "false")
    return Mistake(area, name, (change,), "something", digest=f"{hash(name) % 2**32:08x}")


def test_verdicts(tmp_path: Path) -> None:
    """verdicts are kept by test in the order of the list, and fresh while the mistake is the same"""
    every = [mistake(name) for name in ("a", "b", "c")]
    kept = Verdicts(every, tmp_path / "verdicts.txt")
    kept.set(every[2], Verdict(every[2].digest, CAUGHT, "capabilities, clh: check.c:1: slot 0x7f0c90801040 is 0x10"))
    kept.set(every[0], Verdict(every[0].digest, SURVIVED, ""))
    assert (kept.path.read_text() == verdict_file.LICENCE
            + f"rights\tSURVIVED\t\t{every[0].digest}\nrights\tcaught\tcapabilities, clh\t{every[2].digest}\n")
    again = Verdicts(every, kept.path)
    verdict = again.of(every[2])
    assert verdict and (verdict.verdict, verdict.by) == (CAUGHT, "capabilities, clh")
    assert Verdicts([replace(every[2], digest="01234567")], kept.path).of(replace(every[2], digest="01234567")) is None
    assert again.of(every[1]) is None
    text = page([*every, replace(mistake("d"), argued="nothing reads it")], again)
    assert ("4 mistakes: 1 caught, 1 survived (0 of them with a reason), 0 unfit (do not compile), 1 argued to be "
            "none, 1 not tried yet." in text)
    assert "argued: nothing reads it" in text


def test_same_effect(tmp_path: Path) -> None:
    """of two mistakes with one effect, each keeps the verdict by its own test"""
    every = [replace(mistake("a"), seen_by=(Seen(test),), name=test) for test in ("first", "second")]
    kept = Verdicts(every, tmp_path / "verdicts.txt")
    for one in every:
        kept.set(one, Verdict(one.digest, CAUGHT, one.tests[0]))
    again = Verdicts(every, kept.path)
    assert [verdict.by for one in every if (verdict := again.of(one))] == ["first", "second"]


def test_unfit(tmp_path: Path) -> None:
    """what did not fit the tree is tried again"""
    one = replace(mistake("a"), digest="")
    kept = Verdicts([one], tmp_path / "verdicts.txt")
    kept.set(one, Verdict("", UNFIT, "its pattern is found 0 times, not once"))
    assert kept.of(one) is None


def test_order() -> None:
    """the tests that caught most in the same file go first, then those of the same area"""
    caught = [(mistake("a"), "tcbs, clh"), (mistake("b"), "untyped, none"), (mistake("c"), "untyped, none"),
              (mistake("d", file="core/work.h"), "timers, clh"), (mistake("e", file="core/work.h", area="other"), "x")]
    assert likely(mistake("f"), caught) == ["untyped, none", "tcbs, clh", "timers, clh"]


class Copy(Workspace):
    """A workspace with one file, of which nothing is built."""

    def __init__(self, folder: Path, text: str) -> None:
        super().__init__(folder, 1, threading.Event())
        self.commit = "0123456789abcdef"
        self.file = self.tree / "cluster-kernel" / "core" / "cap.c"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(text)

    def make(self, targets: Sequence[str]) -> None:
        pass


class Looks(Stage):
    """Fails when the file has a word; and always without the mistake, in another test."""

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[tuple[str, str]]:
        assert isinstance(workspace, Copy)
        yield from [("always", "fails")] * ("false" not in workspace.file.read_text())
        yield from [("sees", "it is false")] * ("false" in workspace.file.read_text())


def test_attempt(tmp_path: Path) -> None:
    """the copy is broken, mended for the baseline and at the end; the verdict is of the copy's text, not of the
    list's"""
    text = "bool a(void) { return true; }\n"
    copy, one, lost = Copy(tmp_path, text), mistake("a"), mistake("b")
    kept = Verdicts([one, lost], tmp_path / "verdicts.txt")
    campaign = Campaign([one, lost], kept, [one, lost], tmp_path, Console(quiet=True))
    stage = Looks("look", [])
    for place, tried in enumerate((one, lost)):
        campaign._try(Task(place, tried), copy, [stage])
        assert copy.file.read_text() == text
    assert stage.ignored == {"always"}
    digest = one.place(lambda file: Source(text)).digest
    assert kept.of(one) is None  # which claims another digest
    assert kept.of(replace(one, digest=digest)) == Verdict(digest, CAUGHT, "sees: it is false")
    assert kept._verdicts[lost.key].verdict == UNFIT
    assert "b: in core/cap.c: b: b is defined 0 times" in kept._verdicts[lost.key].by


def test_seen_by(tmp_path: Path) -> None:
    """a test that is meant to see a mistake exists, and is tried before all others"""
    steps: list[Stage] = [Looks("first", []), Looks("look", [])]
    one = replace(mistake("a"), seen_by=(Seen("look"),))
    check_seen_by([one], steps)
    with pytest.raises(CatalogueError, match="a: there is no test or stage 'lok'"):
        check_seen_by([one, replace(one, seen_by=(Seen("look"), Seen("lok")))], steps)
    campaign = Campaign([one], Verdicts([one], tmp_path / "verdicts.txt"), [one], tmp_path, Console(quiet=True))
    assert next(step.name for step, _ in campaign._plan(one, steps, False)) == "look"


def test_limits(tmp_path: Path) -> None:
    """a program that computes or sleeps for too long hangs; one that is told to stop has no outcome"""
    stop = threading.Event()
    assert run(["sh", "-c", "while :; do :; done"], tmp_path, stop, cpu=1, wall=120).hangs
    assert run(["sleep", "60"], tmp_path, stop, cpu=1, wall=1).hangs
    done = run(["sh", "-c", "echo a; echo b >&2; exit 3"], tmp_path, stop, cpu=5, wall=60)
    assert (done.status, done.printed, done.complaint, done.hangs) == (3, "a\n", "b\n", False)
    stop.set()
    with pytest.raises(Stopped):
        run(["sleep", "60"], tmp_path, stop, wall=60)


def test_before_first(tmp_path: Path) -> None:
    """the test that is meant to see it goes first; where no cheap test does, tests of slow stages that caught what is
    alike"""
    class Several(Looks):
        def narrowed(self, tests: list[str]) -> Stage | None:
            return replace(self, name=f"part of {self.name}") if self.name in tests else None

    every = [mistake("a"), mistake("b")]
    kept = Verdicts(every, tmp_path / "verdicts.txt")
    campaign = Campaign([], kept, every, tmp_path, Console(quiet=True))
    cheap, slow = Several("cheap", []), Several("slow", [], slow=True)

    def order(again: bool) -> list[str]:
        return [part.name for _, part in campaign._plan(every[0], [cheap, slow], again)]

    assert order(False) == ["cheap", "slow"]
    kept.set(every[1], Verdict(every[1].digest, CAUGHT, "slow: said"))
    assert order(False) == ["cheap", "slow"]
    assert order(True) == ["part of slow", "slow", "cheap"]
    every[0] = replace(every[0], seen_by=(Seen("slow"),))
    assert order(False) == ["slow", "cheap", "slow"]
