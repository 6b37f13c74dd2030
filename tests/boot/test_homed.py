# SPDX-License-Identifier: BSD-2-Clause
"""Layout `homed`: one kernel for two nodes, each program's objects at home on its node, under load."""

from __future__ import annotations

import pytest

from deploy.deployment import Load
from tests.boot.machine import client, machine, servers, with_redis
from tests.boot.test_granularity import taken
from topology.maps.clustermap import FINE

OPERATIONS = 1500  # of each client


@pytest.mark.limit(400)
def test_under_load() -> None:
    """calls that travel between the nodes of a homed kernel lose no operation of YCSB, and each Redis answers the host"""
    load = Load(clients=1, workload="a", records=100, operations=OPERATIONS)
    with machine(with_redis(2, 2, "homed", lock="dynamic", statistics=True, shutdown="never", load=load)) as run:
        (cluster,) = run.plan.cluster_map.clusters
        assert cluster.homed and cluster.granularity == FINE and len(cluster.cpus) == 4
        run.wait_for(lambda: run.events.of("done"), "the load")
        assert run.events.of("done")[0]["status"] == 0
        results = [e["data"] for e in run.events.of("result") if e["data"].get("event") == "ycsb"]
        assert len(results) == sum(app.program == "ycsb" for app in run.plan.cluster_map.applications) > 1
        assert all((one["operations"], one["errors"], one["wrong"]) == (OPERATIONS, 0, 0) for one in results)
        assert len(servers(run)) > 1
        for name in servers(run):
            assert client(run, name).set("here", name) and client(run, name).get("here") == name.encode()
        coarse, fine = taken(run, 0)  # the boot's entries are left out: it waits for the console, so their number is the host's
        assert coarse == 0 and fine > 100, (coarse, fine)
        assert not run.events.of("fault") and not run.events.of("failed")
