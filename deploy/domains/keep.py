# SPDX-License-Identifier: BSD-2-Clause
"""Watching a deployment with a domain for each cluster: a domain that is lost is started again, by the policy of its
cluster."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from deploy.base.errors import Failure
from deploy.base.timeouts import slowness
from deploy.domains.deploy import Deployment, was_one
from deploy.domains.deployed import GONE, Deployed, State
from deploy.machine.events import BUTTON, Event
from topology.maps.clustermap import Cluster

POLL = 0.2  # seconds between looks
WINDOW, DELAY_MOST = 60.0, 5.0  # seconds; as cluster-manager/root/run/restart.h has them
JOIN = 120.0  # seconds for a domain to join the others, before what they say of its loss counts again


@dataclass
class History:
    """Restarts of one cluster, as cluster-manager/root/run/restart.c counts them."""

    limit: int  # in WINDOW; 0: none
    delay: float  # seconds before the first
    at: list[float] = field(default_factory=list)
    in_a_row: int = 0

    def is_spent(self, now: float) -> bool:
        return 0 < self.limit <= len(self.at) and now - self.at[-self.limit] < WINDOW

    def note(self, now: float) -> float:
        """Notes a restart; the seconds to wait before it."""
        if not self.at or now - self.at[-1] >= WINDOW:
            self.in_a_row = 0
        delay = min(self.delay * 2**self.in_a_row, DELAY_MOST) if self.delay else 0.0
        self.in_a_row += 1
        self.at.append(now)
        return delay


class Keeper:
    """`say` gets lines for people."""

    def __init__(self, deployment: Deployment, say: Callable[[str], None],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._deployment = deployment
        self._say = say
        self._clock = clock
        self._clusters = deployment.request.what.cluster_map.clusters
        self._history = {c.number: History(c.restart_limit, c.restart_delay / 1000) for c in self._clusters}
        self._due: dict[int, float] = {}  # when it is started
        self._joining: dict[int, tuple[float, int]] = {}  # since when, and events before
        self._down: set[int] = set()  # for which nothing is done any more

    def look(self) -> bool:
        """Does what is to be done. False: the deployment was ended, or nothing of it goes on."""
        seen = self._see()
        if seen and seen[2].missing():
            seen = self._see()  # domains are read one after the other: of a stop in between, the last one alone is seen
        if not seen:
            return False
        there, events, state = seen
        self._note_joined(events)
        missing = {number for number in state.missing() if not self._joins(number, there, state)}
        for number in missing - self._down - set(self._due):
            self._lose(self._clusters[number], there, state)
        self._down &= missing
        self._due = {number: at for number, at in self._due.items() if number in missing}
        due = sorted(number for number, at in self._due.items() if at <= self._clock())
        if due:
            self._start(due, state, len(events))
        return True

    def _see(self) -> tuple[Deployed, list[Event], State] | None:
        """None: it is over."""
        there = self._deployment.refresh()
        if there is None:
            return None
        events, state = there.events(), there.state()
        return None if self._is_over(events, state) else (there, events, state)

    def _is_over(self, events: list[Event], state: State) -> bool:
        """stop presses the power button, which the first cluster reports before any domain switches off; then stop, as
        undeploy does, ends the first domain first. What ends of itself has its own words."""
        first = next(iter(state.domains.values()))
        ordered = any(event.kind == "done" and event.get("why") == BUTTON for event in events)
        return ordered or first in ("stopped", "done", "failed", GONE) or len(state.not_running()) == len(state.domains)

    def _note_joined(self, events: list[Event]) -> None:
        for number, (_, before) in list(self._joining.items()):
            if any(e.kind == "cluster-restarted" and e["cluster"] == number for e in events[before:]):
                del self._joining[number]

    def _joins(self, number: int, there: Deployed, state: State) -> bool:
        """It was started, and the others have had no time yet to take back that it is lost."""
        since, _ = self._joining.get(number, (0.0, 0))
        runs = there.record.each()[number].domain not in state.not_running()
        return number in self._joining and runs and self._clock() - since < JOIN * slowness()

    def _lose(self, cluster: Cluster, there: Deployed, state: State) -> None:
        domain, now = there.record.each()[cluster.number].domain, self._clock()
        words = f"{domain} {was_one(state, domain)}"
        history = self._history[cluster.number]
        if cluster.restart and not history.is_spent(now):
            delay = history.note(now)
            self._due[cluster.number] = now + delay
            self._say(f"{words}: it is started again in {delay:g} s, the others go on")
            return
        self._down.add(cluster.number)
        why = (f"it was started again {history.limit} times in {WINDOW:g} s"
               if cluster.restart else 'the deployment says restart = "never"')
        self._say(f"{words} and stays down: {why}")

    def _start(self, numbers: list[int], state: State, before: int) -> None:
        for number in numbers:
            del self._due[number]
        if 0 in numbers:
            self._joining, before = {}, 0  # its events begin anew, and it knows of no loss but its own
        try:
            self._deployment.start_alone(numbers, state)
        except Failure as error:
            self._say(f"{error}")
            return  # it is missing still, and that counts as another loss
        now = self._clock()
        self._joining |= {number: (now, before) for number in numbers if number != 0}


def keep(deployment: Deployment, say: Callable[[str], None]) -> None:
    """Until the deployment is ended, by somebody else or by itself."""
    keeper = Keeper(deployment, say)
    while keeper.look():
        time.sleep(POLL)
