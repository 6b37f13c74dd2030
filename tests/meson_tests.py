# SPDX-License-Identifier: BSD-2-Clause
"""The components' own tests, as their meson.build files declare them: run one by one, an exit status each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from deploy.errors import Failure
from deploy.paths import BUILD
from tests.result import Result

SKIPPED = 77   # the exit status that says so, as Meson has it
PATIENCE = 2   # times the limit in meson.build, which is meant for an idle machine


@dataclass(frozen=True)
class MesonTest:
    name: str
    command: list[str]
    environment: dict[str, str]
    folder: str | None
    limit: float  # seconds


def _parse(entry: dict[str, Any]) -> MesonTest:
    # Meson puts "project:suite" into suite; the test's own name says what it checks.
    suite = next((s.split(":", 1)[1] for s in entry["suite"] if ":" in s), "")
    name = entry["name"]
    if suite and not name.lower().startswith(suite.lower()):
        name = f"{suite}: {name}"
    limit = PATIENCE * float(entry["timeout"] or 30)
    return MesonTest(name, entry["cmd"], entry.get("env") or {}, entry.get("workdir"), limit)


def collect(only: str) -> list[MesonTest]:
    done = subprocess.run(["meson", "introspect", "--tests", str(BUILD)], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"meson introspect: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
    tests = [_parse(entry) for entry in json.loads(done.stdout)]
    return [test for test in tests if only in test.name.lower()]


def run(only: str, started: Callable[[str], None]) -> Iterator[Result]:
    for test in collect(only):
        started(test.name)
        yield _run_one(test)


def _run_one(test: MesonTest) -> Result:
    start = time.monotonic()
    try:
        process = subprocess.Popen(
            test.command, cwd=test.folder or BUILD, env=os.environ | test.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        )
    except OSError as error:
        return Result(test.name, "failed", 0.0, f"{test.command[0]}: {error.strerror}")
    try:
        printed, _ = process.communicate(timeout=test.limit)
        verdict = {0: "passed", SKIPPED: "skipped"}.get(process.returncode, "failed")
        detail = printed if verdict != "failed" else f"{printed}\nexit status {process.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, _ = process.communicate()
        verdict, detail = "failed", f"{printed}\nnot done within {test.limit:g} s"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return Result(test.name, verdict, time.monotonic() - start, detail if verdict != "passed" else "")
