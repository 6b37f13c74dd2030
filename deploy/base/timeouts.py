# SPDX-License-Identifier: BSD-2-Clause
"""When something that runs counts as hung: when nothing of it moves, never because the host is slow.

What is counted is not wall time but *given time*: time in which the processes had a processor, or wanted none. Time
spent waiting for a processor, or stopped, does not count. A host whose processors are slow gets more of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from deploy.base.errors import Failure

LONGER = "; --timeout S waits S seconds instead"  # for commands that have the option
_STEP = 0.25        # seconds between looks into /proc
_LONGEST = 2.0      # seconds that count of the time between two looks: the observer was starved or asleep, too
_STOPPED = 10.0     # seconds for which a process that was seen stopped is given what it uses of a processor, only
_LOOP = 100_000     # turns of the loop that measures the host
_USUAL = 0.015      # seconds of processor time that these take on a host of 2020
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Patience:
    """`silence`: seconds of given time in which something must move. `limit`: wall time, where the user sets one."""

    silence: float = 120.0
    limit: float | None = None  # then this alone decides

    def times(self, factor: float) -> Patience:
        return Patience(factor * self.silence, None if self.limit is None else factor * self.limit)

    def times_load(self) -> Patience:
        """Scales the timeout by the load average: for processes of others, whose wait for a processor cannot be
        read."""
        return replace(self, silence=self.silence * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))

    def on_wall(self) -> float:
        """Seconds of wall time, for an answer that shows no progress until it comes: a slow or busy host has more of
        them."""
        return self.times_load().silence * slowness()

    def plus(self, seconds: float) -> Patience:
        """Adds seconds for work that is done in silence."""
        return replace(self, silence=self.silence + seconds)


FOREVER = Patience(float("inf"))


@cache
def slowness() -> float:
    """Returns how many times slower than usual one processor of this host is; at least 1."""
    least = float("inf")
    for _ in range(3):
        start, value = time.thread_time(), 1
        for _ in range(_LOOP):
            value = value * 33 + 7 & 0xFFFF
        least = min(least, time.thread_time() - start)
    return max(1.0, least / _USUAL)


def children_of(root: int) -> list[int]:
    """A process and all below it."""
    below = children()
    family = [root]
    for pid in family:  # grows meanwhile
        family += below.get(pid, [])
    return family


def children() -> dict[int, list[int]]:
    """The children of each process that has any."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # not glob(): it fails if a process ends while it looks
        if name.isdecimal() and (stat := _stat(int(name))):
            below.setdefault(int(stat[1]), []).append(int(name))
    return below


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat behind the name: state, parent, … ; nothing of a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def processor_seconds(pid: int) -> float:
    """That a process has used so far, all its threads together; a failure if it is gone."""
    stat = _stat(pid)
    if not stat:
        raise Failure(f"process {pid} has ended")
    return (int(stat[11]) + int(stat[12])) / _TICK


def _waits(pid: int) -> dict[int, int]:
    """Nanoseconds that each thread of a process has waited for a processor so far."""
    waits = {}
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                waits[int(task)] = int(file.read().split()[1])
    except (OSError, IndexError):
        pass  # gone, or a kernel without these numbers: all time counts
    return waits


class Clock:
    """Given time of some processes, in seconds. The first of them leads: it is the one that may be stopped."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self._at = time.monotonic()
        self._waited: dict[int, int] = {}
        self._stopped_at = float("-inf")
        self.given = 0.0      # so far
        self.processor = 0.0  # seconds that those which live have used
        self._look()

    def look(self) -> float:
        """The time so far; looks at the processes now and then only."""
        if time.monotonic() - self._at >= _STEP:
            self._look()
        return self.given

    def _look(self) -> None:
        before, self._at = self._at, time.monotonic()
        waited: dict[int, int] = {}
        first, ticks = "", 0
        for pid in self._pids():
            if stat := _stat(pid):
                first = first or stat[0]
                ticks += int(stat[11]) + int(stat[12])
                waited |= _waits(pid)
        most = max((waits - self._waited[task] for task, waits in waited.items() if task in self._waited), default=0)
        share = max(0.0, min(self._at - before, _LONGEST) - most / 1e9)
        if first in ("T", "t"):  # stopped, by a signal or a debugger
            self._stopped_at = self._at
        if self._at - self._stopped_at < _STOPPED:
            share = min(share, max(0.0, ticks / _TICK - self.processor))
        self._waited, self.processor = waited, ticks / _TICK
        self.given += share


class Watch:
    """Over a process that is to get somewhere: what moved last, and whether that is too long ago."""

    def __init__(self, pid: int | None) -> None:
        """Watches a process by its id; without one (it is another host's, or another user's) all time counts."""
        self._clock = Clock(lambda: [] if pid is None else [pid])
        self.moved("its start")

    def moved(self, what: str) -> None:
        self._what, self._when = what, time.monotonic()
        self._given, self._processor = self._clock.look(), self._clock.processor

    @property
    def quiet(self) -> float:
        """Given time since something moved."""
        return self._clock.look() - self._given

    def overdue(self, goal: str, timeout: Patience, since: float) -> str | None:
        """Why to give up, in words. `since`: time.monotonic() when waiting began."""
        quiet, now = self.quiet, time.monotonic()
        if timeout.limit is not None:
            if now - since <= timeout.limit:
                return None
            return f"{goal} within {timeout.limit:g} s, the limit of --timeout ({self._last(now)})"
        if quiet <= timeout.silence or quiet <= timeout.silence * slowness():
            return None
        return f"hang: {goal}, and nothing moved for {quiet:.0f} s ({self._last(now)}){LONGER}"

    def _last(self, now: float) -> str:
        used = max(0.0, self._clock.processor - self._processor)
        return f"last: {self._what}, {now - self._when:.0f} s ago; {used:.1f} s of processor time since"
