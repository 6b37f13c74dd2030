# SPDX-License-Identifier: BSD-2-Clause
"""Runs folders or files of Python tests in a pytest of their own and yields their results as they come."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from deploy.base.paths import LOGS, ROOT
from deploy.base.timeouts import Clock, children_of, slowness
from deploy.tools.testing.descendants import kill
from deploy.tools.testing.result import Result

GRACE = 30.0  # seconds of given time for a test that is past its own limit to come to an end
COLLECTING = 120.0
LOOK = 1.0  # seconds between looks at a test that says nothing


def run(paths: list[Path], only: str, started: Callable[[str], None]) -> Generator[Result, None, None]:
    """`started(name)` is called as each test begins. After a test that takes pytest with it another goes on."""
    present = [str(path) for path in paths if path.exists()]
    if not present:
        return
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"pytest-{paths[0].stem}.log"
    done, before = 0, -1
    while done > before:
        one = _Pytest(present, only, done, started, log)
        try:
            yield from one.results()
        finally:
            one.end()
        before, done = done, done + one.begun if one.lost else done


class _Pytest:
    """One pytest, which runs all tests but those that another has run."""

    def __init__(self, paths: list[str], only: str, done: int, started: Callable[[str], None], log: Path) -> None:
        self.begun = 0     # tests
        self.lost = False  # the last of them ended it
        self._started, self._log = started, log
        self._read, write = os.pipe()
        command = [sys.executable, "-m", "pytest", "-p", "deploy.tools.testing.pytest_report", "-p", "no:cacheprovider",
                   "--quiet"]
        command += ["--import-mode=importlib", "--rootdir", str(ROOT), "-c", os.devnull, *paths]
        words = {"SKERRY_TEST_REPORT": str(write), "SKERRY_TEST_ONLY": only, "SKERRY_TEST_DONE": str(done)}
        with log.open("a" if done else "w") as file:
            self._process = subprocess.Popen(command, cwd=ROOT, env=os.environ | words, pass_fds=[write],
                                             stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
        os.close(write)

    def results(self) -> Iterator[Result]:
        rest = b""
        name, limit, pending = "collecting the tests", COLLECTING, False
        clock = Clock(lambda: children_of(self._process.pid))
        with selectors.DefaultSelector() as selector:
            selector.register(self._read, selectors.EVENT_READ)
            while True:
                while not selector.select(LOOK):
                    given = clock.look()
                    given /= slowness() if given > limit else 1
                    if given > limit and pending:
                        os.kill(self._process.pid, signal.SIGALRM)
                    if given > limit + GRACE:
                        self.lost = True
                        yield Result(name, "failed", clock.given, f"does not end, killed; {self._last_output()}")
                        return
                data = os.read(self._read, 1 << 16)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    message = json.loads(line)
                    if message.pop("event") == "start":
                        name, limit, pending = message["name"], message["limit"], True
                        self.begun += 1
                        self._started(name)
                    elif "outcome" in message:
                        pending = False
                        yield Result(**message)
                    clock = Clock(lambda: children_of(self._process.pid))
        status = self._process.wait()
        # 1: tests failed, 2: could not collect, 5: no tests; reported already
        if pending or status not in (0, 1, 2, 5):
            self.lost = pending
            yield Result(name, "failed", 0.0, f"pytest ended with status {status}; {self._last_output()}")

    def _last_output(self) -> str:
        return f"its last output:\n{self._log.read_text(errors='replace')}"

    def end(self) -> None:
        os.close(self._read)
        _end(self._process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever the tests left behind goes with them."""
    try:
        os.killpg(process.pid, signal.SIGTERM if process.poll() is None else signal.SIGKILL)
    except ProcessLookupError:
        return
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        kill(process.pid)
        process.wait()
