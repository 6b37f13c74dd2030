# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that are lost are fenced, loaded and started again, while the others go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

from deploy import debugger, modules, monitor
from deploy.boot import Run
from deploy.paths import BUILD
from deploy.symbols import Image
from tests.boot.machine import client, deployment, machine, servers, with_redis
from tests.boot.test_detection import boots, kill_cluster

STATES = {"claimed": 2, "fenced": 3, "loading": 4}  # enum control_state of cluster_control.h
WAYS = ("panic", "hang", "hang-core", "init", "manager", "garbage")


class _Survivor(threading.Thread):
    """Writes numbers to a Redis, and reads each back."""

    def __init__(self, run: Run, name: str) -> None:
        super().__init__(daemon=True)
        self.run_, self.server, self.writes, self.wrong = run, name, 0, list[str]()
        self.over = threading.Event()

    def run(self) -> None:
        with client(self.run_, self.server) as server:
            while not self.over.is_set():
                try:
                    server.set("number", self.writes)
                    if (found := server.get("number")) != str(self.writes).encode():
                        self.wrong.append(f"{found!r} in place of {self.writes}")
                    self.writes += 1
                except redis.RedisError as error:
                    self.wrong.append(str(error))
                    return


@contextmanager
def surviving(run: Run, name: str) -> Iterator[_Survivor]:
    found = _Survivor(run, name)
    found.start()
    try:
        yield found
    finally:
        found.over.set()
        found.join()


def serves_anew(run: Run, name: str) -> bool:
    """A Redis answers from outside, and keeps what it is given."""
    try:
        with client(run, name, socket_timeout=2, socket_connect_timeout=2) as server:
            return server.get("before") is None and server.set("after", "1") and server.get("after") == b"1"
    except redis.RedisError:
        return False


def restarted(run: Run, cluster: int, times: int) -> bool:
    return len(run.events.of("cluster-restarted", cluster=cluster)) >= times


def write(run: Run, address: int, word: int) -> None:
    debugger.write_word(lambda line: monitor.human(run.command.monitor, line)[0], address, word)


def control(cluster: int) -> int:
    """Where the loader has a cluster's control word."""
    return Image(BUILD / modules.LOADER).symbol("control").address + 128 * cluster


@pytest.mark.limit(600)
def test_ways() -> None:
    """one cluster, ended in each way, serves again each time; the other one's Redis has no error"""
    with machine(with_redis(restart="on-failure", restart_limit=0)) as run:
        run.wait_serving()
        here = next(name for name in servers(run) if run.plan.application(name).cpu < 2)
        there = [name for name in servers(run) if run.plan.application(name).cpu >= 2]
        with surviving(run, here) as survivor:
            for number, how in enumerate(WAYS, 1):
                for name in there:
                    with client(run, name) as server:
                        server.set("before", how)
                written = survivor.writes
                kill_cluster(run, 1, how, 1 if how in ("panic", "hang-core") else None)
                run.wait_for(lambda: restarted(run, 1, number), f"cluster 1 again after {how}")
                for name in there:
                    run.wait_for(lambda: serves_anew(run, name), f"{name} again after {how}")
                assert survivor.writes > written and not survivor.wrong, survivor.wrong
        assert [e["restarts"] for e in run.events.of("cluster-restarted")] == list(range(1, len(WAYS) + 1))
        assert len(run.events.of("cluster-lost")) == len(WAYS) and not run.events.of("cluster-stuck")
        assert len(run.events.of("boot", cluster=0)) == 1


@pytest.mark.limit(150)
def test_two_at_once() -> None:
    """two clusters are lost in one moment; both come back"""
    with machine(deployment(3, 1, network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        kill_cluster(run, 1, "hang")
        kill_cluster(run, 2, "init")
        run.wait_for(lambda: restarted(run, 1, 1) and restarted(run, 2, 1), "both again")
        assert run.running and len(run.events.of("cluster-lost")) == 2


@pytest.mark.limit(150)
def test_next_one_goes_on() -> None:
    """the cluster whose turn it is to start another one again is lost, too: the next one does"""
    with machine(deployment(3, 1, network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        assert run.console.count("cluster 2: kernel") == 1
        kill_cluster(run, 0, "hang")
        kill_cluster(run, 2, "panic")
        run.wait_for(lambda: run.console.count("cluster 2: kernel") == 2, "the third cluster")
        run.wait_for(lambda: "[manager 2] cluster 0 is gone" in run.console, "its manager's words")


@pytest.mark.limit(300)
@pytest.mark.parametrize("state", STATES)
def test_claimer_dies(state: str) -> None:
    """the cluster that starts another one again is lost half-way, in each of its states: the next one goes on"""
    with machine(deployment(3, 1, network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        kill_cluster(run, 0, "hang")
        kill_cluster(run, 2, "hang")
        write(run, control(2), 1 << 32 | STATES[state])  # life 1, claimed by cluster 0
        run.wait_for(lambda: run.console.count("cluster 2: kernel") == 2, "the third cluster")
        run.wait_for(lambda: "[manager 2] cluster 0 is gone" in run.console, "its manager's words")


@pytest.mark.limit(150)
def test_too_often() -> None:
    """a cluster that is lost more often than it may be stays down, and that is said"""
    with machine(deployment(network=False, restart="on-failure", restart_limit=1)) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        kill_cluster(run, 1, "panic")
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        kill_cluster(run, 1, "panic")
        assert "1 times in 60 s" in run.wait_event("cluster-stays-down", cluster=1)["why"]
        assert run.running and not restarted(run, 1, 2)
