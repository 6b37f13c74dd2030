# SPDX-License-Identifier: BSD-2-Clause
"""Runs folders of Python tests in a pytest of their own and yields their results as they come."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from deploy.paths import LOGS, ROOT
from tests.result import Result

GRACE = 30.0  # seconds for a test that is past its own limit to come to an end


def run(folders: list[Path], only: str, started: Callable[[str], None]) -> Iterator[Result]:
    """`started(name)` is called as each test begins."""
    present = [str(folder) for folder in folders if folder.is_dir()]
    if not present:
        return
    LOGS.mkdir(parents=True, exist_ok=True)
    read, write = os.pipe()
    command = [sys.executable, "-m", "pytest", "-p", "tests.pytest_report", "-p", "no:cacheprovider", "--quiet"]
    command += ["--import-mode=importlib", "--rootdir", str(ROOT), "-c", os.devnull, *present]
    environment = os.environ | {"SKERRY_TEST_REPORT": str(write), "SKERRY_TEST_ONLY": only}
    log = LOGS / f"pytest-{folders[0].name}.log"
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[write], stdin=subprocess.DEVNULL,
                                   stdout=file, stderr=file, start_new_session=True)
    os.close(write)
    try:
        yield from _follow(process, read, started, log)
    finally:
        os.close(read)
        _end(process)


def _follow(process: subprocess.Popen[bytes], read: int, started: Callable[[str], None], log: Path) -> Iterator[Result]:
    selector = selectors.DefaultSelector()
    selector.register(read, selectors.EVENT_READ)
    rest = b""
    current, limit, pending = "collecting the tests", 120.0, False
    while True:
        if not selector.select(limit + GRACE):
            yield Result(current, "failed", limit + GRACE, f"does not end, killed\n{log.read_text(errors='replace')}")
            return
        data = os.read(read, 1 << 16)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message.pop("event") == "start":
                current, limit, pending = message["name"], message["limit"], True
                started(current)
            elif "outcome" in message:
                pending = False
                yield Result(**message)
    status = process.wait()
    if pending or status not in (0, 1, 2, 5):  # 1: tests failed, 2: could not collect, 5: no tests; reported already
        yield Result(current, "failed", 0.0, f"pytest ended with status {status}\n{log.read_text(errors='replace')}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever the tests left behind goes with them."""
    try:
        os.killpg(process.pid, signal.SIGTERM if process.poll() is None else signal.SIGKILL)
    except ProcessLookupError:
        return
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
