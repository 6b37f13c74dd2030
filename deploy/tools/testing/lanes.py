# SPDX-License-Identifier: BSD-2-Clause
"""Runs tests side by side in lanes, each a process of its own (lane.py).

A lane runs the folders of Python tests that are its own, one test at a time. Then it asks for orders: a few of the
files of Python tests that boot machines, or one of the components' tests. The first lanes take the former as long as
there are any, the others the latter; then each takes what is left. Machines take longest and wait much: two of them at
a time leave a processor seldom idle, and they come before the components' tests where all want a processor.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from deploy.base.paths import LOGS, ROOT
from deploy.tools.testing.descendants import kill
from deploy.tools.testing.meson_tests import MesonTest
from deploy.tools.testing.result import Result

BOOTING = 2   # lanes that take the files of boot tests first
PARCEL = 4    # of these files that a lane gets at a time, at most: one start of pytest for them
PRIORITY = 5  # of components' tests in all lanes but those, as nice(1) has it
GRACE = 20.0  # seconds in which a lane ends what it has started


def width() -> int:
    """Two lanes more than processors: a machine computes for a second of the seven that its test takes."""
    return len(os.sched_getaffinity(0)) + 2


class _Waiting:
    """Tests that no lane has been given yet."""

    def __init__(self, files: Sequence[Path], components: Sequence[MesonTest], whole: bool) -> None:
        """`whole`: all files are one parcel."""
        self.files = deque(files)
        self.components = deque(components)
        self._whole = whole

    def next(self, booting: bool) -> dict[str, Any] | None:
        """An order for a lane, which waits until it is taken. Towards the end parcels are small, so that lanes end
        together."""
        if self.files and (booting or not self.components):
            parcel = len(self.files) if self._whole else min(PARCEL, 1 + len(self.files) // (2 * PARCEL))
            return {"files": [str(path) for path in list(self.files)[:parcel]]}
        return {"component": asdict(self.components[0])} if self.components else None

    def taken(self, order: dict[str, Any]) -> None:
        for _ in order.get("files", ()):
            self.files.popleft()
        if "component" in order:
            self.components.popleft()

    def names(self) -> list[str]:
        return [path.stem for path in self.files] + [test.name for test in self.components]


def run(folders: Sequence[list[Path]], files: Sequence[Path], components: Sequence[MesonTest], only: str,
        started: Callable[[str], None]) -> Iterator[Result]:  # fmt: skip
    """Results as they come; `folders` has a lane each, `files` go to the first lanes first. `started(name)` is called
    as each test begins."""
    LOGS.mkdir(parents=True, exist_ok=True)
    waiting = _Waiting(files, components, bool(only))  # few tests are not worth many starts
    lanes: list[_Lane] = []
    try:
        for number, own in enumerate(folders):
            lanes.append(_Lane(number, own, only))
        with selectors.DefaultSelector() as selector:
            for lane in lanes:
                selector.register(lane.report, selectors.EVENT_READ, lane)
            while selector.get_map():
                for key, _ in selector.select():
                    ended: _Lane = key.data
                    messages = ended.read()
                    if messages is None:
                        selector.unregister(ended.report)
                        yield from ended.lost()
                        continue
                    for message in messages:
                        yield from ended.heed(message, waiting, started)
        for name in waiting.names():  # no lane has been left to run it
            yield Result(name, "failed", 0.0, "not run: the processes that run the tests have ended")
    finally:
        for lane in lanes:
            lane.tell_to_end()
        for lane in lanes:
            lane.end()


class _Lane:
    """The runner's side of one."""

    def __init__(self, number: int, folders: list[Path], only: str) -> None:
        self.report, write = os.pipe()
        self._booting = number < BOOTING
        self._log = LOGS / f"tests-{number}.log"
        self._name = ""  # of the test that runs
        self._rest = b""
        words = [str(write), str(os.getpid()), str(0 if self._booting else PRIORITY), only, *map(str, folders)]
        with self._log.open("w") as file:
            self._process = subprocess.Popen([sys.executable, "-m", "deploy.tools.testing.lane", *words], cwd=ROOT,
                                             pass_fds=[write],
                                             stdin=subprocess.PIPE, stdout=file, stderr=file, start_new_session=True)
        os.close(write)
        assert self._process.stdin
        self._orders: IO[bytes] = self._process.stdin

    def read(self) -> list[dict[str, Any]] | None:
        """Returns the reports that have come; None at its end."""
        data = os.read(self.report, 1 << 16)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def heed(self, message: dict[str, Any], waiting: _Waiting, started: Callable[[str], None]) -> Iterator[Result]:
        event = message.pop("event")
        if event == "start":
            self._name = message["name"]
            started(self._name)
        elif event == "result":
            self._name = ""
            yield Result(**message)
        elif order := waiting.next(self._booting):
            self._give(order, waiting)
        else:
            self._orders.close()

    def _give(self, order: dict[str, Any], waiting: _Waiting) -> None:
        try:
            self._orders.write(json.dumps(order).encode() + b"\n")
            self._orders.flush()
        except BrokenPipeError:
            return  # it is about to be found lost; the order remains for others
        waiting.taken(order)

    def lost(self) -> Iterator[Result]:
        """A failure, where it has not ended as it should."""
        status = self._process.wait()
        if status or self._name:
            said = self._log.read_text(errors="replace")
            yield Result(self._name or "the processes that run the tests", "failed", 0.0,
                         f"the process that ran it ended with status {status}; its last output:\n{said}")

    def tell_to_end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()

    def end(self) -> None:
        os.close(self.report)
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            kill(self._process.pid)
            self._process.wait()
        try:
            self._orders.close()
        except BrokenPipeError:
            pass
