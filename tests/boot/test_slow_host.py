# SPDX-License-Identifier: BSD-2-Clause
"""Slow hosts, slow ports, and patience with both."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from deploy.base import timeouts
from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench.failure.scene import end_cluster
from deploy.deployment import Deployment
from deploy.machine import qemu
from deploy.machine.run import Run
from tests.boot.machine import (
    ANSWER,
    assert_no_fault,
    client,
    crash,
    deployment,
    machine,
    machine_booted,
    machine_serving,
    servers,
    with_redis,
)
from tests.boot.test_restart_cluster import restarted
from topology.limits import EMULATED_PATIENCE

pytestmark = pytest.mark.drawn

# ---- A host on which everything takes many times as long: QEMU is stopped most of the time ----

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


# ---- A Redis that takes its frames slowly: what another behind the same switch notices of it ----

# Redis does nothing else meanwhile, nor does the lwIP inside it.
BUSY = """local function now() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end
local start = now() while now() - start < 900000 do end return 1"""
ROUNDS = 4
FLOODS = 60


def pings_while_busy(run: Run, slow: str, other: str) -> int:
    """Returns how many commands `other` answers while `slow` looks at its port once in 0.9 s."""
    began = time.monotonic()

    def be_busy() -> None:
        with client(run, slow) as server:
            for _ in range(ROUNDS):
                server.eval(BUSY, 0)
                print(f"{slow} was busy, {time.monotonic() - began:.1f} s after its client began")

    busy, answers = threading.Thread(target=be_busy), 0
    with client(run, other) as server:
        busy.start()
        while busy.is_alive():
            server.ping()
            answers += 1
    return answers


@pytest.mark.limit(240)
def test_busy_instance() -> None:
    """an instance that is flooded and takes its frames once a second leaves another its frames"""
    with machine_serving(with_redis(2, 2, "per-socket")) as run:
        slow, other = servers(run)[:2]
        for _ in range(6):  # the host may have more to do while one of the two is counted
            alone, flooded = alone_and_beside(run, slow, other)
            print(f"{other} answers {alone} commands, and {flooded} while {slow} is flooded")
            if flooded > alone / 6:  # a switch that waits for the slow one leaves 1/20
                break
        else:
            pytest.fail("the other one waits for the slow one")
        assert_no_fault(run)


def alone_and_beside(run: Run, slow: str, other: str) -> tuple[int, int]:
    """Commands that `other` answers, before or after `slow` is flooded, whatever is less, and meanwhile."""
    with ExitStack() as held:
        alone = pings_while_busy(run, slow, other)
        value = b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$65536\r\n" + b"x" * 65536 + b"\r\n"

        def flood(connection: socket.socket) -> None:
            with suppress(OSError):
                while True:
                    connection.sendall(value)

        threads = []
        for _ in range(FLOODS):
            connection = socket.create_connection(run.address(slow), ANSWER)
            connection.settimeout(ANSWER)
            held.callback(connection.close)
            held.callback(lambda one=connection: one.shutdown(socket.SHUT_RDWR))
            threads.append(threading.Thread(target=flood, args=(connection,), daemon=True))
            threads[-1].start()
        flooded = pings_while_busy(run, slow, other)
        held.close()
        for thread in threads:
            thread.join()
        return min(alone, pings_while_busy(run, slow, other)), flooded


# ---- How soon clusters notice each other's end, on machines whose clock counts instructions: the same on ----

LATE = 100  # ms that a verdict may come after the patience: the goal


def restarting(milliseconds: int | None = None) -> Deployment:
    return deployment(network=False, restart="on-failure", restart_limit=0, restart_delay=0,
                      failure_timeout=milliseconds)


def silence(run: Run, how: str, times: int) -> int:
    """Milliseconds of the machine's clock from the last sign of life to the verdict."""
    end_cluster(run, 1, how)
    run.wait_for(lambda: restarted(run, 1, times), "cluster 1 again")
    return int(run.events.of("cluster-lost", cluster=1)[-1]["silent_ms"])


@pytest.mark.limit(150)
def test_words_are_heard_at_once() -> None:
    """a panic is known within 2 ms of its last words, though ticks are 50 ms apart, and the cluster boots again in 100
    ms; emulated silence lasts 3 s"""
    with machine_booted(restarting(), accel=qemu.TCG_COUNTED) as run:
        for times in range(1, 4):
            assert silence(run, "panic", times) <= 2
            back = run.events.of("cluster-restarted")[-1]
            assert back["fence_ms"] <= 20 and back["after_ms"] <= 100
            assert run.console.count("  backtrace: ") == times, "somebody printed into the report, or cut it off"
        assert EMULATED_PATIENCE <= silence(run, "init", 4) <= EMULATED_PATIENCE + LATE


@pytest.mark.limit(150)
@pytest.mark.parametrize("milliseconds", [100, 400])
def test_of_the_deployment(milliseconds: int) -> None:
    """clusters are as patient as the deployment says, with each other's managers two thirds more"""
    with machine_booted(restarting(milliseconds), accel=qemu.TCG_COUNTED) as run:
        assert milliseconds <= silence(run, "init", 1) <= milliseconds + LATE
        assert milliseconds * 5 // 3 <= silence(run, "manager", 2) <= milliseconds * 5 // 3 + LATE
        assert not run.events.of("cluster-lost", cluster=0)
