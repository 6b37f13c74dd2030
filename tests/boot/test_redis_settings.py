# SPDX-License-Identifier: BSD-2-Clause
"""Settings and commands of Redis that ask for a disk or a second process: refused at once, with their name; defaults are harmless."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from deploy.deployment import Port, Program, Redis, file_tree
from deploy.deployment.file_tree import Mapped
from deploy.machine.run import Run
from tests.boot.machine import assert_no_fault, client, deployment, machine, servers, with_redis
from topology.units import MIB

HEAP = 64 * MIB
OPEN = ("--protected-mode", "no", "--bind", "0.0.0.0")
REFUSED = {  # arguments, or lines of a file, and the setting that is named
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
    return Program("redis-server", cpu=cpu, heap=HEAP, args=how, tree=tree, name=name, network=True, ports=(Port(6379),))


def test_refused_at_the_start(tmp_path: Path) -> None:
    """each setting that asks for a disk or a second process ends Redis with one line that names it; what is taken back does not"""
    programs = [redis_of(name, 2, how, tmp_path) for name, (how, _) in REFUSED.items()]
    programs += [redis_of("back", 3, TAKEN_BACK, tmp_path), redis_of("slow", 3, (*OPEN, "--io-threads", "4"), tmp_path)]
    with machine(replace(deployment(), programs=tuple(programs))) as run:
        named = {name.partition("@")[0]: name for name in servers(run)}
        for name, (_, setting) in REFUSED.items():
            assert run.wait_event("exit", app=named[name])["status"] == 1
            lines = re.findall(rf"^\[{named[name]}\] (.+)$", run.console, re.MULTILINE)
            assert len(lines) == 1 and lines[0].startswith(f"'{setting}' is refused: "), lines
        for name in ("back", "slow"):
            run.wait_event("serving", app=named[name])
            with client(run, named[name]) as server:
                assert server.config_get("save") == {"save": ""} and server.config_get("appendonly") == {"appendonly": "no"}
                assert server.set("key", "value")
        assert re.findall(r"^\[(\S+)\] Warning: 'io-threads 4' makes this instance many times slower: ", run.console, re.MULTILINE) == [named["slow"]]


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
        run.wait_for(lambda before=before: int(server.info("server")["uptime_in_seconds"]) > before, "a second of the machine's")
    assert server.info("persistence")["rdb_last_bgsave_status"] == "ok" and server.info("persistence")["rdb_changes_since_last_save"] > 10_000


@pytest.mark.limit(150)
def test_refused_while_it_serves() -> None:
    """a Redis whose arguments replace ours saves nothing of itself; settings and commands that ask for more are refused at once"""
    with machine(replace(with_redis(cores=1), redis=Redis(heap=HEAP, args=OPEN))) as run:
        run.wait_serving()
        with client(run, servers(run)[0]) as server:
            assert server.config_get("save") == {"save": ""}
            for words in (("save", "1 1"), ("SAVE", "3600 1 300 100"), ("appendonly", "yes"), ("AppendOnly", "YES"),
                          ("maxmemory-policy", "allkeys-lru", "save", "1 1")):
                refuses(server, f"possibly related to argument '{words[-2]}'.* no disk", "CONFIG", "SET", *words)
            assert server.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}, "all of it is refused"
            assert server.config_set("save", "") and server.config_set("appendonly", "no") and server.config_set("hz", "20")
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
