# SPDX-License-Identifier: BSD-2-Clause
"""Redis whose instances fork a child each: what it saves, rewrites and sends is all data of the moment of the fork."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from deploy.base.terminal import Output
from deploy.deployment import Deployment, Redis
from deploy.deployment.planner import plan
from deploy.machine.run import Run
from deploy.setup import needs
from deploy.setup.build import ensure_built
from tests.boot.durability import kept
from tests.boot.machine import assert_no_fault, client, deployment, machine_serving, servers
from tests.boot.test_redis import refuses
from topology.units import MIB

KEYS = 2000


def fill(server: redis.Redis) -> None:
    for first in range(0, KEYS, 100):
        server.mset({f"key:{number}": f"{number}:" + "v" * 500 for number in range(first, first + 100)})


@contextmanager
def load(run: Run, name: str) -> Iterator[list[int]]:
    """Changes values one after another until the end of the block. Yields how many have been."""
    done, ends, errors = [0], threading.Event(), list[BaseException]()

    def write() -> None:
        try:
            with client(run, name) as server:
                while not ends.is_set():
                    server.set(f"key:{done[0] * 7 % KEYS}", f"changed {done[0]}" + "w" * 400)
                    done[0] += 1
        except BaseException as error:  # told to the thread of the test
            errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield done
    finally:
        ends.set()
        thread.join()
    assert not errors, errors[0]


def persistence(server: redis.Redis) -> dict[str, Any]:
    return dict(server.info("persistence"))


def digest(server: redis.Redis) -> bytes:
    return bytes(server.execute_command("DEBUG", "DIGEST"))


def save_under_load(run: Run, server: redis.Redis) -> bytes:
    """Returns the digest of what BGSAVE has saved: the two arrive at once, and no other client comes between them."""
    fill(server)
    with load(run, servers(run)[0]) as done:
        run.wait_for(lambda: done[0] > 20, "the load")
        both = server.pipeline(transaction=False)  # in a transaction BGSAVE would begin some time later
        both.execute_command("DEBUG", "DIGEST")
        both.bgsave()
        there, _ = both.execute()
        before = done[0]
        run.wait_for(lambda: not persistence(server)["rdb_bgsave_in_progress"], "the child's end")
        run.wait_for(lambda: done[0] > before + 20, "the load goes on")
    about = persistence(server)
    assert about["rdb_last_bgsave_status"] == "ok" and about["rdb_saves"] == 1, about
    assert digest(server) != there
    return bytes(there)


def with_children(what: Deployment) -> Deployment:
    """Builds what it needs: Valkey, and servers that fork, come with no other test."""
    planned = plan(what)
    ensure_built(Output(quiet=True), needs.of_map(planned.cluster_map, planned.own))
    return what


def saving(folder: Path, **more: Any) -> Deployment:
    redis_table = kept(folder, children=1, restart="never", **more)
    return with_children(replace(deployment(sockets=1), redis=redis_table))


@pytest.mark.limit(300)
@pytest.mark.parametrize("server", ["redis", pytest.param("valkey", marks=pytest.mark.drawn)])
def test_save(tmp_path: Path, server: str) -> None:
    """BGSAVE under load saves what was there when it began, and clients are answered meanwhile; so does a rule"""
    what = saving(tmp_path, append="no", server=server)
    with machine_serving(what) as run, client(run, servers(run)[0]) as first:
        there = save_under_load(run, first)
        assert_no_fault(run)
    with machine_serving(what) as run, client(run, servers(run)[0]) as second:
        assert digest(second) == there
        second.config_set("save", "1 3")
        for number in range(3):
            second.set(f"key:{number}", "by a rule")
        run.wait_for(lambda: persistence(second)["rdb_saves"] == 1, "a save by its rule")
        run.wait_for(lambda: not persistence(second)["rdb_bgsave_in_progress"], "its end")
        there = digest(second)
        assert_no_fault(run)
    with machine_serving(what) as run, client(run, servers(run)[0]) as third:
        assert digest(third) == there


@pytest.mark.limit(300)
@pytest.mark.parametrize("server", ["redis", pytest.param("valkey", marks=pytest.mark.drawn)])
def test_rewrite(tmp_path: Path, server: str) -> None:
    """a log that a child has rewritten under load has all that was written, before and meanwhile; one that has grown
    by the percentage that is set is rewritten unasked"""
    what = saving(tmp_path, append="everysec", server=server)
    with machine_serving(what) as run, client(run, servers(run)[0]) as first:
        fill(first)
        with load(run, servers(run)[0]) as done:
            run.wait_for(lambda: done[0] > 20, "the load")
            first.bgrewriteaof()
            before = done[0]
            run.wait_for(lambda: done[0] > before + 5, "the load goes on")
            run.wait_for(lambda: persistence(first)["aof_rewrites"] == 1 and
                         not persistence(first)["aof_rewrite_in_progress"], "the child's end")
        assert persistence(first)["aof_last_bgrewrite_status"] == "ok"
        first.config_set("auto-aof-rewrite-min-size", "100kb")
        first.config_set("auto-aof-rewrite-percentage", "10")
        fill(first)
        run.wait_for(lambda: persistence(first)["aof_rewrites"] > 1, "a rewrite unasked")
        first.config_set("auto-aof-rewrite-percentage", "0")
        run.wait_for(lambda: not persistence(first)["aof_rewrite_in_progress"], "its end")
        there = digest(first)
        assert_no_fault(run)
        first.shutdown(nosave=True)
        run.wait_event("exit", app=servers(run)[0])
    names = sorted(path.name for path in (tmp_path / "redis-1/appendonlydir").iterdir())
    assert len(names) == 3 and int(names[0].split(".")[2]) > 2, names
    with machine_serving(what) as run, client(run, servers(run)[0]) as second:
        assert digest(second) == there


@pytest.mark.limit(300)
def test_kills(tmp_path: Path) -> None:
    """a child that is ended while it saves leaves an instance that saves again; an instance that ends while its child
    rewrites the log is started again, and has all that it has answered"""
    what = with_children(replace(deployment(sockets=1, restart="on-failure", restart_limit=0, restart_delay=0),
                                 redis=kept(tmp_path, children=1)))
    with machine_serving(what) as run:
        name = servers(run)[0]
        with client(run, name) as server:
            fill(server)
            both = server.pipeline(transaction=False)
            both.bgsave()
            both.flushall()  # which ends the child
            both.execute()
            run.wait_for(lambda: not persistence(server)["rdb_bgsave_in_progress"], "the child's end")
            fill(server)
            assert server.save() and (tmp_path / "redis-1/dump.rdb").stat().st_size > KEYS
            there, serving = digest(server), len(run.events.of("serving"))
            both.bgrewriteaof()
            both.execute_command("DEBUG", "SEGFAULT")
            with pytest.raises(redis.ConnectionError):
                both.execute()
        run.wait_for(lambda: len(run.events.of("serving")) > serving, "the instance again")
        with client(run, name) as server:
            assert digest(server) == there
            server.bgrewriteaof()
            run.wait_for(lambda: persistence(server)["aof_rewrites"] == 1, "a rewrite")
            run.wait_for(lambda: not persistence(server)["aof_rewrite_in_progress"], "its end")
            assert persistence(server)["aof_last_bgrewrite_status"] == "ok" and digest(server) == there


@pytest.mark.limit(300)
@pytest.mark.parametrize("server", ["redis", pytest.param("valkey", marks=pytest.mark.drawn)])
def test_replica(server: str) -> None:
    """an instance sends all its data to a replica from a child, under load, and then each write; without a folder
    nothing is saved"""
    two = Redis(heap=64 * MIB, cpus=(1, 2), children=1, server=server,
                args=(*Redis.args, "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"))
    with machine_serving(with_children(replace(deployment(sockets=2), redis=two))) as run:
        names = servers(run)
        master = run.plan.application(names[0])
        with client(run, names[0]) as first, client(run, names[1]) as second:
            fill(first)
            with load(run, names[0]) as done:
                run.wait_for(lambda: done[0] > 20, "the load")
                second.execute_command("REPLICAOF", str(master.ipv4), "6379")
                run.wait_for(lambda: second.info("replication")["master_link_status"] == "up", "the replica is there")
            assert first.wait(1, 60_000) == 1
            assert digest(first) == digest(second)
            refuses(first, "has no disk", "BGSAVE")
            refuses(first, "has no disk", "BGREWRITEAOF")
            refuses(first, "has no disk", "CONFIG", "SET", "repl-diskless-sync", "no")
        assert_no_fault(run)
