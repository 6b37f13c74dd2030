# SPDX-License-Identifier: BSD-2-Clause
"""Of two machines with a cluster each, one is ended and switched on again: it joins the other, which goes on."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from deploy.deployment.planner import Plan, plan
from deploy.machine.run import Run
from topology.maps.separate import separate

from . import machine as machines
from .test_machines import devices, exchange, loader_line


class Machines(contextlib.ExitStack):
    """Those of a deployment, each of which can be switched on as often as one likes."""

    def __init__(self, what: Plan, folder: Path) -> None:
        super().__init__()
        self.what, self.folder = what, folder
        self.map, self.parts = separate(what.cluster_map, what.machine)

    def start(self, number: int) -> Run:
        own = replace(
            self.what, cluster_map=self.map, machine=self.parts[number], forwards=[] if number else self.what.forwards
        )
        extra = (*devices(self.map, number, self.folder), "-append", f"machine={number}")
        return self.enter_context(machines.machine(own, extra=extra))

    def names(self, cluster: int) -> list[str]:
        found = self.what.cluster_map
        return [a.name for a in found.applications if a.program == "redis-server" and found.cluster_of(a.cpu).number == cluster]


def serving(first: Run, name: str, times: int) -> None:
    first.wait_for(lambda: len(first.events.of("serving", app=name)) >= times, f"{name} serves for the {times}th time")


def test_a_machine_that_is_started_again_joins_the_other(tmp_path: Path) -> None:
    """Ended under load, twice in a row, then while it boots. The other's connection lasts through all of it."""
    with Machines(plan(machines.with_redis()), tmp_path) as all_of:
        first, second = all_of.start(0), all_of.start(1)
        first.wait_serving()
        here, there = all_of.names(0)[0], all_of.names(1)[0]
        steady = machines.client(first, here)
        steady.set("kept", "all the time")
        identity = steady.client_id()
        for life in (2, 3):
            machines.client(first, there).set("of", f"life {life - 1}")
            second.stop()
            second = all_of.start(1)
            if life == 3:  # it has said hello, and dies before its kernel says anything
                loader_line(second, "joins cluster 0")
                second.stop()
                second = all_of.start(1)
            serving(first, there, life)
            assert machines.client(first, there).get("of") is None
            exchange(first, there)
        assert steady.get("kept") == b"all the time" and steady.client_id() == identity
        restarted = [(event["cluster"], event["restarts"]) for event in first.events.of("cluster-restarted")]
        assert restarted[0] == (1, 1) and len(restarted) == 2 and restarted[1][1] in (2, 3)


def test_the_machine_with_the_devices_joins_the_other(tmp_path: Path) -> None:
    """The other's Redis keeps what it has; events tell of all that runs, since the new one's reader has seen none."""
    with Machines(plan(machines.with_redis()), tmp_path) as all_of:
        first, second = all_of.start(0), all_of.start(1)
        first.wait_serving()
        here, there = all_of.names(0)[0], all_of.names(1)[0]
        for name in (here, there):
            machines.client(first, name).set("written", "before")
        first.stop()
        first = all_of.start(0)
        first.wait_serving()
        assert machines.client(first, there).get("written") == b"before"
        assert machines.client(first, here).get("written") is None
        exchange(first, here)
        second.poll()
        assert second.running
        assert {event["cluster"] for event in first.events.of("boot")} == {0, 1}


def test_machines_that_are_ended_while_they_meet(tmp_path: Path) -> None:
    """Each waits for the other, is ended, and comes back; they meet once, and nobody joins anybody."""
    with Machines(plan(machines.with_redis()), tmp_path) as all_of:
        for number in (1, 0):
            waiting = all_of.start(number)
            loader_line(waiting, f"waiting for the machine of cluster {1 - number}")
            waiting.stop()
        second, first = all_of.start(1), all_of.start(0)
        first.wait_serving()
        for name in machines.servers(first):
            exchange(first, name)
        machines.assert_no_fault(first)
        assert "joins" not in first.console + second.console
