# SPDX-License-Identifier: BSD-2-Clause
"""The example deployments that no other test boots."""

from __future__ import annotations

import pytest

from deploy import deployment, ycsb
from deploy.expand import Plan, plan
from deploy.paths import ROOT
from deploy.results import check
from tests.boot.machine import client, machine


LOADED = {
    "minimal": {0: "none"},
    "spanning": {0: "mcs+stat"},
    "chiplets": {0: "clh", 1: "clh"},
    "locks": {0: "ticket+stat", 1: "mcs+stat"},
}


def example(name: str) -> Plan:
    return plan(deployment.read(ROOT / "deploy/deployments" / f"{name}.toml"))


@pytest.mark.limit(90)
@pytest.mark.parametrize("name,kernels", LOADED.items(), ids=LOADED)
def test_load(name: str, kernels: dict[int, str]) -> None:
    """an example under load runs to its end, with no operation lost"""
    with machine(example(name)) as run:
        run.wait_done()
        assert {event["cluster"]: event["kernel"] for event in run.events.of("boot")} == kernels
        assert check(run.plan, run.events) == []
        clients = ycsb.collect(run.events)
        assert clients and all(one.number("operations") == run.plan.load.operations for one in clients)


@pytest.mark.limit(90)
def test_isolation() -> None:
    """in the isolation example the crash is reported and both Redis serve on"""
    with machine(example("isolation")) as run:
        fault = run.wait_event("fault")
        assert fault["app"].startswith("crash@") and fault["cluster"] == 1
        run.wait_serving()
        for name, _ in run.plan.forwards:
            with client(run, name) as server:
                assert server.ping()
