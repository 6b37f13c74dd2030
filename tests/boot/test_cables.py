# SPDX-License-Identifier: BSD-2-Clause
"""Clients with a cable to their Redis learn of its end at once; its successor gets the cable again."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from deploy.deployment import Load
from tests.boot.machine import ANSWER, client, machine, servers, with_redis


@pytest.mark.parametrize("stack", ["inproc", "process"])
def test_end(stack: str) -> None:
    """clients whose Redis faults end, with either stack, and it serves again"""
    what = with_redis(1, 2)
    assert what.redis
    args = (*what.redis.args, "--enable-debug-command", "yes")
    load = Load(clients=2, records=200, operations=1 << 40)
    what = replace(what, redis=replace(what.redis, args=args, restart="on-failure", stack=stack), load=load)
    with machine(what) as run:
        run.wait_serving()
        clients = [app.name for app in run.plan.cluster_map.applications if app.program == "ycsb"]
        (name,) = servers(run)
        assert all(run.plan.application(app).cables == [name] for app in clients)
        with client(run, name) as server:
            run.wait_for(lambda: server.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"] >= 100, "the clients work")
        with socket.create_connection(run.address(name), ANSWER) as last:
            last.sendall(b"DEBUG SEGFAULT\r\n")
            run.wait_for(lambda: all(run.events.of("exit", app=app) for app in clients), "the clients end")
        assert all(run.events.of("exit", app=app)[0]["status"] != 0 for app in clients)
        run.wait_for(lambda: len(run.events.of("serving", app=name)) == 2, "it serves again")
        with client(run, name) as server:
            assert server.set("life", 2)
