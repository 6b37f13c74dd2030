# SPDX-License-Identifier: BSD-2-Clause
"""pytest's side of the runner: human names, time limits, choice by word, and results as JSON lines.

A test's name is the first line of its docstring, or its function's name in words; a parameter's id follows it.
`@pytest.mark.limit(seconds)` sets its time limit, in time that the host gives the test, not of the host's clock.
Results go to the file descriptor that SKERRY_TEST_REPORT names.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

LIMIT = 60.0  # seconds of given time (deploy/base/timeouts.py), for a test that does not say

_report = os.fdopen(int(os.environ["SKERRY_TEST_REPORT"]), "w", buffering=1)
_word = os.environ.get("SKERRY_TEST_ONLY", "").lower()
_done = int(os.environ.get("SKERRY_TEST_DONE", "0"))  # that many have been run, by a pytest before this one
_parts: dict[str, list[pytest.TestReport]] = {}


def _send(**message: Any) -> None:
    _report.write(json.dumps(message) + "\n")


def _suite(path: Path) -> str:
    """structure, boot, or the part of the host tools that a unit test is about."""
    folder = path.parent.name
    return folder if folder not in ("tests", "unit") else path.stem.removeprefix("test_")


def name_of(item: pytest.Item) -> str:
    function = getattr(item, "function", None)
    words = (getattr(function, "__doc__", None) or "").strip().split("\n")[0].rstrip(".")
    words = words or getattr(function, "__name__", item.name).removeprefix("test_").replace("_", " ")
    call = getattr(item, "callspec", None)
    return f"{_suite(item.path)}: {words}" + (f" ({call.id})" if call else "")


def limit_of(item: pytest.Item) -> float:
    mark = item.get_closest_marker("limit")
    return float(mark.args[0]) if mark else LIMIT


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "limit(seconds): time limit of a test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if _word in name_of(item).lower() or _word in item.nodeid.lower()][_done:]
    _send(event="collected", count=len(items))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:  # a test file that cannot be imported must not vanish
        _send(event="result", name=f"{report.nodeid} can be imported", outcome="failed", seconds=0.0,
              detail=str(report.longrepr))


@contextmanager
def limited(limit: float) -> Iterator[None]:
    """Fails the test where it stands when the runner, which watches the time, sends SIGALRM. No library takes that for
    a time-out of its own and tries again: pytest's failure is not an Exception."""
    began = time.monotonic()

    def expire(number: int, frame: FrameType | None) -> None:
        seconds = time.monotonic() - began
        if seconds >= limit:  # else it was for the test before
            pytest.fail(f"not done within {limit:g} s of given time, {seconds:.0f} s of the host's clock")

    previous = signal.signal(signal.SIGALRM, expire)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN if previous is signal.SIG_DFL else previous)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    limit = limit_of(item)
    _send(event="start", name=name_of(item), limit=limit)
    with limited(limit):
        outcome = yield
    reports = _parts.pop(item.nodeid, [])
    worst = next((r for r in reports if r.failed), None) or next((r for r in reports if r.skipped), None)
    detail = ""
    if worst is not None:
        detail = worst.longreprtext
        if worst.failed and worst.capstdout + worst.capstderr:
            detail = f"{worst.capstdout}{worst.capstderr}\n{detail}"
        elif worst.skipped and isinstance(worst.longrepr, tuple):
            detail = str(worst.longrepr[2])
    _send(event="result", name=name_of(item), outcome=worst.outcome if worst else "passed",
          seconds=sum(r.duration for r in reports), detail=detail)
    return outcome


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _parts.setdefault(report.nodeid, []).append(report)
