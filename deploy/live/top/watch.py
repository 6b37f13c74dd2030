# SPDX-License-Identifier: BSD-2-Clause
"""Sample after sample: as lines, or on a screen with keys."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from deploy.base.errors import Failure
from deploy.live.top.sample import Sample, between
from deploy.live.top.source import Look, Source
from deploy.live.top.terminal import QUIT, Terminal, decode, press
from deploy.live.top.view import FRAME, HELP, State, rows, screen

_TICK = 0.25  # seconds in which a new size is noticed


def samples(source: Source, interval: float, count: int | None) -> Iterator[Sample]:
    """One each interval; raises source.Ended with the machine. `count` None: for ever."""
    earlier = source.look()
    if not earlier.snapshots:
        raise Failure("no cluster has started yet")
    while count is None or count > 0:
        time.sleep(max(0.0, earlier.at + interval - time.monotonic()))
        later = source.look()
        yield between(earlier, later)
        earlier = later
        count = None if count is None else count - 1


class Watch:
    """The machine is looked at by a thread of its own, so that keys are heeded while it is slow to answer."""

    def __init__(self, source: Source, terminal: Terminal, interval: float, count: int | None) -> None:
        self.taken: list[Sample] = []
        self._source = source
        self._terminal = terminal
        self._left = count
        self._state = State(interval=interval)
        self._shown: Sample | None = None
        self._earlier: Look | None = None
        self._looking: Future[Look] | None = None

    def run(self, keep: bool = False) -> None:
        """Until q, `count` samples or source.Ended. `keep`: all samples stay in `taken`."""
        with ThreadPoolExecutor(1) as thread:
            while self._left is None or self._left > 0:
                self._draw()
                if not self._heed():
                    return
                self._look(thread, keep)

    def _draw(self) -> None:
        width, height = self._terminal.size()
        self._terminal.draw(screen(self._source.name, self._source.emulated, self._shown, self._state, width, height))

    def _due(self) -> float:
        return self._earlier.at + self._state.interval if self._earlier else 0.0

    def _heed(self) -> bool:
        """Waits for keys a moment; whether to go on."""
        wait = _TICK / 4 if self._looking else min(_TICK, max(0.01, self._due() - time.monotonic()))
        typed = self._terminal.keys(_TICK if self._state.paused and not self._looking else wait)
        if typed is None:
            raise Failure("the terminal is gone")
        for key in decode(typed):
            if key == QUIT:
                return False
            page = max(0, self._terminal.size()[1] - FRAME)
            count = len(HELP) if self._state.help else len(rows(self._shown, self._state.view)) if self._shown else 0
            self._state = press(self._state, key, count, page)
        return True

    def _look(self, thread: ThreadPoolExecutor, keep: bool) -> None:
        if self._looking is None:
            if not self._state.paused and time.monotonic() >= self._due():
                self._looking = thread.submit(self._source.look)
            return
        if not self._looking.done():
            return
        later, self._looking = self._looking.result(), None
        if self._earlier is not None and self._earlier.snapshots:
            sample = between(self._earlier, later)
            self._left = None if self._left is None else self._left - 1
            if keep:
                self.taken.append(sample)
            if not self._state.paused:
                self._shown = sample
        self._earlier = later
