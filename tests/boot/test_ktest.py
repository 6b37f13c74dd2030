# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's test program inside the machine (apps/ktest), on every kernel and number of cores."""

from __future__ import annotations

import pytest

from deploy.boot import Run
from deploy.errors import Failure
from deploy.expand import Plan, plan
from tests.boot.machine import deployment, machine

MINIMUM = {1: 390, 2: 430}  # tests that a cluster of one core, and of more, passes at least

TIMEOUT = 240.0  # seconds; on an idle machine the longest takes a tenth of that

RUNS = [
    (1, 1, "none"),
    (1, 1, "none+stat"),
    (1, 1, "clh"),
    (1, 2, "clh"),
    (1, 4, "clh"),
    (1, 1, "clh+stat"),
    (1, 2, "clh+stat"),
    (1, 4, "clh+stat"),
    (2, 1, "none"),
    (2, 2, "clh"),
    (2, 2, "clh+stat"),
]


def ktest(sockets: int, cores: int, kernel: str) -> Plan:
    """A cluster for each socket; ktest is the first task of all of them."""
    lock, _, statistics = kernel.partition("+")
    target = plan(deployment(sockets, cores, lock=lock, statistics=bool(statistics), network=False))
    for cluster in target.cluster_map.clusters:
        cluster.root = "ktest"
    return target


def failures(run: Run) -> list[str]:
    return [f"cluster {e['cluster']}: {e['name']}: {e['why']}" for e in run.events.of("test", ok=False)]


@pytest.mark.limit(TIMEOUT + 30)
@pytest.mark.parametrize(
    "clusters,cores,kernel", RUNS, ids=[f"{k}, {n} clusters of {c} cores" for n, c, k in RUNS]
)
def test_ktest(clusters: int, cores: int, kernel: str) -> None:
    """every test of the kernel inside the machine passes"""
    with machine(ktest(clusters, cores, kernel), timeout=TIMEOUT) as run:
        try:
            run.wait_for(lambda: bool(run.events.of("ktest")), "the summary")
        except Failure as failure:
            done = [str(e["name"]) for e in run.events.of("test")]
            raise Failure("\n".join([f"{failure}, after '{done[-1] if done else 'nothing'}'", *failures(run)])) from None
        summary = run.events.of("ktest")[0]
        assert not failures(run), "\n".join(failures(run))
        assert summary["failed"] == 0
        assert summary["passed"] == len(run.events.of("test", ok=True))
        assert summary["passed"] >= clusters * MINIMUM[min(cores, 2)]
        assert {event["cluster"] for event in run.events.of("test")} == set(range(clusters))
        run.wait_done()
