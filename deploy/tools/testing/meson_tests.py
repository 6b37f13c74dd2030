# SPDX-License-Identifier: BSD-2-Clause
"""The components' own tests, as their meson.build files declare them: run one by one, an exit status each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.timeouts import Clock, children_of, slowness
from deploy.tools.testing.descendants import Descendants
from deploy.tools.testing.result import Result

SKIPPED = 77   # the exit status that says so, as Meson has it
# times the limit in meson.build; a limit is given time (deploy/base/timeouts.py) of a host that is not slow
PATIENCE = 2
STILL = 60.0   # seconds of given time without output or use of a processor, after which a test stands still
IDLE = 0.05    # seconds of processor time that are no use
PRINTED = 256 << 20  # bytes, more than which no test prints that ever ends: the disk is not its own
SHOWN = 1 << 20      # of what it printed last, kept
GRACE = 5.0    # seconds in which a test that is told to end may say what it was doing


@dataclass(frozen=True)
class MesonTest:
    name: str
    command: list[str]
    environment: dict[str, str]
    folder: str | None
    limit: float  # seconds
    needs: tuple[str, ...] = ()  # Meson's ids of what it runs and reads
    repeatable: bool = False  # its program and arguments alone decide what it does


def _parse(entry: dict[str, Any]) -> MesonTest:
    # Meson puts "project:suite" into suite; the test's own name says what it checks.
    suite, *more = [s.split(":", 1)[1] for s in entry["suite"] if ":" in s] or [""]
    name = entry["name"]
    if suite and not name.lower().startswith(suite.lower()):
        name = f"{suite}: {name}"
    limit = PATIENCE * float(entry["timeout"] or 30)
    return MesonTest(name, entry["cmd"], entry.get("env") or {}, entry.get("workdir"), limit,
                     tuple(entry.get("depends") or ()), suite == "model" or "repeatable" in more)


def _introspect(what: str) -> list[dict[str, Any]]:
    done = subprocess.run(["meson", "introspect", what, str(BUILD)], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"meson introspect: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def collect(only: str) -> list[MesonTest]:
    tests = [_parse(entry) for entry in _introspect("--tests")]
    return [test for test in tests if only in test.name.lower()]


def by_name() -> tuple[dict[str, MesonTest], dict[str, list[str]]]:
    """All tests by the names that meson.build gives them, and the files that must be built for each."""
    files = {target["id"]: target["filename"] for target in _introspect("--targets")}
    entries = _introspect("--tests")
    return ({entry["name"]: _parse(entry) for entry in entries},
            {entry["name"]: [file for target in entry["depends"] for file in files[target]] for entry in entries})


def targets(tests: Iterable[MesonTest]) -> frozenset[str]:
    """Ninja's, of all that these tests need."""
    files = {target["id"]: target["filename"] for target in _introspect("--targets")}
    return frozenset(os.path.relpath(file, BUILD) for test in tests for name in test.needs for file in files[name])


def run_one(test: MesonTest, nice: int = 0) -> Result:
    start = time.monotonic()
    # Not a pipe: what the test leaves behind may hold it open until it is ended, too.
    with tempfile.TemporaryFile() as output, Descendants():
        try:
            process = subprocess.Popen(
                [*_nicer(nice), *test.command], cwd=test.folder or BUILD, env=os.environ | test.environment,
                stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )
        except OSError as error:
            return Result(test.name, "failed", 0.0, f"{test.command[0]}: {error.strerror}")
        try:
            why = _follow(process, test.limit, output.fileno())
            if why:
                _ask_to_end(process)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        output.seek(max(0, os.fstat(output.fileno()).st_size - SHOWN))
        printed = output.read().decode("utf-8", "replace")
    if why:
        verdict, why = "failed", f"{test.name}: {why}, ended; {_last(printed)}"
    else:
        verdict = {0: "passed", SKIPPED: "skipped"}.get(process.returncode, "failed")
        why = f"exit status {process.returncode}" if verdict == "failed" else ""
    return Result(test.name, verdict, time.monotonic() - start,
                  f"{printed}\n{why}".rstrip() if verdict != "passed" else "")


def _nicer(nice: int) -> list[str]:
    return ["nice", "-n", str(nice)] if nice else []


def _follow(process: subprocess.Popen[bytes], limit: float, output: int) -> str | None:
    """Until it ends: None; or why it has to be ended."""
    clock = Clock(lambda: children_of(process.pid))
    moved = printed = used = 0.0
    while True:
        try:
            process.wait(0.02 if clock.given < 1 else 0.25)
            return None
        except subprocess.TimeoutExpired:
            given = clock.look()
        size = os.fstat(output).st_size
        if size != printed or abs(clock.processor - used) > IDLE:  # less than before: a child has ended
            moved, printed, used = given, size, clock.processor
        if size > PRINTED:
            return f"prints without end: {size >> 20} MiB so far"
        if given - moved > STILL:
            return f"stands still: no output and no use of a processor for {given - moved:.0f} s"
        if given > limit and given > limit * slowness():
            return f"not done within {limit:g} s of given time"


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """A program that stands still may say first what it was doing."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass


def _last(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.strip()]
    return f"the last that it said: {lines[-1].strip()}" if lines else "it said nothing"
