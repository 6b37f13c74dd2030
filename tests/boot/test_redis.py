# SPDX-License-Identifier: BSD-2-Clause
"""Redis: the benchmark, its cluster, its memory, its settings."""

import json
import random
import re
import shutil
import subprocess
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import redis
from redis.cluster import RedisCluster

from deploy.deployment import Port, Program, Redis, file_tree
from deploy.deployment.file_tree import Mapped
from deploy.deployment.redis_memory import maxmemory
from deploy.machine.redis_cluster import commands, instances
from deploy.machine.run import Run
from tests.boot.machine import (
    ANSWER,
    assert_no_fault,
    client,
    deployment,
    machine,
    machine_serving,
    servers,
    with_redis,
)
from tests.boot.test_commands import skerry
from topology.units import MIB

# ---- `skerry bench redis`: small, and with cores in step, so that a busy host changes nothing ----

@pytest.mark.limit(180)
def test_redis(tmp_path: Path) -> None:
    """two stacks on two cores: what was counted adds up, and lwIP apart means more kernel entries"""
    words = ["--lock", "clh", "--cores", "2", "--stack", "process,inproc", "--records", "100", "--operations", "100"]
    words += ["--no-pong", "--accel", "tcg", "--json", "r.json", "--plot", "r.png"]
    done = skerry("bench", "redis", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    apart, inside = ({"stack": entry["stack"], **entry["metrics"]} for entry in results)
    assert (apart["stack"], inside["stack"]) == ("process", "inproc")
    assert apart["operations"] == inside["operations"] == 200 and not apart["errors"] + inside["errors"]
    assert apart["kernel_entries_per_op"] > 1.3 * inside["kernel_entries_per_op"]
    assert apart["instructions_per_op"] > inside["instructions_per_op"]
    assert apart["memory_of_stack"] > 0 and "memory_of_stack" not in inside
    for entry in results:
        m = entry["metrics"]
        assert entry["emulated"] and entry["clock"] == "step"
        assert m["ops_per_mcycle_over_utilisation"] == pytest.approx(m["ops_per_mcycle"] / m["cpu_utilisation"])
        cycles = 1e6 * m["operations"] / m["ops_per_mcycle"]
        busy = sum(c["kernel_entries"] * (c["delay_cycles"] + c["kernel_cycles_per_entry"]) for c in entry["per_core"])
        assert busy == pytest.approx(m["instructions_per_op"] * m["operations"])
        assert busy <= len(entry["per_core"]) * cycles * 1.01
    assert (tmp_path / "r.png").stat().st_size > 10_000


# ---- A Redis Cluster of a machine's instances, made from outside and used through ports of the host ----

KEYS = 200


def cluster_of(count: int) -> Run:
    redis_table = Redis(heap=64 * MIB, instances=count, args=(*Redis.args, "--cluster-enabled", "yes"))
    return machine(replace(with_redis(cores=3), redis=redis_table))


def at(port: int) -> redis.Redis:
    return redis.Redis(port=port, socket_timeout=ANSWER, socket_connect_timeout=ANSWER)


def is_ok(port: int) -> bool:
    with at(port) as node:
        return "cluster_state:ok" in str(node.execute_command("CLUSTER", "INFO"))


@pytest.mark.limit(200)
def test_the_commands_that_run_prints() -> None:
    """they make a cluster whose redirections lead a client of the host to each instance"""
    with cluster_of(3) as run:
        run.wait_serving()
        nodes = instances(run.plan, run.forwards)
        for line in commands(nodes):
            _, _, port, *words = line.split()
            with at(int(port)) as node:
                assert node.execute_command(*words) in (True, b"OK"), line
        run.wait_for(lambda: all(is_ok(forward.host_port) for forward in nodes), "a cluster that all agree about")
        with RedisCluster(host="127.0.0.1", port=nodes[0].host_port, socket_timeout=ANSWER) as client:
            for key in range(KEYS):
                assert client.set(f"key:{key}", key)
            assert [int(client.get(f"key:{key}")) for key in range(KEYS)] == list(range(KEYS))
            ports = {forward.host_port for forward in nodes}
            assert {node.port for node in client.get_nodes()} == ports
            assert sum(client.dbsize(target_nodes=node) for node in client.get_nodes()) == KEYS
            assert all(client.dbsize(target_nodes=node) for node in client.get_nodes())
        assert_no_fault(run)


@pytest.mark.limit(150)
@pytest.mark.skipif(not shutil.which("redis-cli"), reason="redis-cli is not installed (redis-tools)")
def test_create_with_addresses_of_the_host() -> None:
    """redis-cli --cluster create, which has the instances meet at addresses of the host, is refused at once in place of
    waiting for ever"""
    with cluster_of(3) as run:
        run.wait_serving()
        addresses = [forward.address for forward in instances(run.plan, run.forwards)]
        command = ["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as process:
            run.wait_for(lambda: process.poll() is not None, "its end")
            assert process.stdout
            printed = process.stdout.read()
        assert process.returncode and "CLUSTER MEET needs an address within the machine" in printed, printed
        assert_no_fault(run)


# ---- A Redis of a default deployment refuses what it has no memory for, and serves on ----

HEAP = 64 * MIB
CLIENTS = 50
BUFFERS = MIB  # of one client at most: what it asked last, and answers
NO_DISK = "no disk"
REFUSED = "command not allowed when used memory"  # behind -OOM, which the client library takes off


def fill(server: redis.Redis, name: str, size: int, batch: int) -> list[int]:
    """Values until the server refuses one; the numbers of those that it stored.

    One behind a refused one may be stored: between two of them Redis frees buffers of clients that it uses no more.
    """
    stored: list[int] = []
    for first in range(0, HEAP // size + batch, batch):
        pipe = server.pipeline(transaction=False)
        for number in range(first, first + batch):
            pipe.set(f"{name}:{number}", _value(number, size))
        answers = pipe.execute(raise_on_error=False)
        assert all(answer is True or REFUSED in str(answer) for answer in answers)
        stored += [first + i for i, answer in enumerate(answers) if answer is True]
        if len(stored) < first + batch:
            return stored
    raise AssertionError(f"{len(stored)} values of {size} bytes, more than the heap holds, and no error")


def _value(number: int, size: int) -> bytes:
    return b"%c" % (65 + number % 26) * size


def assert_serves(server: redis.Redis, name: str, size: int, stored: list[int], other: bytes = b"") -> None:
    """Each value that is read is the one that was stored, or `other`, with which another client has replaced it."""
    for number in (stored[0], stored[len(stored) // 2], stored[-1]):
        assert server.get(f"{name}:{number}") in (_value(number, size), other or None)


def assert_refuses(server: redis.Redis, size: int) -> None:
    """At once, or when what Redis has freed since of its own buffers of clients is taken, too."""
    with pytest.raises(redis.ResponseError, match=REFUSED):
        for _ in range(1 + BUFFERS // size):
            server.rpush("more", b"x" * size)


def used(server: redis.Redis) -> int:
    return int(server.info("memory")["used_memory"])


@pytest.mark.limit(300)
@pytest.mark.parametrize("stack", ["inproc", "process"])
def test_fill(stack: str) -> None:
    """a Redis that is filled answers OOM, reads on, and takes values again when some are deleted"""
    with machine_serving(replace(with_redis(cores=1), redis=Redis(heap=HEAP, stack=stack))) as run:
        with client(run, servers(run)[0]) as server:
            assert int(server.config_get("maxmemory")["maxmemory"]) == maxmemory(HEAP)
            for name, size, batch in (("small", 1000, 500), ("large", 100_000, 20), ("odd", 4100, 200)):
                stored = fill(server, name, size, batch)
                assert len(stored) * size > maxmemory(HEAP) * 0.4
                assert_serves(server, name, size, stored)
                assert_refuses(server, size)
                full = used(server)
                half = stored[::2]
                assert server.delete(*(f"{name}:{number}" for number in half)) == len(half)
                assert used(server) < full * 0.7
                assert server.set("one:more", b"x" * size)
                assert server.flushall()
        assert_no_fault(run)


@pytest.mark.limit(300)
def test_clients() -> None:
    """fifty clients that fill and read in large pipelines do not end a Redis that is full"""
    other = b"y" * 100_000
    with ExitStack() as crowd, machine(replace(with_redis(cores=1), redis=Redis(heap=HEAP))) as run:
        run.wait_serving()
        name = servers(run)[0]
        with client(run, name) as server:
            stored = fill(server, "large", len(other), 20)
            # Closed by the host behind the machine's end only: libslirp 4.7 ends QEMU ("soread: Assertion `buf_len
            # != 0' failed") if the host resets a connection while the guest has not taken what came through it.
            clients = [crowd.enter_context(client(run, name, retry=None)) for _ in range(CLIENTS)]
            requests = _requests("GET", [f"large:{i}" for i in stored[:40]])
            writes = _requests("SET", [f"large:{i}" for i in stored], other)
            _send(clients, [requests if i % 2 else writes for i in range(CLIENTS)])
            assert_serves(server, "large", len(other), stored, other)
            server.client_kill_filter(_type="normal", skipme=True)
            run.wait_for(lambda: server.info("clients")["connected_clients"] == 1, "the end of the crowd")
            fill(server, "more", len(other), 20)  # what the crowd has held is free again
            assert_serves(server, "large", len(other), stored, other)
            assert server.flushall()
            assert len(fill(server, "small", 1000, 500)) * 1000 > maxmemory(HEAP) * 0.4
        assert_no_fault(run)


def _requests(command: str, keys: list[str], value: bytes | None = None) -> bytes:
    words = [[command.encode(), key.encode(), *([value] if value else [])] for key in keys]
    return b"".join(
        b"*%d\r\n" % len(each) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in each) for each in words
    )


def _send(crowd: list[redis.Redis], what: list[bytes]) -> None:
    """All at once, and nobody reads an answer: what the server has for them stays with it, or it drops them."""
    connections = [one.connection_pool.get_connection() for one in crowd]
    sockets = [one._sock for one in connections]
    left = [memoryview(each) for each in what]
    for each in sockets:
        each.setblocking(False)
    for _ in range(200):
        for i, each in enumerate(sockets):
            try:
                left[i] = left[i][each.send(left[i][:65536]) :] if left[i] else left[i]
            except BlockingIOError:
                pass
            except OSError:
                left[i] = left[i][:0]  # it was one that the server dropped


@pytest.mark.limit(150)
def test_save() -> None:
    """what would save data is refused with the reason, and leaves no file that takes memory"""
    with machine_serving(replace(with_redis(cores=1), redis=Redis(heap=HEAP))) as run:
        with client(run, servers(run)[0]) as server:
            # does not become smaller in a file, and one client may have it twice
            value = random.Random(1).randbytes(3 * MIB)
            server.set("key", value)
            assert server.get("key") == value
            before = _heap(server)
            for words in (["SAVE"], ["BGSAVE"], ["BGSAVE", "SCHEDULE"], ["BGREWRITEAOF"]):
                with pytest.raises(redis.ResponseError, match=NO_DISK):
                    server.execute_command(*words)
            with pytest.raises(redis.ResponseError, match="Errors trying to SHUTDOWN"):
                server.execute_command("SHUTDOWN", "SAVE")
            assert NO_DISK in run.console
            assert _heap(server) <= before + MIB
            assert server.get("key") == value
        assert_no_fault(run)


def _heap(server: redis.Redis) -> int:
    """Bytes of it that are handed out, as the server's own memory, once the figure stands still: it lags behind by
    seconds."""
    last = -1
    while (now := int(server.info("memory")["used_memory_rss"])) != last:
        last = now
        time.sleep(1)
    return now


@pytest.mark.limit(150)
def test_cluster_mode() -> None:
    """a Redis in cluster mode keeps its nodes.conf"""
    with machine_serving(replace(with_redis(cores=1),
                                 redis=Redis(heap=HEAP, args=(*Redis.args, "--cluster-enabled", "yes")))) as run:
        with client(run, servers(run)[0]) as server:
            assert server.execute_command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            assert server.execute_command("CLUSTER", "SAVECONFIG")
            run.wait_for(lambda: "cluster_state:ok" in str(server.execute_command("CLUSTER", "INFO")),
                         "the cluster's state")
            assert server.set("key", "value")
        assert_no_fault(run)


# ---- Settings and commands of Redis that ask for a disk or a second process: refused at once, with their ----

HEAP_REDIS_SETTINGS = 64 * MIB
OPEN = ("--protected-mode", "no", "--bind", "0.0.0.0")
REFUSED_REDIS_SETTINGS = {  # arguments, or lines of a file, and the setting that is named
    "save": (("--save", "1", "1"), "save 1 1"),
    "append": (("--appendonly", "yes"), "appendonly yes"),
    "daemon": (("--daemonize", "yes"), "daemonize yes"),
    "replica": (("--replicaof", "10.0.2.101", "6379"), "replicaof"),
    "file": ("bind 0.0.0.0\nsave 900 1\n", "save 900 1"),
    "included": ("include /etc/more.conf\n", "appendonly yes"),
}
TAKEN_BACK = "include /etc/more.conf\nsave 1 1\nsave 60 5\nappendonly no\nprotected-mode no\nsave \"\"\n"


def redis_of(name: str, cpu: int, how: tuple[str, ...] | str, folder: Path) -> Program:
    """With arguments, or a file of settings that may include another one."""
    tree = None
    if isinstance(how, str):
        files = {f"{name}.conf": how, "more.conf": "appendonly yes\n"}
        for file, text in files.items():
            (folder / file).write_text(text)
        tree = file_tree.read((Mapped(file, f"/etc/{file}"), folder / file) for file in files)
        how = (f"/etc/{name}.conf",)
    return Program("redis-server", cpu=cpu, heap=HEAP_REDIS_SETTINGS, args=how, tree=tree, name=name, network=True,
                   ports=(Port(6379),))


def test_refused_at_the_start(tmp_path: Path) -> None:
    """each setting that asks for a disk or a second process ends Redis with one line that names it; what is taken back
    does not"""
    programs = [redis_of(name, 2, how, tmp_path) for name, (how, _) in REFUSED_REDIS_SETTINGS.items()]
    programs += [redis_of("back", 3, TAKEN_BACK, tmp_path), redis_of("slow", 3, (*OPEN, "--io-threads", "4"), tmp_path)]
    with machine(replace(deployment(), programs=tuple(programs))) as run:
        named = {name.partition("@")[0]: name for name in servers(run)}
        for name, (_, setting) in REFUSED_REDIS_SETTINGS.items():
            assert run.wait_event("exit", app=named[name])["status"] == 1
            lines = re.findall(rf"^\[{named[name]}\] (.+)$", run.console, re.MULTILINE)
            assert len(lines) == 1 and lines[0].startswith(f"'{setting}' is refused: "), lines
        for name in ("back", "slow"):
            run.wait_event("serving", app=named[name])
            with client(run, named[name]) as server:
                assert (server.config_get("save") == {"save": ""}
                        and server.config_get("appendonly") == {"appendonly": "no"})
                assert server.set("key", "value")
        assert re.findall(r"^\[(\S+)\] Warning: 'io-threads 4' makes this instance many times slower: ", run.console,
                          re.MULTILINE) == [named["slow"]]


def refuses(server: redis.Redis, reason: str, *words: str) -> None:
    with pytest.raises(redis.ResponseError, match=reason):
        server.execute_command(*words)


def write(run: Run, server: redis.Redis) -> None:
    """More than each of Redis's own rules asks for; a save that fails would stop the writes that follow."""
    for number in range(3):
        pipe = server.pipeline(transaction=False)
        for key in range(5000):
            pipe.set(f"key:{key}", number)
        assert all(pipe.execute())
        before = int(server.info("server")["uptime_in_seconds"])
        run.wait_for(lambda before=before: int(server.info("server")["uptime_in_seconds"]) > before,
                     "a second of the machine's")
    assert (server.info("persistence")["rdb_last_bgsave_status"] == "ok"
            and server.info("persistence")["rdb_changes_since_last_save"] > 10_000)


@pytest.mark.limit(150)
def test_refused_while_it_serves() -> None:
    """a Redis whose arguments replace ours saves nothing of itself; settings and commands that ask for more are refused
    at once"""
    with machine_serving(replace(with_redis(cores=1), redis=Redis(heap=HEAP_REDIS_SETTINGS, args=OPEN))) as run:
        with client(run, servers(run)[0]) as server:
            assert server.config_get("save") == {"save": ""}
            for words in (("save", "1 1"), ("SAVE", "3600 1 300 100"), ("appendonly", "yes"), ("AppendOnly", "YES"),
                          ("maxmemory-policy", "allkeys-lru", "save", "1 1")):
                refuses(server, f"possibly related to argument '{words[-2]}'.* no disk", "CONFIG", "SET", *words)
            assert server.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}, "all of it is refused"
            assert server.config_set("save", "") and server.config_set("appendonly", "no") and server.config_set("hz",
                "20")
            refuses(server, "no disk", "CONFIG", "REWRITE")
            refuses(server, "^Replication is not available", "REPLICAOF", "10.0.2.102", "6379")
            refuses(server, "^Replication is not available", "SLAVEOF", "10.0.2.102", "6379")
            refuses(server, "^Replication is not available", "SYNC")
            refuses(server, "^Replication is not available", "PSYNC", "?", "-1")
            refuses(server, "^Replication is not available", "CLUSTER", "REPLICATE", "0" * 40)
            assert server.replicaof("NO", "ONE") and server.info("replication")["role"] == "master"
            assert server.acl_whoami() == "default"
            write(run, server)
        assert_no_fault(run)
