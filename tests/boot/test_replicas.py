# SPDX-License-Identifier: BSD-2-Clause
"""A Redis Cluster with replicas: formed, kept whole, and no acknowledged write lost."""

import signal
import threading
import time
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.bench.failover.linux import Processes
from deploy.live.replicas.former import Former
from tests.boot.linux_redis import HAS_CLI, Stamps, check, client, processes

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
    """two masters that are stopped, and of which nobody knows whether they live: no quorum, so the former names them and
    takes no step"""
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
