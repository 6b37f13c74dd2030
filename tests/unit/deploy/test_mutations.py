# SPDX-License-Identifier: BSD-2-Clause
"""The campaign of mutations: which verdicts are fresh, which tests go first, when it stops."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.long.mutations.campaign import Campaign, Task, check_seen_by
from tests.long.mutations.catalogue import CatalogueError, Mutation
from tests.long.mutations.running import Stopped, run
from tests.long.mutations.source import Source
from tests.long.mutations.stages import Stage
from tests.long.mutations.verdicts import CAUGHT, SURVIVED, UNFIT, Verdict, Verdicts, likely, page
from tests.long.mutations.workspace import Workspace


def mutation(name: str, file: str = "core/cap.c", area: str = "rights") -> Mutation:
    return Mutation(area, name, Path("cluster-kernel") / file, name, "true", "false", "something", digest=f"of {name}")


def test_verdicts(tmp_path: Path) -> None:
    """verdicts are a line each in the order of the list, and fresh while the mutation is the same"""
    every = [mutation(name) for name in ("a", "b", "c")]
    kept = Verdicts(every, tmp_path / "verdicts.json")
    why = "capabilities, clh: check.c:1: slot 0x7f0c90801040 is 0x10; --timeout S waits S seconds (log: /tmp/copy/build/x.log"
    kept.set(every[2], Verdict("of c", CAUGHT, why))
    kept.set(every[0], Verdict("of a", SURVIVED, ""))
    lines = kept.path.read_text().splitlines()
    assert [json.loads(line.rstrip(","))["name"] for line in lines[1:-1]] == ["a", "c"]
    again = Verdicts(every, kept.path)
    found = again.of(every[2])
    assert found and found.by == "capabilities, clh: check.c:1: slot 0x… is 0x10"
    assert again.of(replace(every[2], digest="of another c")) is None
    assert again.of(every[1]) is None
    text = page(every, again)
    assert "3 mutations: 1 caught, 1 survived (0 of them with a reason), 0 unfit (do not compile), 1 not tried yet." in text


def test_unfit(tmp_path: Path) -> None:
    """what did not fit the tree is tried again"""
    one = replace(mutation("a"), digest="")
    kept = Verdicts([one], tmp_path / "verdicts.json")
    kept.set(one, Verdict("", UNFIT, "its pattern is found 0 times, not once"))
    assert kept.of(one) is None


def test_order() -> None:
    """the tests that caught most in the same file go first, then those of the same area"""
    caught = [(mutation("a"), "tcbs, clh"), (mutation("b"), "untyped, none"), (mutation("c"), "untyped, none"),
              (mutation("d", file="core/work.h"), "timers, clh"), (mutation("e", file="core/work.h", area="other"), "x")]
    assert likely(mutation("f"), caught) == ["untyped, none", "tcbs, clh", "timers, clh"]


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
    """Fails when the file has a word; and always without the mutation, in another test."""

    def run(self, workspace: Workspace, calibrating: bool) -> Iterator[tuple[str, str]]:
        assert isinstance(workspace, Copy)
        yield from [("always", "fails")] * ("false" not in workspace.file.read_text())
        yield from [("sees", "it is false")] * ("false" in workspace.file.read_text())


def test_attempt(tmp_path: Path) -> None:
    """the copy is broken, mended for the baseline and at the end; the verdict is of the copy's text, not of the list's"""
    text = "bool a(void) { return true; }\n"
    copy, one, lost = Copy(tmp_path, text), mutation("a"), mutation("b")
    kept = Verdicts([one, lost], tmp_path / "verdicts.json")
    campaign = Campaign([one, lost], kept, [one, lost], tmp_path, Console(quiet=True))
    stage = Looks("look", [])
    for place, tried in enumerate((one, lost)):
        campaign._try(Task(place, tried), copy, [stage])
        assert copy.file.read_text() == text
    assert stage.ignored == {"always"}
    written = {e["name"]: e for e in json.loads(kept.path.read_text())["verdicts"]}
    assert (written["a"]["verdict"], written["a"]["by"]) == (CAUGHT, "sees: it is false")
    assert kept.of(one) is None  # which claims another digest
    assert kept.of(replace(one, digest=one.place(Source(text)).digest))
    assert written["b"]["verdict"] == UNFIT and "b: in core/cap.c: b: b is defined 0 times" in written["b"]["by"]


def test_seen_by(tmp_path: Path) -> None:
    """a test that is meant to see a mutation exists, and is tried before all others"""
    steps: list[Stage] = [Looks("first", []), Looks("look", [])]
    one = replace(mutation("a"), seen_by=("look",))
    check_seen_by([one], steps)
    with pytest.raises(CatalogueError, match="a: seen_by: there is no test or stage 'lok'"):
        check_seen_by([one, replace(one, seen_by=("look", "lok"))], steps)
    campaign = Campaign([one], Verdicts([one], tmp_path / "verdicts.json"), [one], tmp_path, Console(quiet=True))
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
    """the test that caught a mutation before goes first; where no cheap test does, tests of slow stages that caught what is alike"""
    class Several(Looks):
        def narrowed(self, tests: list[str]) -> Stage | None:
            return replace(self, name=f"part of {self.name}") if self.name in tests else None

    every = [mutation("a"), mutation("b")]
    kept = Verdicts(every, tmp_path / "verdicts.json")
    campaign = Campaign([], kept, every, tmp_path, Console(quiet=True))
    cheap, slow = Several("cheap", []), Several("slow", [], slow=True)

    def order(again: bool) -> list[str]:
        return [part.name for _, part in campaign._plan(every[0], [cheap, slow], again)]

    assert order(False) == ["cheap", "slow"]
    kept.set(every[1], Verdict("of b", CAUGHT, "slow: said"))
    assert order(False) == ["cheap", "slow"]
    assert order(True) == ["part of slow", "slow", "cheap"]
    kept.set(every[0], Verdict("of another a", CAUGHT, "slow: said"))
    assert order(False) == ["part of slow", "cheap", "slow"]
