# SPDX-License-Identifier: BSD-2-Clause
"""Clients that survive the end of their Redis, which is started again under them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from deploy.deployment import Load, Redis
from deploy.results import survival
from deploy.results.result import check
from tests.boot.machine import client, machine, servers, with_redis
from topology.units import MIB

OPERATIONS = 2000
LOAD = Load(clients=2, workload="f", records=60, operations=OPERATIONS, survive=600)


@pytest.mark.limit(300)
def test_redis_ends_under_load() -> None:
    """two clients reach a Redis again that was ended, in its next life; the other instance's lose nothing"""
    what = replace(with_redis(shutdown="when-done"), redis=Redis(heap=64 * MIB, restart="always"), load=LOAD)
    with machine(what) as run:
        run.wait_serving()
        names = servers(run)
        with client(run, names[0], retry=None) as server:
            run.wait_for(lambda: server.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"] > 100, "the load")
            with pytest.raises(redis.ConnectionError):
                server.execute_command("SHUTDOWN", "NOSAVE", "FORCE")
                server.ping()
        run.wait_done()
        assert check(run.plan, run.events) == []
        fates = survival.collect(run.events)
        lost = [fate for fate in fates if fate.gaps]
        assert len(lost) == 2 and len(fates) == 2 * len(names), "the clients of one instance"
        for fate in lost:
            assert fate.lives == 2 and fate.forgotten and len(fate.gaps) == 1, fate
            assert sum(fate.counts) + fate.reads + fate.updates == OPERATIONS
        assert len({fate.server for fate in lost}) == 1
