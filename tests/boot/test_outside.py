# SPDX-License-Identifier: BSD-2-Clause
"""Redis as the world sees it: through forwarded ports, with ordinary clients, in either cluster."""

import hashlib
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from deploy.base.timeouts import _waits, processor_seconds
from deploy.deployment import Redis
from deploy.machine.run import Run
from tests.boot.machine import ANSWER, assert_no_fault, client, machine, servers, with_redis
from topology.units import MIB

SIZES = [1, 2, 63, 64, 1459, 1460, 1461, 4095, 4096, 65535, 65536, 100_003, MIB, 3 * MIB + 7, 8 * MIB]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Two clusters: the network and a Redis in the first, two in the second; as large as they are by default."""
    with machine(replace(with_redis(), redis=Redis())) as running:
        running.wait_serving()
        yield running


def far(run: Run) -> str:
    """An instance whose frames cross the channel."""
    return servers(run)[-1]


def cli(run: Run, name: str, *words: str) -> str:
    host, port = run.address(name)
    done = subprocess.run(["redis-cli", "-h", host, "-p", str(port), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_redis_cli(run: Run) -> None:
    """redis-cli sets, gets and asks for information"""
    for name in servers(run):
        assert cli(run, name, "ping") == "PONG"
        assert cli(run, name, "set", "greeting", f"from {name}") == "OK"
        assert cli(run, name, "get", "greeting") == f"from {name}"
        assert "redis_version:7.0.15" in cli(run, name, "info", "server")


def test_types(run: Run) -> None:
    """strings, lists, hashes, sets, sorted sets and scripts work"""
    for name in servers(run):
        with client(run, name, decode_responses=True) as server:
            server.flushall()
            server.rpush("list", *range(1000))
            assert server.lrange("list", 0, -1) == [str(n) for n in range(1000)]
            server.hset("hash", mapping={f"field{n}": n for n in range(200)})
            assert server.hgetall("hash") == {f"field{n}": str(n) for n in range(200)}
            server.sadd("set", *range(500))
            assert server.scard("set") == 500
            server.zadd("ranks", {f"m{n}": n for n in range(300)})
            assert server.zrange("ranks", 298, 299) == ["m298", "m299"]
            assert server.eval("return redis.call('incrby', KEYS[1], ARGV[1])", 1, "count", 41) == 41
            assert server.incr("count") == 42


@pytest.mark.limit(240)
@pytest.mark.parametrize("pipeline", [1, 16])
def test_benchmark(run: Run, pipeline: int) -> None:
    """redis-benchmark ends without an error or a disconnect"""
    for name in servers(run):
        host, port = run.address(name)
        command = ["redis-benchmark", "-h", host, "-p", str(port), "-t", "set,get,incr,lpush,lrange,mset"]
        command += ["-n", "500", "-c", "20", "-P", str(pipeline), "--csv"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
        assert len(lines) == 11, done.stdout  # a heading and ten tests: LRANGE is five with its LPUSH
        assert "error" not in (done.stdout + done.stderr).lower(), done.stdout + done.stderr
    assert_no_fault(run)


def unused(run: Run) -> float:
    """Seconds in which no thread of the emulator ran or waited for a processor: a slow or busy host makes them no
    more."""
    return time.monotonic() - processor_seconds(run.pid) - max(_waits(run.pid).values()) / 1e9


@pytest.mark.limit(240)
def test_sizes(run: Run) -> None:
    """values from 1 byte to 8 MiB come back identical by checksum"""
    generator = random.Random(7)
    for name in (servers(run)[0], far(run)):
        with client(run, name) as server:
            server.flushall()
            for size in SIZES:
                value = generator.randbytes(size)
                idle: list[float] = []
                while not idle or idle[-1] >= 4:  # the host may stop the whole machine, once
                    assert len(idle) < 5, f"{size} bytes met a closed window each time: the peer asks again after 5 s: {idle}"
                    before = unused(run)
                    assert server.set("value", value)
                    idle.append(unused(run) - before)
                back = server.get("value")
                assert len(back) == size
                assert hashlib.sha256(back).digest() == hashlib.sha256(value).digest(), f"{size} bytes differ"
            server.flushall()


@pytest.mark.limit(240)
def test_connections(run: Run) -> None:
    """1,000 connections opened and closed leave memory where it was"""
    for name in (servers(run)[0], far(run)):
        used = []
        for _ in range(2):  # the first round fills the allocators' caches
            for _ in range(500):
                with socket.create_connection(run.address(name), ANSWER) as connection:
                    connection.settimeout(ANSWER)
                    connection.sendall(b"PING\r\n")
                    assert connection.recv(16) == b"+PONG\r\n"
            with client(run, name) as server:
                used.append(server.info("memory")["used_memory"])
                assert server.info("clients")["connected_clients"] < 10
        assert used[1] - used[0] < 64 * 1024, used
    assert_no_fault(run)


def test_vanishing_client(run: Run) -> None:
    """a client that disappears in the middle of a request harms no other"""
    for name in (servers(run)[0], far(run)):
        with client(run, name) as server:
            server.set("steady", "yes")
            for part in (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1000000\r\n" + bytes(5000), b"*2\r\n$3\r\nGE", b"*"):
                for abrupt in (False, True):
                    connection = socket.create_connection(run.address(name), ANSWER)
                    if abrupt:  # a reset in place of an orderly end
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                    connection.sendall(part)
                    connection.close()
                    assert server.get("steady") == b"yes"
            assert server.exists("x") == 0


def test_subscribers(run: Run) -> None:
    """a message published reaches every subscriber"""
    with client(run, far(run), decode_responses=True) as server:
        listeners = [server.pubsub(ignore_subscribe_messages=True) for _ in range(8)]
        for listener in listeners:
            listener.subscribe("news")
            listener.get_message(timeout=ANSWER)
        assert server.publish("news", "hello") == 8
        for listener in listeners:
            message = listener.get_message(timeout=ANSWER)
            assert message and message["data"] == "hello"
            listener.close()
