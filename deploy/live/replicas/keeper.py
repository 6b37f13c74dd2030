# SPDX-License-Identifier: BSD-2-Clause
"""Keeps the Redis Cluster of a running machine whole, by what its managers report."""

from __future__ import annotations

import threading

from deploy.deployment.planner import Plan
from deploy.live.replicas.former import Former, Say
from deploy.live.replicas.view import Endpoint
from deploy.machine.events import ENDS, Event
from deploy.machine.run import Run

FENCED = ("cluster-fenced", "cluster-restarted")  # after either nothing of a cluster's former life runs
_STOPS = 10.0  # seconds for the thread's end


def endpoints(run: Run) -> list[Endpoint]:
    """The instances of the plan's shards, and where they are reached; none without `masters`."""
    ports = dict(run.plan.forwards)
    found = []
    for shard, names in enumerate(run.plan.shards):
        for number, name in enumerate(names):
            address = run.plan.application(name).ipv4
            assert address  # each Redis has one
            found.append(Endpoint(name, run.address(name), (address, ports[name]), shard, number))
    return found


class Keeper(threading.Thread):
    """Forms the cluster when its instances begin to serve, and again after each loss, until the `with` block ends."""

    def __init__(self, run: Run, say: Say) -> None:
        super().__init__(daemon=True, name="former of the Redis Cluster")
        self.former = Former(endpoints(run), say, is_new=True, node_timeout=_node_timeout(run.plan))
        self._plan = run.plan
        self._begin, self._over = threading.Event(), threading.Event()
        self.failure: BaseException | None = None

    def event(self, event: Event) -> None:
        """Tells it of an event as it comes, in their order."""
        names = {one.name for one in self.former.endpoints}
        if event.kind in FENCED:
            self.former.learn(over=names & _of_cluster(self._plan, int(event["cluster"])))
        elif event.kind in ENDS:
            self.former.learn(over=names & {str(event.get("app"))})
        elif event.kind == "serving" and event.get("app") in names:
            self.former.learn(serving=[str(event["app"])])
            self._begin.set()

    def is_settled(self) -> bool:
        """Whether it has been whole, or cannot be."""
        return self.former.was_whole or self.failure is not None

    def run(self) -> None:
        try:
            self._begin.wait()
            if not self._over.is_set():
                self.former.keep(self._over.is_set)
        except BaseException as error:  # told by the thread that waits
            self.failure = error

    def __enter__(self) -> Keeper:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._begin.set()
        self.former.learn()
        self.join(_STOPS)


def _node_timeout(plan: Plan) -> float:
    """Returns that of its instances, in seconds."""
    args = plan.application(plan.shards[0][0]).args
    return int(args[len(args) - args[::-1].index("--cluster-node-timeout")]) / 1000


def _of_cluster(plan: Plan, number: int) -> set[str]:
    return {app.name for app in plan.cluster_map.applications
            if (home := plan.cluster_map.cluster_of(app.cpu)) and home.number == number}
