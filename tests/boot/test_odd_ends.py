# SPDX-License-Identifier: BSD-2-Clause
"""Ends at odd moments: of a cluster that is being started again, of the first one meanwhile, of one that comes back to life; spoilt control words."""

from __future__ import annotations

import pytest

from deploy.live import kill
from deploy.machine import monitor
from deploy.machine.events import standing
from deploy.machine.run import Run
from tests.boot import lives
from tests.boot.machine import client, deployment, machine, servers, with_redis
from tests.boot.test_detection import boots
from tests.boot.test_other_ends import LIFE_SHIFT, LOOP, orders, physical, write
from tests.boot.test_restart_cluster import restarted

RUNNING, DOWN = 1, 5  # enum control_state of cluster_control.h
LATER = 5000          # ms of a restart's delay: the longest there is


def read(run: Run, address: int) -> int:
    """A word of the machine's memory."""
    (said,) = monitor.human(run.command.monitor, f"xp /1gx {address:#x}")
    return int(said.strip().replace("\r", "").rpartition(" ")[2], 16)


def await_life(run: Run, cluster: int, life: int) -> None:
    run.wait_for(lambda: lives.life(run, cluster) == life, f"life {life} of cluster {cluster}")


@pytest.mark.limit(200)
@pytest.mark.parametrize("how", ["panic", "hang"])
def test_dies_while_it_boots(how: str) -> None:
    """a cluster that was just loaded again is ended before its manager says anything: it is loaded once more"""
    with machine(deployment(network=False, restart="on-failure", restart_limit=0, restart_delay=0)) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        again = orders(run, 1, how=how)
        write(run, orders(run, 1, how="panic"))
        await_life(run, 1, 2)
        write(run, again)
        await_life(run, 1, 3)
        run.wait_for(lambda: watching(run, 1), "cluster 1, in its third life")
        assert len(run.events.of("boot", cluster=0)) == 1 and not run.events.of("cluster-lost", cluster=0)


def watching(run: Run, cluster: int) -> bool:
    """Whether nothing is wrong with it, as far as the others know."""
    run.poll()
    return len(run.events.of("boot", cluster=cluster)) >= 2 and kill.loss(run.events.events, cluster) is None


@pytest.mark.limit(300)
@pytest.mark.parametrize("how", ["panic", "hang"])
def test_first_dies_while_another_boots(how: str) -> None:
    """the first cluster ends in the moment in which another one, which it has loaded, begins to boot: both serve again, and nobody forgets a program"""
    with machine(with_redis(restart="on-failure", restart_limit=0, restart_delay=0)) as run:
        run.wait_serving()
        first = orders(run, 0, how=how)
        write(run, orders(run, 1, how="panic"))
        await_life(run, 1, 2)
        write(run, first)
        await_life(run, 0, 2)
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        for name in servers(run):
            run.wait_for(lambda name=name: len(run.events.of("serving", app=name)) >= 2, f"{name} again")
            with client(run, name) as server:
                assert server.ping()
        assert not run.events.of("failed") and not run.events.of("cluster-stuck")


@pytest.mark.limit(300)
def test_report_is_lost() -> None:
    """a program of a cluster that has started again begins to serve while the first cluster hangs: its next life tells it"""
    with machine(with_redis(restart="on-failure", restart_limit=0, restart_delay=0)) as run:
        run.wait_serving()
        first, name = orders(run, 0, how="hang"), servers(run)[-1]
        write(run, orders(run, 1, how="panic"))
        run.wait_for(lambda: len(run.events.of("started", app=name)) == 2, f"{name} is started")  # it takes longer to serve than a beat
        write(run, first)
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        run.wait_for(lambda: len(run.events.of("serving", app=name)) == 2, f"{name} serves, and that is told")
        with client(run, name) as server:
            assert server.ping()
        assert not run.events.of("failed") and lives.life(run, 1) == 2


@pytest.mark.limit(200)
def test_starts_again_while_the_first_is_lost() -> None:
    """a cluster that the first one has told to be lost starts again while the first one is lost, too: nobody takes it for lost afterwards"""
    with machine(deployment(3, network=False, restart="on-failure", restart_delay=LATER)) as run:
        run.wait_for(lambda: boots(run), "three clusters")
        first = orders(run, 0, how="panic")
        write(run, orders(run, 1, how="panic"))
        run.wait_event("cluster-lost", cluster=1)
        write(run, first)
        run.wait_for(lambda: restarted(run, 0, 1), "the first cluster, and its report")
        run.wait_for(lambda: watching(run, 1), "cluster 1")
        assert len(run.events.of("boot", cluster=1)) == 2  # which of the two boots first is chance: the report is lost and told again, or is not lost
        assert not [event for event in standing(run.events.events) if event.kind == "cluster-lost"]
        assert len(run.events.of("boot", cluster=2)) == 1 and lives.life(run, 1) == lives.life(run, 0) == 2


@pytest.mark.limit(200)
def test_back_to_life() -> None:
    """a manager hangs, counts as lost, and goes on before it is fenced: it is started again all the same, and takes nobody for lost"""
    with machine(deployment(network=False, restart="on-failure", restart_delay=LATER)) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        place = physical(run, run.plan.cluster_map.clusters[1].cpus[0], "moves_tick")
        whole = read(run, place)
        write(run, [(place, LOOP)])
        assert run.wait_event("cluster-lost", cluster=1)["reason"] == "manager"
        write(run, [(place, whole)])
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        assert lives.life(run, 1) == 2 and lives.life(run, 0) == 1 and len(run.events.of("boot", cluster=0)) == 1
        assert not run.events.of("cluster-lost", cluster=0)


@pytest.mark.limit(200)
@pytest.mark.parametrize("state", [0, DOWN, 99, 0xFF])
def test_spoilt_control_word(state: int) -> None:
    """a cluster's control word holds no state from which it can be started again: the others say so when it is lost, and go on"""
    with machine(deployment(network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        write(run, [(lives.control(1), 1 << LIFE_SHIFT | state), *orders(run, 1, how="panic")])
        run.wait_event("cluster-lost", cluster=1)
        assert "control word" in run.wait_event("cluster-stuck", cluster=1)["why"]
        assert run.running and len(run.events.of("cluster-stuck")) == 1


@pytest.mark.limit(200)
def test_wild_life() -> None:
    """a control word counts lives that never were: the cluster is started again, in the life after those"""
    with machine(deployment(network=False, restart="on-failure")) as run:
        run.wait_for(lambda: boots(run), "both clusters")
        write(run, [(lives.control(1), 77 << LIFE_SHIFT | RUNNING), *orders(run, 1, how="panic")])
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        assert lives.life(run, 1) == 78
