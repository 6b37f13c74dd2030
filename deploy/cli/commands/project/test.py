# SPDX-License-Identifier: BSD-2-Clause
"""`skerry test`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.setup import needs
from deploy.setup.build import ensure_built
from deploy.tools.testing import explored, lanes, meson_tests, names, words
from deploy.tools.testing.result import Result
from topology.errors import InputError

Only = Annotated[str | None, typer.Option("--only", metavar="WORD", help="Only tests with WORD in their name.")]
Werror = Annotated[bool, typer.Option(
    "--werror", help="Make compiler warnings errors, in later builds of this folder, too."
)]  # fmt: skip
BUILD_TEST = "build: set-up and build"
NO_TEST = "no test has this in its name"
LONGEST = "test_ktest"  # the longest file of boot tests, a third of them all: it begins first, or one lane ends last


def test(only: Only = None, werror: Werror = False, quiet: Quiet = False, json: Json = None) -> None:
    """Build everything and run every test: structure of the tree, units, components, and booted machines.

    With --only, components' tests alone build no more than they use; a word that is in no name is refused.

    Several at a time: two more than there are processors. One line for each; at the end what was skipped and what would
    make it run, and "N passed, N failed".
    """
    output = Output(quiet, json)
    word = (only or "").lower()
    if word not in BUILD_TEST and not words.may_name_a_test(word):
        raise InputError(f"--only {only}", NO_TEST)
    results = []
    build = _build(output, word, werror)
    if build.outcome == "failed" or word in BUILD_TEST:
        results.append(build)
        _show(output, build)
    if build.outcome != "failed":
        with output.progress("Testing") as update:
            for result in _all_results(word, lambda name: update(description=name)):
                results.append(result)
                _show(output, result)
    if not any(result.name != BUILD_TEST or result.outcome == "failed" for result in results):
        raise InputError(f"--only {only}", NO_TEST)
    _close(output, results)


def _build(output: Output, word: str, werror: bool) -> Result:
    """The set-up and build as a test: whatever it says is no result."""
    start = time.monotonic()
    try:
        ensure_built(output, _needed(output, word, werror), werror)
    except Failure as error:
        return Result(BUILD_TEST, "failed", time.monotonic() - start, str(error))
    return Result(BUILD_TEST, "passed", time.monotonic() - start)


def _needed(output: Output, word: str, werror: bool) -> needs.Needs:
    """Returns the needs of tests with `word` in their name. Components' tests say what they use; Python's use
    anything."""
    if not word or word in BUILD_TEST:
        return needs.EVERYTHING
    # the program that knows the names
    ensure_built(output, replace(needs.EVERYTHING, targets=frozenset({needs.CHECKER})), werror)
    try:
        if any(word in name for name in names.of_python()):
            return needs.EVERYTHING
    except Failure:  # pytest itself will say why, as a result
        return needs.EVERYTHING
    components = meson_tests.collect(word)
    if not components:
        raise InputError(f"--only {word}", NO_TEST)
    return replace(needs.EVERYTHING, targets=meson_tests.targets(components))


def _all_results(word: str, started: Callable[[str], None]) -> Iterator[Result]:
    tests = ROOT / "tests"
    own: list[list[Path]] = [[], [tests / "structure", tests / "unit"]]
    own += [[] for _ in range(lanes.width() - len(own))]
    booted = sorted((tests / "boot").glob("test_*.py"), key=lambda path: (path.stem != LONGEST, path.stem))
    components, known = meson_tests.collect(word), list[Result]()
    if not word:  # else somebody asks for these tests
        components, known = explored.without_explored(components)
    yield from known
    yield from lanes.run(own, booted, components, word, started)


def _show(output: Output, result: Result) -> None:
    why = f"  ({_why(result)})" if result.outcome == "skipped" or result.outcome == "passed" and result.detail else ""
    mark = {"passed": "ok  ", "failed": "FAIL", "skipped": "skip"}[result.outcome]
    output.line(f"{mark}  {result.name}  {result.seconds:.1f} s{why}")
    if result.outcome == "failed":
        result.keep_log()
        for line in result.tail():
            output.line(f"      | {line}")
        output.line(f"      log: {result.log}")


def _why(result: Result) -> str:
    """Returns why a test was skipped: what lacks, and what would make it run. Of one that passed: why it did not
    run."""
    lines = result.detail.strip().splitlines()
    return lines[-1].removeprefix("Skipped: ") if lines else "its program says that it cannot run here"


def _close(output: Output, results: list[Result]) -> None:
    failed = [result.name for result in results if result.outcome == "failed"]
    passed = sum(result.outcome == "passed" for result in results)
    output.results({
        "skerry": version(),
        "command": "test",
        "passed": passed,
        "failed": len(failed),
        "results": [
            {"name": r.name, "outcome": r.outcome, "seconds": round(r.seconds, 3)}
            | ({"log": str(r.log)} if r.outcome == "failed" else {})
            for r in results
        ],
    })
    if failed:  # before the closing line, so that this is the last one even where the two streams are one
        print(f"skerry: failed: {'; '.join(failed)}", file=sys.stderr)
    skipped = [result for result in results if result.outcome == "skipped"]
    for result in skipped:
        output.line(f"skipped: {result.name}: {_why(result)}")
    output.line(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    if failed:
        raise typer.Exit(1)
