# SPDX-License-Identifier: BSD-2-Clause
"""Clients with a cable to their Redis learn of its end.

Its successor is for test_failure.py: a run is over when its clients have ended, and nothing is started again after
that.
"""

import socket
from dataclasses import replace

import pytest

from deploy.base.timeouts import Patience
from deploy.deployment import Load
from tests.boot.machine import ANSWER, PATIENCE, client, machine, servers, with_redis

# more than anybody waits for: no wait here takes its patience from that
LOAD = Load(clients=2, records=200, operations=1 << 40)


@pytest.mark.limit(300)
@pytest.mark.parametrize("stack, word", [("inproc", "Connection reset by peer"),
                                         ("process", "Server closed the connection")])
def test_end(stack: str, word: str) -> None:
    """clients whose Redis faults are told so and end, with either stack: one ends with Redis, the other closes its
    connections"""
    what = with_redis(1, 2)
    assert what.redis
    args = (*what.redis.args, "--enable-debug-command", "yes")
    timeout = Patience(PATIENCE)
    with machine(replace(what, redis=replace(what.redis, args=args, stack=stack), load=LOAD)) as run:
        run.wait_serving(timeout)
        clients = [app.name for app in run.plan.cluster_map.applications if app.program == "ycsb"]
        (name,) = servers(run)
        assert len(clients) == LOAD.clients and all(run.plan.application(app).cables == [name] for app in clients)
        with client(run, name) as server:
            run.wait_for(lambda: server.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"] >= 100,
                         "the load", timeout)
        with socket.create_connection(run.address(name), ANSWER) as last:
            last.sendall(b"DEBUG SEGFAULT\r\n")
            run.wait_for(lambda: all(run.events.of("exit", app=app) for app in clients), "end of the clients", timeout)
        run.wait_for(lambda: run.console.count(word) == len(clients), "word of the end", timeout)
        assert all(run.events.of("exit", app=app)[0]["status"] != 0 for app in clients)
        assert [event["app"] for event in run.events.of("fault")] == [name]
