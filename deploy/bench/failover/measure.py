# SPDX-License-Identifier: BSD-2-Clause
"""Ends parts of a Redis Cluster under load, on Skerry and as processes of this host's Linux, and times it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench.failover.linux import Processes, free_ports, processes
from deploy.bench.failover.writers import Writers, writing
from deploy.bench.failure.scene import end_cluster
from deploy.deployment import Deployment, Redis
from deploy.deployment.planner import plan
from deploy.live.replicas.former import Former
from deploy.live.replicas.keeper import Keeper
from deploy.live.replicas.view import Endpoint
from deploy.machine.events import Event
from deploy.machine.qemu import Accel
from deploy.machine.run import Options, Run, boot
from topology.machines.machine import Shape, default_memory
from topology.units import MIB

WAYS = ("panic", "hang")
SHARDS, CORES, HEAP = 3, 3, 64 * MIB
SKERRY, LINUX = "Skerry", "Linux"
KILL = "kill -9"
CALM = 1.0       # seconds of load before each end
PATIENCE = 90.0  # seconds in which it must write again, and be whole again


@dataclass(frozen=True)
class Job:
    ways: Sequence[str]
    repeats: int
    node_timeout: int  # ms
    accel: Accel
    timeout: Patience
    linux: bool = True

    def deployment(self, port: int) -> Deployment:
        """A kernel for each socket; a lost one is fenced at once."""
        redis = Redis(heap=HEAP, masters=SHARDS, replicas=1, port=port, node_timeout=self.node_timeout)
        return Deployment("failover", Shape(SHARDS, CORES, default_memory(CORES)), restart="on-failure",
                          restart_limit=0, restart_delay=0, redis=redis, shutdown="never")


@dataclass(frozen=True)
class Fate:
    """One end, and what followed. Times are of the host's clock since the order."""

    how: str
    write_ms: float          # to the first write to each shard whose master has ended, by another instance
    whole_ms: float          # to a whole cluster, all instances back
    stall_ms: float          # longest time without a write of a shard that kept its master
    errors: int              # of clients of such shards

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class Measured:
    """All ends on one system."""

    system: str
    fates: list[Fate] = field(default_factory=list)
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)  # keys

    def of(self, how: str) -> list[Fate]:
        return [fate for fate in self.fates if fate.how == how]

    def to_json(self, emulated: bool) -> list[dict[str, Any]]:
        return [{
            "workload": "failover", "system": self.system.lower(), "how": how, "layout": "per-socket",
            **({"emulated": True} if emulated and self.system == SKERRY else {}),
            "metrics": {"kills": len(fates), "write_ms": median(fate.write_ms for fate in fates),
                        "write_worst_ms": max(fate.write_ms for fate in fates),
                        "whole_ms": median(fate.whole_ms for fate in fates),
                        "stall_ms": max(fate.stall_ms for fate in fates),
                        "errors": sum(fate.errors for fate in fates),
                        "acknowledged": self.acknowledged, "lost": len(self.lost)},
            "kills": [fate.to_json() for fate in fates],
        } for how in dict.fromkeys(fate.how for fate in self.fates) if (fates := self.of(how))]


Tell = Callable[[str], None]


def measure(job: Job, tell: Tell) -> list[Measured]:
    """Skerry first, then, where asked for, Linux with the same placement."""
    found = [_skerry(job, tell)]
    if job.linux:
        found.append(_linux(job, tell))
    return found


# --- Skerry ---

def _skerry(job: Job, tell: Tell) -> Measured:
    what = plan(job.deployment(free_ports(2 * SHARDS)))
    heard: list[Callable[[Event], None]] = []

    def hear(event: Event) -> None:
        for one in heard:
            one(event)

    measured = Measured(SKERRY)
    with boot(what, Options(job.accel, job.timeout, "kernel", on_event=hear)) as run, Keeper(run, tell) as keeper:
        heard.append(keeper.event)
        run.wait_for(keeper.is_settled, "whole Redis Cluster")
        _check(keeper)
        with writing(keeper.former.endpoints) as writers:
            for how in job.ways:
                for number in range(job.repeats):
                    cluster = 1 + number % (SHARDS - 1)  # the first one has the switch
                    measured.fates.append(_end_on_skerry(run, keeper, writers, how, cluster))
                    tell(_said(measured))
        run.wait_for(lambda: keeper.former.is_whole, "whole Redis Cluster")
        measured.acknowledged, measured.lost = writers.count(), writers.lost()
    return measured


def _check(keeper: Keeper) -> None:
    if keeper.failure:
        raise keeper.failure


def _end_on_skerry(run: Run, keeper: Keeper, writers: Writers, how: str, cluster: int) -> Fate:
    home = {app.name: run.plan.cluster_map.cluster_of(app.cpu) for app in run.plan.cluster_map.applications}
    gone = [one for one in keeper.former.endpoints if (at := home[one.name]) and at.number == cluster]
    wait = partial(_wait_on_skerry, run, keeper)
    _calm(wait)
    before = len(run.events.of("cluster-restarted"))
    moment = end_cluster(run, cluster, how, None)
    keeper.former.is_whole = False
    return _follow(how, writers, gone, moment, wait,
                   lambda: len(run.events.of("cluster-restarted")) > before and keeper.former.is_whole)


def _wait_on_skerry(run: Run, keeper: Keeper, condition: Callable[[], bool], what: str) -> None:
    def holds() -> bool:
        _check(keeper)
        return condition()

    run.wait_for(holds, what, Patience(limit=PATIENCE), every=0.005)


# --- Linux ---

def _linux(job: Job, tell: Tell) -> Measured:
    """Redis finds out by itself that its master is gone; the former only makes the cluster whole again."""
    measured = Measured(LINUX)
    copies = [(shard, number) for shard in range(SHARDS) for number in range(2)]
    with tempfile.TemporaryDirectory(prefix="skerry-failover-") as folder, \
            processes(Path(folder), copies, job.node_timeout) as made:
        former = Former(made.endpoints, is_new=True, node_timeout=job.node_timeout / 1000)
        former.form()
        with writing(made.endpoints) as writers:
            for number in range(len(job.ways) * job.repeats):
                measured.fates.append(_end_on_linux(made, former, writers, 1 + number % (SHARDS - 1)))
                tell(_said(measured))
        former.form()
        measured.acknowledged, measured.lost = writers.count(), writers.lost()
    return measured


def _end_on_linux(made: Processes, former: Former, writers: Writers, domain: int) -> Fate:
    """Ends the processes that would be on one kernel; they start again when the others write."""
    gone = [one for one in made.endpoints if (one.shard + one.number) % SHARDS == domain]
    _calm(_wait_on_linux)
    moment = time.monotonic()
    for one in gone:
        made.kill(one)
    names = [one.name for one in gone]

    def is_whole() -> bool:
        for one in gone:
            made.start(one)
        former.learn(serving=names)
        former.form()
        return True

    return _follow(KILL, writers, gone, moment, _wait_on_linux, is_whole)


def _wait_on_linux(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"no {what} on {LINUX} within {PATIENCE:.0f} s")
        time.sleep(0.005)


# --- both ---

Wait = Callable[[Callable[[], bool], str], None]


def _calm(wait: Wait) -> None:
    end = time.monotonic() + CALM
    wait(lambda: time.monotonic() > end, "load")


def _follow(how: str, writers: Writers, gone: Sequence[Endpoint], moment: float, wait: Wait,
            is_whole: Callable[[], bool]) -> Fate:
    """Until each shard whose master has ended is written to again, and until all is whole."""
    names = {one.name for one in gone}
    hit = {one.shard for one in gone if one.number == 0}
    kept = set(range(SHARDS)) - hit

    def times() -> list[float | None]:
        return [writers.written_after(shard, moment, names) for shard in hit]

    wait(lambda: None not in times(), "write after the end")
    first = max(at for at in times() if at is not None)
    wait(is_whole, "whole Redis Cluster")
    whole = time.monotonic()
    return Fate(how, 1000 * (first - moment), 1000 * (whole - moment),
                1000 * max((writers.longest_gap(shard, moment, whole) for shard in kept), default=0.0),
                writers.errors(kept, moment))


def _said(measured: Measured) -> str:
    fate = measured.fates[-1]
    return (f"{measured.system}, {fate.how}: writes again after {fate.write_ms:.0f} ms, whole after "
            f"{fate.whole_ms:.0f} ms")


def problems(found: Iterable[Measured]) -> list[str]:
    """Returns what makes the command fail: writes that were acknowledged and are gone, on Skerry."""
    return [f"{len(one.lost)} of {one.acknowledged} acknowledged writes are lost, as {one.lost[0]}"
            for one in found if one.system == SKERRY and one.lost]
