# SPDX-License-Identifier: BSD-2-Clause
"""`skerry test`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from deploy.errors import Failure
from deploy.output import Json, Output, Quiet, version
from deploy.paths import ROOT
from deploy.setup.build import ensure_built
from tests import meson_tests, pytest_tests
from tests.result import Result
from topology.errors import InputError

Only = Annotated[str | None, typer.Option("--only", metavar="WORD", help="Only tests with WORD in their name.")]
BUILD_TEST = "build: set-up and build"


def test(only: Only = None, quiet: Quiet = False, json: Json = None) -> None:
    """Build everything and run every test: structure of the tree, units, components, and booted machines.

    One line for each test, and one at the end: "N passed, N failed".
    """
    output = Output(quiet, json)
    word = (only or "").lower()
    results = []
    with output.progress("Testing") as update:
        for result in _all_results(output, word, lambda name: update(description=name)):
            results.append(result)
            _show(output, result)
    if not any(result.name != BUILD_TEST or result.outcome == "failed" for result in results):
        raise InputError(f"--only {only}", "no test has this in its name")
    _close(output, results)


def _all_results(output: Output, word: str, started: Callable[[str], None]) -> Iterator[Result]:
    started(BUILD_TEST)
    start = time.monotonic()
    try:
        ensure_built(Output(quiet=True))
    except Failure as error:
        yield Result(BUILD_TEST, "failed", time.monotonic() - start, str(error))
        return
    if word in BUILD_TEST:
        yield Result(BUILD_TEST, "passed", time.monotonic() - start)
    tests = ROOT / "tests"
    yield from pytest_tests.run([tests / "structure", tests / "unit"], word, started)
    yield from meson_tests.run(word, started)
    yield from pytest_tests.run([tests / "boot"], word, started)


def _show(output: Output, result: Result) -> None:
    mark = {"passed": "ok  ", "failed": "FAIL", "skipped": "skip"}[result.outcome]
    why = f"  ({result.detail.strip().splitlines()[-1]})" if result.outcome == "skipped" and result.detail.strip() else ""
    output.line(f"{mark}  {result.name}  {result.seconds:.1f} s{why}")
    if result.outcome == "failed":
        result.keep_log()
        for line in result.tail():
            output.line(f"      | {line}")
        output.line(f"      log: {result.log}")


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
    output.line(f"{passed} passed, {len(failed)} failed")
    if failed:
        raise typer.Exit(1)
