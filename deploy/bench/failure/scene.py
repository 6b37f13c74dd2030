# SPDX-License-Identifier: BSD-2-Clause
"""A machine under load from outside whose clusters are ended, each in a way that was drawn, and come back."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from deploy.base.errors import Failure
from deploy.base.readiness import first_pong
from deploy.base.timeouts import FOREVER
from deploy.bench.failure.load import TRY, Load, Window
from deploy.deployment import Deployment, Redis
from deploy.deployment.engines import is_server
from deploy.deployment.planner import Plan
from deploy.live import kill
from deploy.machine import gdb_remote, monitor
from deploy.machine.console_lines import By
from deploy.machine.events import CLUSTER_DOWN, Event, lost_words
from deploy.machine.run import Run
from topology.machines.machine import Shape, default_memory
from topology.units import MIB

WAYS = tuple(kill.ORDERS)
REPORTER = 0  # the first cluster, through which all report; it has the network card and the switch
QUIET = 2.0, 4.0  # seconds of load before a kill, from and to: what is usual
SETTLE = 0.5  # seconds of load from the last PONG on, after which it counts as calm
_LOOK = 0.002  # seconds between looks at the events: times are taken from them
_BAD = ("fault", "failed", "bad-line", *CLUSTER_DOWN)


def deployment(sockets: int = 2, cores: int = 2, lock: str = "clh", restart: str = "on-failure",
               silence: int | None = None) -> Deployment:
    """Clusters with Redis that start again at once, and without end."""
    return Deployment(
        name="failure", shape=Shape(sockets, cores, default_memory(cores)), lock=lock, shutdown="never",
        redis=Redis(heap=64 * MIB), restart=restart, restart_limit=0, restart_delay=0,
        failure_timeout=silence,
    )  # fmt: skip


@dataclass(frozen=True)
class Kill:
    """Who, how, when. `quiet`: seconds of load before it."""

    number: int
    cluster: int
    how: str
    core: int | None
    quiet: float

    def __str__(self) -> str:
        return f"cluster {self.cluster}, {self.how}{'' if self.core is None else f' of core {self.core}'}"


def draw(seed: int, number: int, clusters: Sequence[tuple[int, int]], ways: Sequence[str] = WAYS,
         quiet: tuple[float, float] = QUIET) -> Kill:
    """The kill of this number; it does not depend on those before. `clusters`: number and cores of each that may be
    ended."""
    chance = random.Random(f"{seed} {number}")
    how, (cluster, cores) = chance.choice(list(ways)), chance.choice(list(clusters))
    core = chance.randrange(cores)
    return Kill(number, cluster, how, core if how in kill.OF_A_CORE else None, round(chance.uniform(*quiet), 3))


def mortal(plan: Plan, first: bool = False) -> list[tuple[int, int]]:
    """Number and cores of each cluster that starts again: of the first one, or of all others."""
    return [(c.number, len(c.cpus)) for c in plan.cluster_map.clusters if c.restart and (c.number == REPORTER) == first]


def end_cluster(run: Run, cluster: int, how: str, core: int | None = None) -> float:
    """Orders it. Returns time.monotonic() of the moment from which on the cluster may obey."""
    moment = 0.0

    def write(address: int, word: int) -> None:
        nonlocal moment
        moment = gdb_remote.write_word(lambda line: monitor.human(run.command.monitor, line)[0], address, word)

    kill.order(write, kill.check(run.events.events, cluster, how, core), how, core)
    return moment


@dataclass(frozen=True)
class Fate:
    """The outcome of a kill. Times are milliseconds of the host's clock since the order, unless they say otherwise."""

    kill: Kill
    reason: str
    why: str
    detect_ms: float         # to the event
    silent_ms: int | None    # by the machine's clock: for how long the others had seen no sign of life
    after_ms: int            # by the machine's clock: from the loss, as known, to the boot report of the next life
    fence_ms: int | None     # its part, in ticks of the manager that did it; None: another cluster's did
    load_ms: int | None
    again_ms: float          # to the event that says so
    serving_ms: float        # to the event that the last of its Redis serves
    pong_ms: float           # to that one's answer
    survivor_errors: int
    survivor_requests: int
    survivor_longest_ms: float  # a request of a survivor's client, from the order to the last PONG
    usual_longest_ms: float     # such a request in the time before the order
    survivor_connections: int = 0
    survivor_connections_lost: int = 0

    @property
    def boot_ms(self) -> int | None:
        """From the fence to the boot report."""
        return None if self.fence_ms is None else self.after_ms - self.fence_ms

    @property
    def survivor_stall_ms(self) -> float:
        """Returns by how much the longest request exceeded the usual."""
        return max(0.0, self.survivor_longest_ms - self.usual_longest_ms)

    def to_json(self) -> dict[str, Any]:
        more = {"boot_ms": self.boot_ms, "survivor_stall_ms": self.survivor_stall_ms}
        return vars(self.kill) | {name: value for name, value in vars(self).items() if name != "kill"} | more


class Scene:
    """Use by `on_stage()`. A load for each Redis runs from then on."""

    def __init__(self, run: Run, seed: int, silence: float = TRY, first: bool = False) -> None:
        self.run = run
        self.loads = {name: Load(name, run.address(name), seed, TRY if self._ends(name, first) else silence)
                      for name in servers(run.plan)}
        self.false_alarms = 0
        self.kills = 0  # in this machine's life

    def _ends(self, server: str, first: bool) -> bool:
        return (self.cluster_of(server) == REPORTER) == first

    def cluster_of(self, name: str) -> int:
        return cluster_of(self.run.plan, name)

    def within(self, cluster: int) -> list[str]:
        return [name for name in self.loads if self.cluster_of(name) == cluster]

    def _clients(self, cluster: int) -> list[Load]:
        return [self.loads[name] for name in self.within(cluster)]

    def others(self, cluster: int) -> list[Load]:
        return [load for name, load in self.loads.items() if self.cluster_of(name) != cluster]

    def kill(self, what: Kill, tell: Callable[[str], None] = lambda _: None) -> Fate:
        """Waits, ends the cluster, and follows until all its Redis answer. Failure where something is wrong."""
        self._calm(what.quiet)
        before = self._longest(what.cluster)
        lives = {load: load.lives for load in self._clients(what.cluster)}
        again, report = self._of("cluster-restarted", what.cluster), self._next_loss(what)
        tell(f"ordered: {what}")
        at = end_cluster(self.run, what.cluster, what.how, what.core)
        self.kills += 1
        noticed, loss = report()
        detect = noticed - at
        tell(f"told by the others: {loss.get('why')}")
        back = self._next("cluster-restarted", what.cluster, again, f"{what} again")
        came = time.monotonic() - at
        serving, answered = self._pong(what.cluster)
        tell(f"cluster {what.cluster} serves again")
        during = self._longest(what.cluster)
        self.run.wait_for(lambda: all(load.lives > before for load, before in lives.items()),
                          f"its clients again after the end of {what}")
        time.sleep(SETTLE)
        self.check()
        return Fate(
            what, str(loss["reason"]), str(loss["why"]), 1e3 * detect, loss.get("silent_ms"), int(back["after_ms"]),
            back.get("fence_ms"), back.get("load_ms"), 1e3 * came, 1e3 * (serving - at), 1e3 * (answered - at),
            during.errors, during.requests,
            1e3 * during.longest, 1e3 * before.longest, len(self.others(what.cluster)), during.broken,
        )

    def check(self) -> None:
        """Failure where a value, or the machine, is not as it must be."""
        self.run.poll()
        if wrong := [line for load in self.loads.values() for line in load.wrong]:
            raise Failure(wrong[0])
        if bad := [event for kind in _BAD for event in self.run.events.of(kind)]:
            raise Failure(f"the machine reports {bad[0]}")
        if dead := [load.server for load in self.loads.values() if not load.is_alive() and not load.over.is_set()]:
            raise Failure(f"the client of {dead[0]} has ended")

    def _of(self, kind: str, cluster: int) -> int:
        return len(self.run.events.of(kind, cluster=cluster))

    def _next_loss(self, what: Kill) -> Callable[[], tuple[float, Event]]:
        """Waits for the loss after those that are known now: the time at which others have told it, and the event."""
        lost, gone = self._of("cluster-lost", what.cluster), self._gone(what.cluster)

        def wait() -> tuple[float, Event]:
            if what.cluster != REPORTER:
                event = self._next("cluster-lost", what.cluster, lost, f"loss of {what}")
                return time.monotonic(), event
            self.run.wait_for(lambda: self._gone(REPORTER) > gone, f"others that miss {what}", every=_LOOK)
            noticed = time.monotonic()  # its loss becomes an event in its next life
            return noticed, self._next("cluster-lost", what.cluster, lost, f"loss of {what}")

        return wait

    def _gone(self, cluster: int) -> int:
        """Returns how often the others have reported its loss on the console."""
        gone = re.compile(rf"\[manager \d+\] cluster {cluster} is gone: ")
        return sum(line.by == By.MANAGER and bool(gone.match(line.text)) for line in self.run.own_lines)

    def _next(self, kind: str, cluster: int, known: int, what: str) -> Event:
        self.run.wait_for(lambda: self._of(kind, cluster) > known, what, every=_LOOK)
        return self.run.events.of(kind, cluster=cluster)[known]

    def _longest(self, cluster: int) -> Window:
        """Returns the window of the clients of all other clusters, since the last call."""
        windows = [load.window() for load in self.others(cluster)]
        longest = max((w.longest for w in windows), default=0.0)
        return Window(sum(w.requests for w in windows), sum(w.errors for w in windows), longest,
                      sum(w.errors > 0 for w in windows))

    def watch(self, seconds: float) -> int:
        """Waits for so long. Returns how many clusters were lost in that time that nobody had ended; they are back
        then."""
        end = time.monotonic() + seconds
        self.run.wait_for(lambda: time.monotonic() >= end, "the end of the calm", FOREVER)
        losses = self.run.events.of("cluster-lost")
        alarms = len(losses) - self.kills - self.false_alarms
        if alarms > 0:
            self.false_alarms += alarms
            self.run.wait_for(
                lambda: len(self.run.events.of("cluster-restarted")) >= len(losses),
                f"restart, after a false alarm: {lost_words(losses[-1])}"
            )
            for number in {int(event["cluster"]) for event in losses[-alarms:]}:
                self._pong(number)
        return alarms

    def _calm(self, seconds: float) -> None:
        """Load and nothing else for so long."""
        while True:
            for load in self.loads.values():
                load.window()
            if not self.watch(seconds):
                return

    def idle(self) -> None:
        """Ends the load."""
        for load in self.loads.values():
            load.over.set()
        for load in self.loads.values():
            load.stop()

    def _serves(self, name: str, lives: int) -> bool:
        return len(self.run.events.of("serving", app=name)) >= lives

    def _pong(self, cluster: int) -> tuple[float, float]:
        """time.monotonic() at which all of its Redis serve in the new life, and of the answer of the last."""
        lives = 1 + self._of("cluster-restarted", cluster)
        for name in self.within(cluster):
            self.run.wait_for(partial(self._serves, name, lives), f"{name} again", every=_LOOK)
        serving = time.monotonic()
        return serving, max((first_pong(self.run.address(name), self.run.pid) for name in self.within(cluster)),
                            default=serving)


def servers(plan: Plan) -> list[str]:
    return [a.name for a in plan.cluster_map.applications if is_server(a)]


def cluster_of(plan: Plan, name: str) -> int:
    """Returns the cluster of an application."""
    return next(c.number for c in plan.cluster_map.clusters if plan.application(name).cpu in c.cpus)


@contextmanager
def on_stage(run: Run, seed: int, silence: float = TRY, first: bool = False) -> Iterator[Scene]:
    """Makes a scene of a machine that has booted: all serve, and the load runs, until the block is left.

    `first`: the first cluster is ended, not others. `silence`: seconds after which a request without an answer to a
    cluster that goes on is an error; of clusters that are ended TRY.
    """
    run.wait_serving()
    scene = Scene(run, seed, silence, first)
    for load in scene.loads.values():
        load.start()
    try:
        end = time.monotonic() + SETTLE
        run.wait_for(lambda: time.monotonic() > end and all(load.writes for load in scene.loads.values()),
                     "the load's first answers")
        yield scene
    finally:
        scene.idle()
