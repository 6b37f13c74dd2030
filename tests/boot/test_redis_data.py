# SPDX-License-Identifier: BSD-2-Clause
"""Redis that keeps its data in a folder of the host."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.boot.durability import CLUSTER, MACHINE, PROCESS, Durability, kept
from tests.boot.machine import assert_no_fault, client, deployment, machine_serving, servers
from tests.boot.test_redis import refuses


@pytest.mark.drawn
@pytest.mark.limit(400)
def test_kills(tmp_path: Path) -> None:
    """no write that a Redis has answered is lost when its process, its cluster or its machine is killed, with the power
    of the disk"""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    durability = Durability(tmp_path, seed)
    for before in ((PROCESS, CLUSTER, PROCESS), (CLUSTER, PROCESS)):
        with durability.machine() as run:
            for what in before:
                durability.kill(run, what)
            durability.kill(run, MACHINE)
        durability.cut_power()
    with durability.machine() as run:
        assert durability.answered >= 7 * 20 and run.running


@pytest.mark.limit(200)
def test_commands(tmp_path: Path) -> None:
    """SAVE writes a file that the next machine begins its log with; what needs a second process is refused"""
    what = replace(deployment(sockets=1), redis=kept(tmp_path, append="no", save="1 3", restart="never"))
    with machine_serving(what) as run, client(run, servers(run)[0]) as server:
        server.set("key", "saved")
        assert server.save() and (tmp_path / "redis-1/dump.rdb").stat().st_size > 0
        refuses(server, "no Redis here can fork", "BGSAVE")
        refuses(server, "no Redis here can fork", "BGREWRITEAOF")
        refuses(server, "begins only when the instance starts", "CONFIG", "SET", "appendonly", "yes")
        before = server.lastsave()
        for number in range(3):
            server.set(f"key:{number}", "by a rule")
        run.wait_for(lambda: server.info("persistence")["rdb_changes_since_last_save"] == 0, "a save by its rule")
        assert server.lastsave() >= before and server.info("persistence")["rdb_last_bgsave_status"] == "ok"
        assert_no_fault(run)
    with machine_serving(replace(what, redis=kept(tmp_path, restart="never"))) as run:
        assert "and the log begins with it" in run.console
        with client(run, servers(run)[0]) as server:
            assert server.get("key") == b"saved" and server.get("key:2") == b"by a rule"
            server.config_set("auto-aof-rewrite-percentage", "1")
            server.set("key", "x" * 200_000)
            assert server.config_set("appendonly", "yes") and server.info("persistence")["aof_enabled"] == 1
            server.set("key", "logged")
        assert_no_fault(run)
    names = sorted(path.name for path in (tmp_path / "redis-1/appendonlydir").iterdir())
    assert names == ["appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof", "appendonly.aof.manifest"]
