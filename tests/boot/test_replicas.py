# SPDX-License-Identifier: BSD-2-Clause
"""A Redis Cluster with replicas: formed, kept whole, and no acknowledged write lost."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis.crc import key_slot

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.bench.failover.linux import Processes, free_ports
from deploy.bench.failover.measure import SHARDS, Job
from deploy.bench.failover.writers import writing
from deploy.bench.failure.scene import end_cluster
from deploy.deployment.planner import plan
from deploy.live.replicas.former import Former
from deploy.live.replicas.keeper import Keeper
from deploy.live.replicas.steps import slots_of
from deploy.live.replicas.view import Endpoint
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.machine.run import Run
from tests.boot.linux_redis import HAS_CLI, Stamps, check, checked, client, processes
from tests.boot.machine import PATIENCE, machine
from tests.boot.test_commands import skerry

WHOLE = 60.0  # seconds without a change after which a former gives up: many times what a step takes
SHORT = 3.0   # the same, where it is to give up

# ---- Processes of this host: real Redis, without a machine ----

needs_cli = pytest.mark.skipif(not HAS_CLI, reason="redis-cli is not installed (redis-tools)")


def missing(former: Former) -> str:
    """What the former says when nothing more can be done."""
    with pytest.raises(Failure) as failure:
        former.form(SHORT)
    return str(failure.value)


def leads(made: Processes, name: str) -> bool:
    """Whether it is a master with slots, by itself."""
    one = next(one for one in made.endpoints if one.name == name)
    with client(one) as server:
        nodes = server.execute_command("CLUSTER NODES")
    return next(bool(node["slots"]) for node in nodes.values() if "myself" in node["flags"])


@needs_cli
@pytest.mark.limit(300)
def test_one_after_the_other(tmp_path: Path) -> None:
    """each master of three ends and comes back empty: the cluster is clean by redis-cli after the start and each
    return, its replica leads as soon as the end is known, no acknowledged write is lost, and the masters lead again"""
    with processes(tmp_path) as made:
        former = Former(made.endpoints, is_new=True)
        former.form(WHOLE)
        check(made)
        stamps = Stamps(client, made.endpoints)
        assert stamps.write(150) == 150
        for shard in range(3):
            dead, heir = (one for one in made.endpoints if one.shard == shard)
            made.kill(dead)
            former.learn(over=[dead.name])
            assert f"{dead.name}, which has ended" in missing(former) and leads(made, heir.name)
            assert not stamps.lost()
            stamps.write(9, 50)
            made.start(dead)
            former.learn(serving=[dead.name])
            former.form(WHOLE)
            check(made)
            assert leads(made, dead.name) and not stamps.lost() and stamps.write(9) == 9
        assert [promotion.shard for promotion in former.promotions] == [0, 1, 2]


@pytest.mark.limit(200)
def test_two_at_once(tmp_path: Path) -> None:
    """both copies of a shard end together and come back: the former ends with an error that names them, and gives their
    slots to nobody; the other shards have all their writes"""
    with processes(tmp_path) as made:
        former = Former(made.endpoints, is_new=True)
        former.form(WHOLE)
        stamps = Stamps(client, made.endpoints)
        stamps.write(60)
        both = [one for one in made.endpoints if one.shard == 1]
        for one in both:
            made.kill(one)
        former.learn(over=[one.name for one in both])
        for one in both:
            made.start(one)
        former.learn(serving=[one.name for one in both])
        assert "shard 2 is lost: all its copies ended together (redis@1.0, redis@1.1)" in missing(former)
        assert not any(leads(made, one.name) for one in both)
        kept = stamps.kept()
        stamps.acknowledged = {key: number for key, number in stamps.acknowledged.items() if key in kept}
        assert len(stamps.acknowledged) == 40 and not stamps.lost()


@pytest.mark.limit(200)
def test_silent_and_not_over(tmp_path: Path) -> None:
    """two masters that are stopped, and of which nobody knows whether they live: no quorum, so the former names them
    and takes no step"""
    with processes(tmp_path) as made:
        former = Former(made.endpoints, is_new=True)
        former.form(WHOLE)
        stopped = [one for one in made.endpoints if one.number == 0 and one.shard < 2]
        for one in stopped:
            made.running[one.name].send_signal(signal.SIGSTOP)
        said = missing(former)
        assert all(one.name in said for one in stopped) and not former.promotions
        for one in stopped:
            made.running[one.name].send_signal(signal.SIGCONT)
        former.form(WHOLE)
        assert all(leads(made, one.name) for one in stopped)


@needs_cli
@pytest.mark.limit(200)
@pytest.mark.parametrize("after", [0.05, 0.4, 1.2])
def test_during_forming(tmp_path: Path, after: float) -> None:
    """a master that ends while the cluster is made, at one moment or another, and comes back: it is whole in the end"""
    with processes(tmp_path) as made:
        former = Former(made.endpoints, is_new=True)
        dead = made.endpoints[2]

        def end() -> None:
            time.sleep(after)
            made.kill(dead)
            former.learn(over=[dead.name])
            time.sleep(0.5)
            made.start(dead)
            former.learn(serving=[dead.name])

        killer = threading.Thread(target=end)
        killer.start()
        try:
            former.form(WHOLE)
        finally:
            killer.join()
        former.form(WHOLE)
        check(made)
        assert all(leads(made, one.name) == (one.number == 0) for one in made.endpoints)


# ---- A machine: 3 masters and their replicas on 3 kernels ----

WITHIN = {"LD_PRELOAD": str(BUILD / "tests/programs/within.so")}  # for redis-cli, which learns addresses in the machine
NODE_TIMEOUT = 60_000  # ms: Redis fails over by itself in no test but those under another one
SHORT_TIMEOUT = 15_000  # ms: a shard is handed over again after four of them


class Machine:
    """A machine and its keeper."""

    def __init__(self, run: Run, keeper: Keeper) -> None:
        self.run, self.keeper = run, keeper
        self.endpoints = keeper.former.endpoints
        self.stamps = Stamps(client, self.endpoints)

    def await_whole(self) -> None:
        self.keeper.former.is_whole = False
        self.run.wait_for(lambda: self.keeper.former.is_whole or self.keeper.failure is not None, "whole Redis Cluster")
        assert self.keeper.failure is None, self.keeper.failure
        if HAS_CLI:
            checked(self.endpoints[0], os.environ | WITHIN)

    def of_cluster(self, number: int) -> list[Endpoint]:
        homes = {app.name: self.run.plan.cluster_map.cluster_of(app.cpu)
                 for app in self.run.plan.cluster_map.applications}
        return [one for one in self.endpoints if (home := homes[one.name]) and home.number == number]

    def end(self, cluster: int, how: str) -> None:
        """Returns when it runs again and its instances serve."""
        names = {one.name for one in self.of_cluster(cluster)}
        before = {name: len(self.run.events.of("serving", app=name)) for name in names}
        end_cluster(self.run, cluster, how)
        self.run.wait_for(lambda: all(len(self.run.events.of("serving", app=name)) > count
                                      for name, count in before.items()), "next life")


@contextmanager
def machine_of_three(folder: Path, node_timeout: int = NODE_TIMEOUT) -> Iterator[Machine]:
    """Three kernels, as `bench failover` has them; what the keeper says is in the folder."""
    job = Job((), 0, node_timeout, qemu.tcg_for(SHARDS * 3), Patience(PATIENCE))
    heard: list[Callable[[Event], None]] = []
    run = machine(plan(job.deployment(free_ports(2 * SHARDS))), on_event=lambda event: [hear(event) for hear in heard])
    with (folder / "said").open("w", buffering=1) as said, run, \
            Keeper(run, lambda text: print(text, file=said)) as keeper:
        heard.append(keeper.event)
        made = Machine(run, keeper)
        made.await_whole()
        yield made


@pytest.mark.limit(300)
def test_a_kernel_that_panics(tmp_path: Path) -> None:
    """one of three kernels panics: its master's replica leads as soon as it is fenced, no write that WAIT 1 has
    answered with 1 is lost, the cluster is clean by redis-cli when it has returned, and the masters lead again"""
    with machine_of_three(tmp_path) as made:
        assert made.stamps.write(90) == 90
        made.end(1, "panic")
        made.await_whole()
        gone, = (one for one in made.of_cluster(1) if one.number == 0)
        promotion, = made.keeper.former.promotions
        assert promotion.shard == gone.shard
        kinds = [event.kind for event in made.run.events.events if event.get("cluster") == 1]
        assert kinds.index("cluster-lost") < kinds.index("cluster-fenced") < kinds.index("cluster-restarted")
        assert not made.stamps.lost() and made.stamps.write(9) == 9
        with client(gone) as server:
            assert server.info("replication")["role"] == "master"


@pytest.mark.limit(300)
def test_both_copies_in_a_machine(tmp_path: Path) -> None:
    """two of three kernels panic at once: the shard that had both its copies there is said to be lost, and its empty
    instances get no slots; the others have all their acknowledged writes"""
    with machine_of_three(tmp_path) as made:
        assert made.stamps.write(90) == 90
        run, gone = made.run, [*made.of_cluster(1), *made.of_cluster(2)]
        lost = {one.shard for one in gone if sum(other.shard == one.shard for other in gone) == 2}
        assert len(lost) == 1
        for cluster in (1, 2):
            end_cluster(run, cluster, "panic")
        shard, = lost
        said = f"shard {shard + 1} is lost"
        run.wait_for(lambda: said in (tmp_path / "said").read_text(), said)
        kept = made.stamps.kept()
        missing_keys = made.stamps.lost()
        assert 0 < len(missing_keys) <= 30 and all(key_slot(key.encode()) in slots_of(shard, SHARDS)
                                                   for key in missing_keys) and kept


KILLS = 4
ENDS = ("panic", "hang", "hang-core", "init")  # ways in which a kernel ends


@pytest.mark.drawn
@pytest.mark.limit(500)
def test_drawn_kills(tmp_path: Path) -> None:
    """kernels end one after the other, in a way and at a moment that a printed seed draws, under clients that write all
    the time: no write that WAIT 1 has answered with 1 is lost, and the cluster is whole after each"""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with machine_of_three(tmp_path, SHORT_TIMEOUT) as made, writing(made.endpoints) as writers:
        for _ in range(KILLS):
            moment = time.monotonic() + chance.uniform(0.2, 2.0)
            made.run.wait_for(lambda: time.monotonic() > moment, "load")  # noqa: B023  # asked in this turn alone
            made.end(chance.choice((1, 2)), chance.choice(ENDS))
            made.await_whole()
        writers.stop()
        assert writers.count() > 100 and not writers.lost(), f"seed {seed}"


@pytest.mark.drawn
@pytest.mark.limit(400)
def test_bench_failover(tmp_path: Path) -> None:
    """the command measures an end on Skerry and on this host's Linux in one run, and loses no acknowledged write"""
    done = skerry("bench", "failover", "--how", "panic", "--repeats", "1", "--json", "f.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {entry["system"]: entry["metrics"] for entry in json.loads((tmp_path / "f.json").read_text())["results"]}
    assert set(found) == {"skerry", "linux"} and found["skerry"]["lost"] == 0
    assert all(metrics["kills"] == 1 and 0 < metrics["write_ms"] <= metrics["whole_ms"]
               and metrics["acknowledged"] > 50 for metrics in found.values())
