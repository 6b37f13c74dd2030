# SPDX-License-Identifier: BSD-2-Clause
"""A kernel that changes its locks while Redis and its load run: nothing is lost, and each lock is used."""

from __future__ import annotations

import pytest

from deploy import debugger, monitor
from deploy.boot import Run
from deploy.deployment import Load
from deploy.granularity import GRANULARITIES, check, done, order
from deploy.lockstat import live
from tests.boot.machine import machine, with_redis
from tests.boot.test_lockstat import add_up

CHANGES, OPERATIONS = 24, 12000  # of each client


def change(run: Run, granularity: str, number: int) -> None:
    """Orders it of every kernel, and waits until it is so."""
    boots = check(run.events.events, None)
    for boot in boots:
        order(lambda address, word: debugger.write_word(lambda line: monitor.human(run.command.monitor, line)[0], address, word),
              boot, granularity, number)  # fmt: skip
    for boot in boots:
        cluster = int(boot["cluster"])
        run.wait_for(lambda cluster=cluster: done(run.events.events, cluster, number), f"cluster {cluster}: change {number}")
        said = done(run.events.events, cluster, number)
        assert said and said["error"] == 0 and said["granularity"] == granularity, said


def under_load(changes: int, operations: int) -> int:
    """Changes to and fro while YCSB runs, at least so often and until its end. Returns how often."""
    load = Load(clients=2, workload="a", records=200, operations=operations)
    what = with_redis(1, 4, "spanning", lock="dynamic", statistics=True, shutdown="when-done", load=load)
    with machine(what) as run:
        run.wait_serving()
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
