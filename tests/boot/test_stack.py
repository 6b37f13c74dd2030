# SPDX-License-Identifier: BSD-2-Clause
"""Redis with its lwIP in a process of its own (stack = "process"), beside what other tests do with it inside."""

import random
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from deploy.deployment.planner import plan
from deploy.machine.run import Run
from tests.boot.machine import ANSWER, assert_no_fault, client, machine, servers, with_redis
from topology.units import MIB


@pytest.fixture(scope="module", params=["process", "inproc"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """One cluster of the network and a Redis, and one whose frames cross the channel."""
    what = with_redis(2, 2, "per-socket")
    assert what.redis
    with machine(replace(what, redis=replace(what.redis, heap=256 * MIB, cpus=(1, 3), stack=request.param))) as running:
        running.wait_serving()
        yield running


def test_who_runs_lwip(run: Run) -> None:
    """each instance has a stack process, or none"""
    stacks = [app.name for app in run.plan.cluster_map.applications if app.program == "stack"]
    named = [app.stack for app in run.plan.cluster_map.applications if app.program == "redis-server"]
    assert named == (stacks or [None, None])
    started = {event["app"] for event in run.events.of("started")}
    assert set(stacks) <= started


def test_commands(run: Run) -> None:
    """PING, SET and GET are answered by each instance"""
    for name in servers(run):
        with client(run, name) as server:
            assert server.ping()
            assert server.set("who", name) and server.get("who") == name.encode()


def test_pipeline(run: Run) -> None:
    """2,000 commands in one write are answered in order, and so are as many keys"""
    for name in servers(run):
        with client(run, name) as server:
            server.flushall()
            pipe = server.pipeline(transaction=False)
            for number in range(2000):
                pipe.set(f"key:{number}", number)
                pipe.get(f"key:{number}")
            answers = pipe.execute()
            assert answers[1::2] == [str(number).encode() for number in range(2000)] and all(answers[::2])
            assert server.dbsize() == 2000


def test_connections(run: Run) -> None:
    """20 connections at a time, 200 in all, and none is left"""
    for name in servers(run):
        for _ in range(10):
            held = [socket.create_connection(run.address(name), ANSWER) for _ in range(20)]
            for connection in held:
                connection.settimeout(ANSWER)
                connection.sendall(b"PING\r\n")
            for connection in held:
                assert connection.recv(16) == b"+PONG\r\n"
                connection.close()
        with client(run, name) as server:
            assert server.info("clients")["connected_clients"] < 10
    assert_no_fault(run)


def test_big_values(run: Run) -> None:
    """values around the size of a socket's buffer, and of 3 MiB, come back whole"""
    generator = random.Random(5)
    for name in servers(run):
        with client(run, name) as server:
            for size in (1, 8191, 8192, 8193, 65536, 3 * MIB + 7):
                value = generator.randbytes(size)
                assert server.set("value", value)
                assert server.get("value") == value, f"{size} bytes differ"


def test_slow_reader(run: Run) -> None:
    """a client that does not read holds up no other, and gets all of its answer in the end"""
    value = random.Random(9).randbytes(4 * MIB)
    for name in servers(run):
        with client(run, name) as server:
            server.set("large", value)
            with socket.create_connection(run.address(name), ANSWER) as lazy:
                lazy.settimeout(ANSWER)
                lazy.sendall(b"GET large\r\n")
                for number in range(50):
                    assert server.incr("count") == number + 1
                expected, got = b"$%d\r\n" % len(value) + value + b"\r\n", bytearray()
                while len(got) < len(expected) and (part := lazy.recv(1 << 20)):
                    got += part
                assert got == expected
            server.flushall()
    assert_no_fault(run)


def test_stack_that_dies() -> None:
    """Redis whose stack process is killed ends with an error in place of waiting for ever"""
    what = with_redis(1, 2, "spanning")
    assert what.redis
    target = plan(replace(what, redis=replace(what.redis, stack="process")))
    redis, stack = (next(a for a in target.cluster_map.applications if a.base_name == n) for n in ("redis", "stack"))
    stack.program, stack.args = "crash", ["null"]
    target.cluster_map.clusters[0].modules.append("crash")
    with machine(target) as running:
        fault = running.wait_event("fault", app=stack.name)
        assert "page fault" in fault["cause"]
        assert running.wait_event("exit", app=redis.name)["status"] == 1
