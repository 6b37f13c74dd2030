# SPDX-License-Identifier: BSD-2-Clause
"""Cores move from one cluster to another while programs run, and stay where they are when clusters are started
again."""

import socket
import time
from dataclasses import replace

import pytest

from deploy.base.errors import Failure
from deploy.bench.failure.scene import end_cluster
from deploy.deployment import Deployment, Redis
from deploy.deployment.planner import plan
from deploy.live import cores, granularity, ledger
from deploy.live.cores import OWNED, Core, cores_of
from deploy.live.lockstat import live
from deploy.live.top.sample import between
from deploy.live.top.source import Look
from deploy.machine import changes
from deploy.machine.events import boots_of
from deploy.machine.run import Run
from tests.boot.machine import ANSWER, assert_serve, deployment as plain, machine, machine_serving, servers, with_redis
from tests.boot.test_restart_cluster import restarted, write
from topology.errors import InputError
from topology.units import MIB

pytestmark = pytest.mark.drawn


def deployment(lock: str = "clh", at: tuple[int, ...] = (0, 3)) -> Deployment:
    """Two clusters of three cores; in each a Redis beside its manager, the first one beside the switch, too."""
    what = with_redis(2, 3, lock=lock, restart="on-failure", restart_delay=0, restart_limit=0, spare_cores=True)
    return replace(what, redis=Redis(cpus=at, heap=64 * MIB, restart="always"))


def in_force(run: Run) -> list[Core]:
    run.poll()
    return cores_of(run.events.events, live.monitor_memory(run.directory))


def owners(run: Run) -> list[int]:
    """Returns the cluster of each core; each has one, or this fails."""
    now = in_force(run)
    assert all(core.state == OWNED for core in now), [str(core) for core in now]
    return [core.cluster for core in now]


def give_order(run: Run, core: int, to: int) -> int:
    run.poll()
    _, boot = cores.check(run.events.events, in_force(run), core, to)
    number = ledger.CORE.unused(run.events.events, live.monitor_memory(run.directory))
    cores.order(lambda address, word: write(run, address, word), boot, core, to, number)
    return number


def move(run: Run, core: int, to: int) -> None:
    give_order(run, core, to)
    run.wait_for(lambda: in_force(run)[core] == replace(in_force(run)[core], cluster=to, state=OWNED),
                 f"core {core} in cluster {to}")


def refused(run: Run, core: int, to: int, words: str) -> None:
    before = in_force(run)
    number = give_order(run, core, to)
    run.wait_for(lambda: ledger.CORE.answered(run.events.events, number, cores.JOINED, cpu=core), "an answer")
    report = ledger.CORE.answered(run.events.events, number, cores.JOINED, cpu=core)
    assert report and words in cores.refusal(run.events.events, before, before[core], report), report
    assert in_force(run) == before


def leaves_or_runs(run: Run, core: int, to: int) -> None:
    """A core that its cluster had before or while its Redis started again: the Redis is placed there only in the first
    case."""
    number = give_order(run, core, to)
    run.wait_for(lambda: ledger.CORE.answered(run.events.events, number, cores.JOINED, cpu=core), "an answer")
    report = ledger.CORE.answered(run.events.events, number, cores.JOINED, cpu=core)
    if report and report["what"] == "programs":
        assert run.events.of("core", what="program", cpu=core)
    else:
        run.wait_for(lambda: (in_force(run)[core].cluster, in_force(run)[core].state) == (to, OWNED),
                     f"core {core} in cluster {to}")


@pytest.mark.limit(300)
@pytest.mark.parametrize("lock", ["clh", "mcs", "ticket", "fine", "rtm", "dynamic"])
def test_there_and_back(lock: str) -> None:
    """cores leave and join, again and again, under each regime; the programs serve on, and nothing is noticed as a
    loss"""
    with machine_serving(deployment(lock)) as run:
        for _ in range(4):
            move(run, 5, 0)
            move(run, 1, 1)
            assert_serve(run)
            move(run, 5, 1)
            move(run, 1, 0)
        move(run, 4, 0)
        move(run, 5, 0)
        run.wait_for(lambda: len(run.events.of("core", what="joined")) == 18, "all reports")
        assert_serve(run)
        assert owners(run) == [0, 0, 0, 1, 0, 0]
        assert not run.events.of("cluster-lost") and "kernel panic" not in run.own_console


@pytest.mark.limit(300)
def test_locks_change() -> None:
    """kernels of regime dynamic change their locks, to and fro, among the cores that they have at the time; others come
    and go"""
    with machine_serving(deployment("dynamic")) as run:
        boots = boots_of(run.events.events)
        for kind, to in (("fine", 0), ("coarse", 1), ("fine", 0), ("fine", 1), ("coarse", 0)):
            for cluster, boot in boots.items():
                run.poll()
                number = ledger.GRANULARITY.unused(run.events.events, live.monitor_memory(run.directory))
                granularity.order(lambda address, word: write(run, address, word), boot, kind, number)
                done = {"cluster": cluster, "number": number, "granularity": kind}
                run.wait_for(lambda done=done: run.events.of("granularity", **done), f"cluster {cluster} is {kind}")
            move(run, 5, to)
            assert_serve(run)
        assert not run.events.of("cluster-lost") and "kernel panic" not in run.own_console


@pytest.mark.limit(300)
def test_program_on_a_gained_core() -> None:
    """a program that would share its core starts on the core that its cluster has gained, which then is not given
    away"""
    with machine_serving(deployment()) as run:
        move(run, 5, 0)
        first = servers(run)[0]
        run.wait_for(lambda: run.events.of("core", what="joined", cpu=5), "the core")
        # redis-py would repeat it to the next one
        with socket.create_connection(run.address(first), ANSWER) as connection:
            connection.sendall(b"SHUTDOWN NOSAVE\r\n")
            run.wait_for(lambda: len(run.events.of("serving", app=first)) == 2, "Redis again")
        assert run.events.of("core", what="program", cpu=5, app=first)
        assert_serve(run)
        refused(run, 5, 1, "programs run there")


def counted(run: Run) -> dict[int, list[int]]:
    """Returns for each cluster the cores that lockstat and top count."""
    return {one.cluster: [core.cpu for core in one.cores] for one in live.local(run.directory).snapshots()}


@pytest.mark.limit(200)
def test_counted_where_it_is() -> None:
    """top, lockstat and status count a core at the cluster that it has joined, from one look to the next; a sample over
    a move has no rates"""
    with machine_serving(deployment()) as run:

        def look() -> Look:
            seen = live.local(run.directory)
            return Look(time.monotonic(), tuple(seen.snapshots()), tuple(seen.events.events))

        looks = [look()]
        for core, to, where in ((5, 0, {0: [0, 1, 2, 5], 1: [3, 4]}), (1, 1, {0: [0, 2, 5], 1: [3, 4, 1]}),
                                (5, 1, {0: [0, 2], 1: [3, 4, 5, 1]})):
            move(run, core, to)
            assert {cluster: sorted(held) for cluster, held in counted(run).items()} == {c: sorted(held)
                for c, held in where.items()}
            looks += [look(), look()]
            over, after = between(looks[-3], looks[-2]), between(looks[-2], looks[-1])
            assert all(row.rates.utilisation is None for row in over.cores)
            assert all(row.rates.utilisation is not None for row in after.cores) and len(after.cores) == 6
            assert {row.cluster: row.cores for row in after.clusters} == {cluster: len(held)
                                                                          for cluster, held in where.items()}
        run.wait_for(lambda: len(run.events.of("core", what="joined")) == 3, "all reports")
        end_cluster(run, 1, "panic")
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        lines = changes.words(run.events.events)
        assert lines[0].startswith("cluster 1 was started again, once; lost last: ") and "panic" in lines[0]
        assert lines[1:] == ["core 1 is cluster 1's; it has moved once", "core 5 is cluster 1's; it has moved 2 times"]
        assert sorted(counted(run)[1]) == [1, 3, 4, 5]


@pytest.mark.limit(400)
def test_restarts_keep_it() -> None:
    """each cluster that is started again has the cores that it had, not those of the map"""
    with machine_serving(deployment()) as run:
        move(run, 5, 0)
        end_cluster(run, 1, "hang")
        run.wait_for(lambda: restarted(run, 1, 1) and len(run.events.of("serving", app=servers(run)[1])) == 2,
                     "cluster 1 again")
        assert owners(run) == [0, 0, 0, 1, 1, 0]
        end_cluster(run, 0, "hang")
        run.wait_for(lambda: restarted(run, 0, 1), "cluster 0 again")
        assert owners(run) == [0, 0, 0, 1, 1, 0]
        assert ("cluster 1: kernel clh, Skerry" in run.console and run.console.count("2 cores,") == 1
                and run.console.count("4 cores,") == 1)
        run.wait_for(lambda: len(run.events.of("serving", app=servers(run)[0])) == 2, "Redis of cluster 0")
        assert_serve(run)
        leaves_or_runs(run, 5, 1)


@pytest.mark.limit(400)
@pytest.mark.parametrize("lost", [0, 1])
def test_a_cluster_dies_meanwhile(lost: int) -> None:
    """the giver or the taker is lost in the middle of moves: at the end every core has an owner, and moves again, or
    runs a program"""
    with machine_serving(deployment()) as run:
        for times in range(1, 4):
            core, to = (5, 0) if owners(run)[5] == 1 else (5, 1)
            give_order(run, core, to)
            end_cluster(run, lost, ("panic", "hang", "init")[times - 1])
            run.wait_for(lambda times=times: restarted(run, lost, times), "the cluster again")
            run.wait_for(lambda: all(one.state == OWNED for one in in_force(run)), "an owner for each core")
            run.wait_for(lambda times=times: len(run.events.of("serving", app=servers(run)[lost])) == times + 1,
                         "its Redis")
            assert owners(run)[:5] == [0, 0, 0, 1, 1]
        leaves_or_runs(run, 5, 1 - owners(run)[5])
        assert_serve(run)


@pytest.mark.limit(400)
def test_boot_processor() -> None:
    """the boot processor, where it is not its cluster's first core, moves too; an NMI fences it in each of the two
    clusters"""
    target = plan(plain(2, 3, network=False, restart="on-failure", restart_delay=0, restart_limit=0, spare_cores=True))
    target.cluster_map.clusters[0].cpus = [1, 0, 2]
    with machine(target) as run:
        run.wait_for(lambda: len(run.events.of("boot")) == 2, "both clusters")
        move(run, 0, 1)
        for times, how in enumerate(("hang", "init", "panic"), 1):
            end_cluster(run, 1, how)
            run.wait_for(lambda times=times: restarted(run, 1, times), "cluster 1 again, with the boot processor")
            run.wait_for(lambda: owners(run) == [1, 0, 0, 1, 1, 1], "the cores")
            end_cluster(run, 0, how)
            run.wait_for(lambda times=times: restarted(run, 0, times), "cluster 0 again, without it")
            move(run, 0, 0)
            move(run, 0, 1)
        move(run, 0, 0)
        end_cluster(run, 0, "hang")
        run.wait_for(lambda: restarted(run, 0, 4), "cluster 0 again, with it")
        assert owners(run) == [0, 0, 0, 1, 1, 1]


@pytest.mark.limit(200)
def test_refused() -> None:
    """a core that runs a program, the first of its cluster, its only one, and what is not there"""
    with machine_serving(deployment(at=(1, 3))) as run:
        refused(run, 0, 1, "its first")
        refused(run, 1, 1, "programs run there: redis")
        move(run, 4, 0)
        move(run, 5, 0)
        refused(run, 3, 0, "only core")
        checks: list[tuple[int, int, type[Exception]]] = [(9, 0, InputError), (5, 7, InputError), (5, 0, Failure)]
        for core, to, error in checks:
            with pytest.raises(error):
                give_order(run, core, to)
        assert_serve(run)


@pytest.mark.limit(100)
def test_without_room() -> None:
    """kernels without spare cores: the map is shown, and an order is refused in words"""
    with machine_serving(with_redis(2, 2)) as run:
        assert owners(run) == [0, 0, 1, 1]
        with pytest.raises(Failure, match="has no room for other cores"):
            give_order(run, 3, 0)
