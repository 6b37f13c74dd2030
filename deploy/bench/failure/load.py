# SPDX-License-Identifier: BSD-2-Clause
"""A client of one Redis, from outside: writes numbers, reads them back, counts answers, survives the server's end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deploy.results.survival import Survivor

T = TypeVar("T")
KEYS = 500
SLOT_NS = 100_000_000  # a step of the time line
TRY = 2.0     # seconds until a connection, or an answer, is given up
_MOST = 60.0  # seconds of an attempt, on a host that takes as long
_PAUSE = 0.1  # seconds between a loss and the next attempt
_JOIN = 3 * TRY  # seconds for the thread's end


@dataclass(frozen=True)
class Window:
    """The requests, errors and longest wait of a load between two readings."""

    requests: int = 0
    errors: int = 0
    longest: float = 0.0  # seconds for an answer, one that is still awaited included
    broken: int = 0  # several clients: those with an error, which ends a connection


class Load(threading.Thread):
    """One request at a time, until `over` is set.

    Numbers only grow. Invariant: a read returns the last acknowledged write of its key in this life of the server, or a
    write without an answer that came after it. What contradicts that is a line of `wrong`.
    """

    def __init__(self, name: str, address: tuple[str, int], seed: int, silence: float = TRY) -> None:
        super().__init__(daemon=True, name=f"load of {name}")
        self.server, self.address, self.silence = name, address, silence
        self._wait = silence  # twice as long after each attempt in vain
        self.over = threading.Event()
        self.wrong: list[str] = []
        self.writes = 0      # that were acknowledged
        self.lives = 0       # the server's lives, as far as they were seen
        self.forgotten = 0   # reads that found nothing of what the server's former life had
        self._draw = random.Random(f"{seed} {name}")
        self._number = 0
        self._first = 0      # number of this life's first write, less one
        self._run_id = ""
        self._connection = 0  # its id at the server
        self._known: dict[str, int] = {}   # key: number of the last acknowledged write
        self._unsure: dict[str, int] = {}  # key: number of a later write without an answer
        self._former: set[str] = set()     # keys of the life before
        self._lock = threading.Lock()      # for the state below
        self._start_ns = self._last_ns = time.monotonic_ns()
        self._counts: list[int] = []
        self._gaps: list[tuple[int, int]] = []
        self._asked_ns: int | None = None  # a request is under way since
        self._is_lost = False
        self._unanswered = {False: 0, True: 0}  # reads, writes
        self._window = Window()
        self._window_ns = self._start_ns

    # --- the thread ---

    def run(self) -> None:
        while not self.over.is_set():
            try:
                with self._connected() as server:
                    self._begin(server)
                    self._wait = self.silence
                    while not self.over.is_set():
                        self._operate(server)
            except (redis.RedisError, OSError):
                if not self.over.is_set():
                    self._wait = min(2 * self._wait, _MOST)
                    self._lost()
                    self.over.wait(_PAUSE)

    @contextmanager
    def _connected(self) -> Iterator[redis.Redis]:
        host, port = self.address
        server = redis.Redis(
            host=host, port=port, socket_timeout=self._wait, socket_connect_timeout=self._wait,
            single_connection_client=True, retry=Retry(NoBackoff(), 0), protocol=2, driver_info=None,
        )  # fmt: skip
        try:
            yield server
        finally:
            server.close()

    def _begin(self, server: redis.Redis) -> None:
        """Finds out which life of the server this is. In the same one, a request of the lost connection may wait at the
        server still, and would be carried out after later ones: the server closes that connection."""
        run_id = str(server.info("server")["run_id"])
        if run_id != self._run_id:
            self._run_id, self._first = run_id, self._number
            self._former, self._known, self._unsure = set(self._known), {}, {}
            self.lives += 1
        elif self._connection:
            server.client_kill_filter(_id=str(self._connection))
        self._connection = int(server.client_id())

    def _operate(self, server: redis.Redis) -> None:
        key = f"key:{self._draw.randrange(KEYS)}"
        self._check(key, self._timed(lambda: server.get(key), False))
        self._number += 1
        self._unsure[key] = self._number
        self._timed(lambda: server.set(key, self._number), True)
        self._known[key] = self._number
        del self._unsure[key]
        self.writes += 1

    def _check(self, key: str, answer: bytes | str | None) -> None:
        possible = {self._known.get(key), self._unsure.get(key, self._known.get(key))}
        if answer is None and key in self._former and key not in self._known:
            self._former.discard(key)
            self.forgotten += 1
        try:
            value = None if answer is None else int(answer)
        except ValueError:
            value = -1
        if value in possible:
            return
        what = (
            "of a former life of its server" if value is not None
            and 0 < value <= self._first else f"none of {possible}"
        )
        self.wrong.append(f"{self.server} {key}: {answer!r} is {what}")

    def _timed(self, request: Callable[[], T], is_write: bool) -> T:
        with self._lock:
            self._asked_ns = time.monotonic_ns()
        try:
            answer = request()
        except (redis.RedisError, OSError):
            self._unanswered[is_write] += 1
            raise
        self._answered()
        return answer

    def _answered(self) -> None:
        with self._lock:
            now = time.monotonic_ns()
            took = (now - (self._asked_ns or now)) / 1e9
            self._asked_ns = None
            slot = (now - self._start_ns) // SLOT_NS
            self._counts += [0] * (slot + 1 - len(self._counts))
            self._counts[slot] += 1
            if self._is_lost:
                self._is_lost = False
                self._gaps.append((self._last_ns, now))
            self._last_ns = now
            self._window = Window(self._window.requests + 1, self._window.errors, max(self._window.longest, took))

    def _lost(self) -> None:
        with self._lock:
            self._is_lost = True
            self._asked_ns = None
            since = (time.monotonic_ns() - max(self._last_ns, self._window_ns)) / 1e9
            self._window = Window(self._window.requests, self._window.errors + 1, max(self._window.longest, since))

    # --- others ---

    def window(self) -> Window:
        """Returns the window since the last call. A request under way counts with the time that it has taken."""
        with self._lock:
            now = time.monotonic_ns()
            waiting = (now - self._asked_ns) / 1e9 if self._asked_ns else 0.0
            window = Window(self._window.requests, self._window.errors, max(self._window.longest, waiting))
            self._window, self._window_ns = Window(), now
            return window

    def rate(self, first_ns: int, end_ns: int) -> float:
        """Answers a second in the whole slots of a stretch of time.monotonic_ns()."""
        with self._lock:
            first, end = ((at - self._start_ns) // SLOT_NS for at in (first_ns, end_ns))
            return sum(self._counts[max(0, first) : max(0, end)]) / max(1, end - first) * 1e9 / SLOT_NS

    def stop(self) -> None:
        self.over.set()
        self.join(_JOIN)

    def survivor(self) -> Survivor:
        """Returns the record that a client in the machine would report."""
        with self._lock:
            slots = (time.monotonic_ns() - self._start_ns) // SLOT_NS + 1
            return Survivor(
                client=f"outside, {self.server}", server="{}:{}".format(*self.address), start_ns=self._start_ns,
                slot_ns=SLOT_NS, counts=(*self._counts, *[0] * (slots - len(self._counts))), gaps=tuple(self._gaps),
                reads=self._unanswered[False], updates=self._unanswered[True], lives=max(1, self.lives),
                forgotten=self.forgotten,
            )  # fmt: skip
