# SPDX-License-Identifier: BSD-2-Clause
"""A Redis that takes its frames slowly: what another behind the same switch notices of it."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest

from deploy.machine.run import Run
from tests.boot.machine import ANSWER, assert_no_fault, client, machine, servers, with_redis

# Redis does nothing else meanwhile, nor does the lwIP inside it.
BUSY = """local function now() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end
local start = now() while now() - start < 900000 do end return 1"""
ROUNDS = 4
FLOODS = 60


def pings_while_busy(run: Run, slow: str, other: str) -> int:
    """How many commands `other` answers while `slow` looks at its port once in 0.9 s."""
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
    with machine(with_redis(2, 2, "per-socket")) as run:
        run.wait_serving()
        slow, other = servers(run)[:2]
        for _ in range(6):  # the host may have more to do while one of the two is counted
            alone, beside = alone_and_beside(run, slow, other)
            print(f"{other} answers {alone} commands, and {beside} while {slow} is flooded")
            if beside > alone / 6:  # a switch that waits for the slow one leaves 1/20
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
        beside = pings_while_busy(run, slow, other)
        held.close()
        for thread in threads:
            thread.join()
        return min(alone, pings_while_busy(run, slow, other)), beside
