# SPDX-License-Identifier: BSD-2-Clause
"""Clients of an instance that faults learn of it, and those of others do not; its successor serves new ones."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from deploy.deployment import Deployment
from deploy.machine.run import Run
from tests.boot.machine import client, machine, servers, with_redis

PATIENCE = 90  # seconds: only a peer that hears nothing waits so long


def deployed(restart: str = "never") -> Deployment:
    """Two clusters: the network and a Redis in the first, two in the second."""
    what = with_redis()
    assert what.redis
    args = (*what.redis.args, "--enable-debug-command", "yes")
    return replace(what, redis=replace(what.redis, args=args, restart=restart))


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with machine(deployed()) as running:
        running.wait_serving()
        yield running


def is_over(connection: socket.socket) -> bool:
    """Whether the connection ends, in place of silence."""
    connection.settimeout(PATIENCE)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("place", [0, -1], ids=["switch's cluster", "other cluster"])
def test_ended(run: Run, place: int) -> None:
    """a waiting client and new ones of an ended instance are reset; another instance serves on"""
    name = servers(run)[place]
    other = servers(run)[1]
    with socket.create_connection(run.address(name), PATIENCE) as waiting:
        waiting.sendall(b"BLPOP nothing 0\r\n")
        with client(run, name) as server:
            while not server.info("clients")["blocked_clients"]:
                pass
        with socket.create_connection(run.address(name), PATIENCE) as last:
            last.sendall(b"DEBUG SEGFAULT\r\n")
            run.wait_event("fault", app=name)
            assert is_over(waiting), "the client still waits for its answer"
            assert is_over(last)
    for _ in range(3):
        try:
            connection = socket.create_connection(run.address(name), PATIENCE)
        except ConnectionError:
            continue
        with connection:
            assert is_over(connection), "a new client hears nothing"
    with client(run, other) as server:
        assert server.ping()


def test_successors() -> None:
    """an instance that faults again and again is started again, and serves at the same port; another one serves on"""
    with machine(deployed("always")) as run:
        run.wait_serving()
        names = servers(run)[0], servers(run)[-1]
        with client(run, servers(run)[1]) as other:
            for life in (2, 3):
                for name in names:
                    with socket.create_connection(run.address(name), PATIENCE) as last:
                        last.sendall(b"DEBUG SEGFAULT\r\n")
                        assert is_over(last)
                    run.wait_for(lambda name=name, life=life: len(run.events.of("serving", app=name)) == life, "it serves again")
                    with client(run, name) as server:
                        assert server.set("life", life) and server.get("life") == str(life).encode()
                        assert server.info("clients")["connected_clients"] == 1
                    assert other.ping()
