# SPDX-License-Identifier: BSD-2-Clause
"""Valkey in the place of Redis. It is built for this test alone, some 75 s of processor time the first time."""

from dataclasses import replace
from pathlib import Path

import pytest
import redis

from deploy.base.terminal import Output
from deploy.deployment import Redis
from deploy.deployment.planner import plan
from deploy.setup import needs
from deploy.setup.build import ensure_built
from tests.boot.durability import kept
from tests.boot.machine import assert_no_fault, client, deployment, machine_serving, servers
from topology.units import MIB

REFUSED = {
    ("SAVE",): "has no disk", ("BGSAVE",): "has no disk", ("BGREWRITEAOF",): "has no disk",
    ("CONFIG", "SET", "appendonly", "yes"): "has no disk", ("REPLICAOF", "10.0.2.102", "6379"): "can fork",
}


@pytest.mark.drawn
@pytest.mark.limit(600)
def test_valkey() -> None:
    """Valkey answers in each cluster, says what it is, runs scripts, keeps to the memory that follows from its heap,
    and refuses what needs a disk or a second process as Redis does"""
    what = plan(replace(deployment(2, 2), redis=Redis(server="valkey", heap=64 * MIB)))
    ensure_built(Output(quiet=True), needs.of_map(what.cluster_map, what.own))
    with machine_serving(what) as run:
        names = servers(run)
        assert len(names) > 1 and all(name.startswith("valkey@") for name in names)
        for name in names:
            with client(run, name) as server:
                assert server.set("key", name) and server.get("key") == name.encode()
                about = server.info("server")
                assert about["server_name"] == "valkey" and about["valkey_version"].startswith("8.")
                assert server.eval("return redis.call('GET', KEYS[1])", 1, "key") == name.encode()
                assert server.info("memory")["maxmemory"] == 24 * MIB
                assert server.config_get("save")["save"] == ""
                for command, why in REFUSED.items():
                    with pytest.raises(redis.ResponseError, match=why):
                        server.execute_command(*command)
        with client(run, names[0]) as server, pytest.raises(redis.ResponseError, match="maxmemory"):
            for number in range(64):
                server.set(f"large:{number}", b"x" * MIB)
        assert_no_fault(run)


@pytest.mark.drawn
@pytest.mark.limit(600)
def test_data(tmp_path: Path) -> None:
    """Valkey keeps its data in a folder of the host, by SAVE and by its log, and loads them when it is started again"""
    before = replace(deployment(sockets=1), redis=kept(tmp_path, server="valkey", append="no", restart="never"))
    planned = plan(before)
    ensure_built(Output(quiet=True), needs.of_map(planned.cluster_map, planned.own))
    with machine_serving(before) as run, client(run, servers(run)[0]) as server:
        server.set("saved", "by SAVE")
        assert server.save()
        assert_no_fault(run)
    after = replace(before, redis=kept(tmp_path, server="valkey", restart="never"))
    with machine_serving(after) as run, client(run, servers(run)[0]) as server:
        assert server.get("saved") == b"by SAVE"
        server.set("logged", "by the log")
    with machine_serving(after) as run, client(run, servers(run)[0]) as server:
        assert server.mget("saved", "logged") == [b"by SAVE", b"by the log"]
        assert_no_fault(run)
