# SPDX-License-Identifier: BSD-2-Clause
"""Redis that keeps its data in a folder of the host."""

import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import redis

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


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of 2 MiB at the folder."""
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def _write_until_refused(server: redis.Redis) -> int:
    """Returns the number of the write that was refused."""
    for number in range(1000):
        try:
            server.set(f"key:{number}", bytes(50_000))
        except redis.ResponseError as error:
            assert "MISCONF" in str(error), error
            return number
    raise AssertionError("no write is refused")


def _is_taken(server: redis.Redis) -> bool:
    try:
        return bool(server.set("after", "room"))
    except redis.ResponseError:
        return False


@pytest.mark.limit(200)
def test_full(tmp_path: Path) -> None:
    """a full disk refuses writes until there is room, and what was taken then is there when it is started again"""
    with small_disk(tmp_path):
        what = replace(deployment(sockets=1), redis=kept(tmp_path, append="everysec", restart="never"))
        with machine_serving(what) as run, client(run, servers(run)[0]) as server:
            (tmp_path / "filler").write_bytes(bytes(1 << 20))
            refused = _write_until_refused(server)
            assert refused > 10 and server.get("key:0") == bytes(50_000)
            (tmp_path / "filler").unlink()
            run.wait_for(lambda: _is_taken(server), "room again")
            assert server.shutdown(nosave=True) is None
            run.wait_event("exit", app=servers(run)[0])
        with machine_serving(what) as run, client(run, servers(run)[0]) as server:
            assert server.get("after") == b"room" and server.dbsize() >= refused
