# SPDX-License-Identifier: BSD-2-Clause
"""Clients that ask for much and read nothing: all others are served, whichever process has lwIP.

What decides is that others' requests are answered while the hogs stay open, never how long that takes.
"""

import hashlib
import random
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from deploy.machine.run import Run
from tests.boot.machine import assert_no_fault, client, machine, servers, with_redis
from topology.units import MIB

pytestmark = pytest.mark.drawn

HOGS = 150
ANSWER = 90  # seconds for one answer: only a machine that stands still takes so long
VALUE = random.Random(11).randbytes(MIB)
WANTED = b"$%d\r\n" % len(VALUE) + VALUE + b"\r\n"


@pytest.fixture(scope="module", params=["process", "inproc"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """One Redis with room for the answers of all hogs in its own output buffers."""
    what = with_redis(1, 2, "spanning")
    assert what.redis
    unlimited = (*what.redis.args, "--maxmemory", "0")
    hosting = replace(what.redis, cpus=(1,), stack=request.param, heap=640 * MIB, args=unlimited)
    with machine(replace(what, redis=hosting)) as running:
        running.wait_serving()
        with client(running, servers(running)[0], socket_timeout=ANSWER) as server:
            server.set("large", VALUE)
        yield running


def connected(run: Run) -> socket.socket:
    connection = socket.create_connection(run.address(servers(run)[0]), ANSWER)
    connection.settimeout(ANSWER)
    return connection


def ping(connection: socket.socket, times: int) -> None:
    for _ in range(times):
        connection.sendall(b"PING\r\n")
        assert connection.recv(16) == b"+PONG\r\n"


def hogs(run: Run, stack: ExitStack, count: int = HOGS) -> list[socket.socket]:
    """Connections that have asked for the large value and read nothing; the instance has an answer for each.

    Each is answered once before the first asks: QEMU drops a connection without an error when its SYN is lost for 75 s.
    """
    held = [stack.enter_context(connected(run)) for _ in range(count)]
    for connection in held:
        ping(connection, 1)
    for connection in held:
        connection.sendall(b"GET large\r\n")
    return held


def read_all(connection: socket.socket) -> bytes:
    got = bytearray()
    while len(got) < len(WANTED) and (part := connection.recv(1 << 20)):
        got += part
    return bytes(got)


def large_answers(run: Run) -> int:
    """Returns how many GETs of the large value Redis has carried out."""
    with client(run, servers(run)[0], socket_timeout=ANSWER) as server:
        return int(server.info("commandstats").get("cmdstat_get", {"calls": 0})["calls"])


@pytest.mark.limit(400)
@pytest.mark.parametrize("end", ["read", "reset"])
def test_unread_answers(run: Run, end: str) -> None:
    """150 unread answers of 1 MiB hold up nobody; read late, they are whole; reset, their memory is back"""
    before = large_answers(run)
    with ExitStack() as stack:
        other = stack.enter_context(connected(run))
        ping(other, 1)
        held = hogs(run, stack)
        ping(other, 200)
        while (arrived := large_answers(run) - before) < HOGS:  # a busy host delivers the last ones late
            ping(other, 20)
        assert arrived == HOGS
        with client(run, servers(run)[0], socket_timeout=ANSWER) as server:
            for number in range(20):
                assert server.set("small", number) and server.get("small") == str(number).encode()
            assert server.get("large") == VALUE
        for connection in held:
            if end == "read":
                digest = hashlib.sha256(read_all(connection)).digest()
                assert digest == hashlib.sha256(WANTED).digest(), "a hog's answer differs"
            else:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        ping(other, 20)
    assert_no_fault(run)


@pytest.mark.limit(300)
def test_again(run: Run) -> None:
    """after the hogs, as many as before are served again, and an answer of 8 MiB is whole"""
    value = random.Random(12).randbytes(8 * MIB)
    with client(run, servers(run)[0], socket_timeout=ANSWER) as server:
        for _ in range(2):
            with ExitStack() as stack:
                hogs(run, stack, 100)
                ping(stack.enter_context(connected(run)), 20)
                assert server.set("larger", value) and server.get("larger") == value
        server.delete("larger")
    assert_no_fault(run)


@pytest.mark.limit(300)
def test_thousand(run: Run) -> None:
    """1,000 connections are open at a time, and each is answered"""
    with client(run, servers(run)[0], socket_timeout=ANSWER) as server:
        with ExitStack() as stack:
            held = [stack.enter_context(connected(run)) for _ in range(1000)]
            for connection in held:
                ping(connection, 1)
            assert server.info("clients")["connected_clients"] >= 1000
        while server.info("clients")["connected_clients"] > 1:  # while they last, a stack process resets the next ones
            pass
    assert_no_fault(run)


@pytest.mark.limit(300)
def test_benchmark_beside_hogs(run: Run) -> None:
    """redis-benchmark with 16 commands in flight ends without an error while hogs are open"""
    with ExitStack() as stack:
        hogs(run, stack, 100)
        host, port = run.address(servers(run)[0])
        command = ["redis-benchmark", "-h", host, "-p", str(port), "-t", "set,get", "-n", "2000", "-c", "20", "-P",
                   "16", "--csv"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert len(re.findall(r'^"(?:SET|GET)"', done.stdout, re.MULTILINE)) == 2, done.stdout
        assert "error" not in (done.stdout + done.stderr).lower(), done.stdout + done.stderr
    assert_no_fault(run)
