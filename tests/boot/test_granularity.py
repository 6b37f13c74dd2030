# SPDX-License-Identifier: BSD-2-Clause
"""A kernel that changes its locks while Redis and its load run: nothing is lost, and each lock is used."""

import pytest

from deploy.bench.failure.scene import end_cluster
from deploy.deployment import Load
from deploy.live.granularity import check, order
from deploy.live.ledger import GRANULARITY
from deploy.live.lockstat import live
from deploy.machine import gdb_remote, monitor
from deploy.machine.run import Run
from tests.boot.machine import client, machine_serving, servers, with_redis
from tests.boot.test_lockstat import add_up
from tests.boot.test_restart_cluster import restarted
from topology.maps.clustermap import COARSE, FINE, GRANULARITIES

pytestmark = pytest.mark.drawn

CHANGES, OPERATIONS = 12, 15000  # of each client, which take two to three times as long as the changes


def change(run: Run, granularity: str, number: int) -> None:
    """Orders it of every kernel, and waits until it is so."""
    boots = check(run.events.events, None)
    for boot in boots:
        order(lambda address, word: gdb_remote.write_word(lambda line: monitor.human(run.command.monitor, line)[0],
                                                          address, word),
              boot, granularity, number)  # fmt: skip
    for boot in boots:
        cluster = int(boot["cluster"])
        run.wait_for(lambda cluster=cluster: GRANULARITY.answered(run.events.events, number, cluster=cluster),
                     f"cluster {cluster}: change {number}")
        report = GRANULARITY.answered(run.events.events, number, cluster=cluster)
        assert report and report["error"] == 0 and report["granularity"] == granularity, report


def under_load(changes: int, operations: int) -> int:
    """Changes to and fro while YCSB runs, at least so often and until its end. Returns how often."""
    load = Load(clients=2, workload="a", records=200, operations=operations)
    what = with_redis(1, 4, "spanning", lock="dynamic", statistics=True, shutdown="when-done", load=load)
    with machine_serving(what) as run:
        number = 0
        while number < changes:
            assert run.running, f"the load was over after {number} changes"
            number += 1
            change(run, GRANULARITIES[number % 2], number)
        add_up(live.local(run.directory).snapshots())
        run.wait_done()
        assert run.events.of("done")[0]["status"] == 0
        assert not run.events.of("fault") and not run.events.of("failed")
        results = [e["data"] for e in run.events.of("result") if e["data"].get("event") == "ycsb"]
        assert len(results) == sum(app.program == "ycsb" for app in run.plan.cluster_map.applications)
        for result in results:
            assert (result["operations"], result["errors"], result["wrong"]) == (operations, 0, 0), result
        return number


@pytest.mark.limit(300)
def test_under_load() -> None:
    """no operation of YCSB is lost or wrong while the kernel changes its locks to and fro"""
    assert under_load(CHANGES, OPERATIONS) >= CHANGES


def taken(run: Run, cluster: int) -> tuple[int, int]:
    """Returns how often a kernel takes its one lock, and a core's side of the big-reader lock, while its Redis
    serves."""
    own = [name for name in servers(run)
           if run.plan.cluster_map.cluster_of(run.plan.application(name).cpu).number == cluster]
    first = live.local(run.directory).snapshots()[cluster]
    for i in range(20):
        client(run, own[0]).set(f"key{i}", i)
    between = live.local(run.directory).snapshots()[cluster].since(first).total
    return between.locks["kernel"].acquisitions, between.locks["read"].acquisitions if "read" in between.locks else 0


@pytest.mark.limit(120)
def test_from_the_start() -> None:
    """a kernel for which the deployment says so is fine before its first program starts, and another is not"""
    with machine_serving(with_redis(2, 2, locks=("dynamic", "clh"), statistics=True, granularity=FINE)) as run:
        reports = run.events.of("granularity")
        assert [(e["cluster"], e["number"], e["granularity"], e["error"]) for e in reports] == [(0, 0, FINE, 0)]
        kinds = [e.kind for e in run.events.events if e.get("cluster", 0) == 0]
        assert kinds.index("boot") < kinds.index("granularity") < kinds.index("started")
        coarse, fine = taken(run, 0)
        assert coarse == 0 and fine > 100, (coarse, fine)
        coarse, fine = taken(run, 1)
        assert coarse > 100 and fine == 0, (coarse, fine)
        change(run, COARSE, 1)
        coarse, fine = taken(run, 0)
        assert coarse > 100 and fine == 0, (coarse, fine)
        add_up(live.local(run.directory).snapshots())


@pytest.mark.limit(300)
def test_after_a_loss() -> None:
    """a kernel that is started again is fine again, and can be ordered otherwise"""
    with machine_serving(with_redis(2, 2, locks=("clh", "dynamic"), granularity=FINE, restart="on-failure")) as run:
        end_cluster(run, 1, "panic", 1)
        run.wait_for(lambda: restarted(run, 1, 1), "cluster 1 again")
        run.wait_for(lambda: len(run.events.of("granularity", cluster=1, number=0, granularity=FINE, error=0)) == 2,
                     "cluster 1 fine again")
        change(run, COARSE, 1)
        assert not run.events.of("granularity", cluster=0)
