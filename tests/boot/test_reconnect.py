# SPDX-License-Identifier: BSD-2-Clause
"""A client that comes again from the port of a connection that its server has just ended: TIME_WAIT refuses nobody.

What decides is the machine's own clock, and the quickest of many tries: a slow host delays some of them.
"""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from deploy.machine.run import Run
from tests.boot.machine import ANSWER, machine, servers, with_redis
from topology.units import MIB

TRIES = 12
WAIT = 0.5  # seconds of the machine: a SYN that is not answered at once is sent again after one, at the earliest


def from_port(run: Run, port: int) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    connection.settimeout(ANSWER)
    connection.bind(("127.0.0.1", port))
    connection.connect(run.address(servers(run)[0]))
    return connection


def time_of(connection: socket.socket) -> float:
    """The machine's clock, as Redis tells it."""
    connection.sendall(b"TIME\r\n")
    answer = b""
    while answer.count(b"\r\n") < 5:
        part = connection.recv(100)
        assert part, "the connection was reset"
        answer += part
    lines = answer.split(b"\r\n")
    return int(lines[2]) + int(lines[4]) / 1e6


@pytest.mark.limit(150)
@pytest.mark.parametrize("stack", ["inproc", "process"])
def test_reconnect(stack: str) -> None:
    """a SYN for a connection in TIME_WAIT opens a new one at once"""
    what = with_redis(1, 2, "spanning")
    assert what.redis
    took = []
    with machine(replace(what, redis=replace(what.redis, cpus=(1,), stack=stack, heap=256 * MIB))) as run:
        run.wait_serving()
        connection = from_port(run, 0)
        port = connection.getsockname()[1]
        for _ in range(TRIES):
            before = time_of(connection)
            connection.sendall(b"QUIT\r\n")
            assert connection.recv(100) == b"+OK\r\n" and connection.recv(1) == b""
            connection.close()
            connection = from_port(run, port)
            took.append(time_of(connection) - before)
        connection.close()
    assert min(took) < WAIT, took
