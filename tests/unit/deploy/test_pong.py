# SPDX-License-Identifier: BSD-2-Clause
"""The first +PONG, of a server that takes its time."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from deploy.base import readiness, timeouts
from deploy.base.errors import Failure
from tests.ports import reserved_port

SLOW = 0.3  # seconds until an answer


def serve(listener: socket.socket) -> None:
    def answer(connection: socket.socket) -> None:
        with connection:
            time.sleep(SLOW)
            try:
                connection.sendall(b"+PONG\r\n")
            except OSError:
                pass  # given up

    try:
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
    except OSError:
        pass  # the test is over


def test_slow_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """each try has twice the time of the one before, so that an answer comes that takes longer than the first tries"""
    monkeypatch.setattr(readiness, "_FIRST_TRY", SLOW / 30)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        began = time.monotonic()
        assert readiness.first_pong(listener.getsockname()) >= began + SLOW


def test_starved(monkeypatch: pytest.MonkeyPatch) -> None:
    """time in which the emulator has no processor does not count: an answer may come long after the limit"""
    monkeypatch.setattr(readiness, "_FIRST_TRY", 0.05)
    emulator = subprocess.Popen(["sleep", "100"])
    os.kill(emulator.pid, signal.SIGSTOP)
    while timeouts._stat(emulator.pid)[0] != "T":  # type: ignore[index]
        time.sleep(0.01)
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            late = threading.Timer(5 * SLOW, serve, (listener,))
            late.daemon = True
            late.start()
            began = time.monotonic()
            assert readiness.first_pong(listener.getsockname(), emulator.pid, SLOW) >= began + 5 * SLOW
    finally:
        emulator.kill()
        emulator.wait()


def test_none() -> None:
    """nobody there: what was waited for, and for how long"""
    address = ("127.0.0.1", reserved_port())
    with pytest.raises(Failure, match=f"no .PONG from 127.0.0.1:{address[1]} within [0-9.]+ s"):
        readiness.first_pong(address, os.getpid(), 0.1)


def test_no_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """a host without its loopback interface, as `unshare -n` makes one, is told so at once"""

    def unreachable(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", unreachable)
    with pytest.raises(Failure, match="loopback interface down"):
        readiness.first_pong(("127.0.0.1", 1))
