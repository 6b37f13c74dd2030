# SPDX-License-Identifier: BSD-2-Clause
"""A host on which everything takes many times as long: QEMU is stopped most of the time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from deploy.base import timeouts
from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.machine.run import Run
from tests.boot.machine import crash, deployment, machine, with_redis

RUNS, STANDS = 0.01, 0.29  # seconds: one part in thirty
SILENCE = 1.0  # seconds; less than the machine is silent on such a host, many times what it is of its own


@contextmanager
def slow(run: Run) -> Iterator[None]:
    """Stops the emulator for most of the time."""
    over = threading.Event()

    def throttle() -> None:
        while not over.is_set():
            try:
                os.kill(run.pid, signal.SIGSTOP)
                time.sleep(STANDS)
                os.kill(run.pid, signal.SIGCONT)
            except ProcessLookupError:
                return
            time.sleep(RUNS)

    thread = threading.Thread(target=throttle)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.limit(300)
def test_slow_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """a machine on a host that is thirty times slower is waited for, though it is silent for many times the patience"""
    monkeypatch.setattr(timeouts, "slowness", lambda: 1.0)
    silences: list[float] = []
    while not silences or silences[-1] <= 2 * SILENCE:  # a busy host may let it run for longer than it is meant to
        assert len(silences) < 5, f"it was never silent for long, which proves nothing: {silences}"
        silences.append(longest_silence())


def longest_silence() -> float:
    """Seconds, of a machine that starts on such a host."""
    longest = 0.0
    with machine(with_redis(), patience=Patience(SILENCE)) as run:
        last, events = time.monotonic(), -1

        def serving() -> bool:
            nonlocal last, events, longest
            longest = max(longest, time.monotonic() - last)
            if len(run.events.events) + len(run.console) > events:
                last, events = time.monotonic(), len(run.events.events) + len(run.console)
            return len(run.events.of("serving")) == 3

        with slow(run):
            run.wait_for(serving, "serving")
        assert run.running
    return longest


@pytest.mark.limit(120)
def test_hang_on_any_host() -> None:
    """a machine in which nothing moves any more is hung: what moved last and when is said, and how to wait longer"""
    target = deployment(1, 1, programs=(crash("fault", 0),), network=False)
    with pytest.raises(Failure, match=r"^hang: no end, and nothing moved for \d+ s \(last: .*--timeout S"):
        with machine(target, patience=Patience(3)) as run:
            run.wait_for(lambda: False, "end")
