# SPDX-License-Identifier: BSD-2-Clause
"""Which programs serve, and at which of the ports that a deployment leads to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from deploy.addresses import shown
from deploy.events import ENDS, Event
from deploy.qemu import Forward

ELSEWHERE = 0.25  # of the patience with what is to serve: for a port where nothing listens while its program listens elsewhere
GRACE = 2.0  # seconds of the host's time in which a program that listens at one port comes to its next one


def serving(events: Iterable[Event]) -> dict[str, list[int]]:
    """The programs that serve, in the order in which they said so, with the ports at which they listen: none where it is not said."""
    ports: dict[str, list[int]] = {}
    found: dict[str, list[int]] = {}
    cluster: dict[str, object] = {}
    for event in events:
        app = str(event.get("app"))
        if event.kind in ("listening", "serving"):
            cluster[app] = event.get("cluster")
            ports.setdefault(app, [])
        if event.kind == "listening":
            ports[app].append(int(event["port"]))
        elif event.kind == "serving":
            found[app] = ports[app]
        elif event.kind in ENDS or event.kind == "cluster-lost":
            for gone in [app] if event.kind in ENDS else [name for name, at in cluster.items() if at == event.get("cluster")]:
                found.pop(gone, None)
                ports.pop(gone, None)
    return {app: list(at) for app, at in found.items()}


def serves_at(ports: Sequence[int] | None, port: int) -> bool:
    """Whether a program with these ports (serving(); None: it does not serve) answers at `port`."""
    return ports is not None and (not ports or port in ports)


def elsewhere(forward: Forward, ports: Sequence[int]) -> str:
    """Of a program that listens, but not where the deployment says."""
    at = f"port{'s' * (len(ports) > 1)} {', '.join(map(str, ports))}"
    leads = f", to which {forward.address} leads" if forward.is_open else ""
    return f"{forward.application} listens at {at}, not at the deployment's port {forward.guest_port}{leads}"


class Announcer:
    """Says where the host reaches each program, once it serves there; and of one that listens elsewhere, where it does."""

    def __init__(self, forwards: Sequence[Forward], line: Callable[[str], None]) -> None:
        self._forwards = list(forwards)
        self._line = line
        self._ready: list[str] = []  # to say
        self._seen = 0  # events
        self._moved = time.monotonic()
        self._complained: set[int] = set()
        self._done: set[int] = set()  # numbers of forwards
        self._serving: dict[str, list[int]] = {}
        self.left = {forward.application for forward in forwards}  # programs that nobody has given up

    def look(self, events: Sequence[Event]) -> None:
        """Takes what has been reported so far."""
        if len(events) == self._seen:
            return
        self._seen = len(events)
        found = serving(events)
        if found != self._serving:
            self._serving, self._moved = found, time.monotonic()
        for number, forward in enumerate(self._forwards):
            if number not in self._done and serves_at(found.get(forward.application), forward.guest_port):
                where = shown(forward.application, forward.address) + ("" if forward.is_open else ", in the machine only")
                self._ready.append(f"{forward.application} serves at {where}")
                self._done.add(number)

    def say(self, at_last: bool = False) -> None:
        """What is known and has not been said; of programs that listen elsewhere after GRACE only, or at last."""
        for line in self._ready:
            self._line(line)
        self._ready.clear()
        if time.monotonic() - self._moved < GRACE and not at_last:
            return
        for number, forward in enumerate(self._forwards):
            if number not in self._complained and (ports := self._elsewhere(number, forward)):
                self._complained.add(number)
                self._line(elsewhere(forward, ports))

    def _elsewhere(self, number: int, forward: Forward) -> list[int]:
        return [] if number in self._done else self._serving.get(forward.application, [])

    @property
    def done(self) -> int:
        """How many ports are served."""
        return len(self._done)

    @property
    def complete(self) -> bool:
        return not self.waiting()

    def give_up(self, application: str) -> None:
        """One that will not serve: it is not waited for any more."""
        self.left.discard(application)

    def waiting(self) -> set[str]:
        """Programs that do not serve at one of their ports yet."""
        return self.left & {forward.application for number, forward in enumerate(self._forwards) if number not in self._done}

    def wrong(self) -> list[str]:
        """Of each port that is not served while its program listens elsewhere."""
        return [elsewhere(f, ports) for number, f in enumerate(self._forwards) if (ports := self._elsewhere(number, f))]

    def is_settled(self) -> bool:
        """Whether all serve, or listen elsewhere for longer than GRACE."""
        late = time.monotonic() - self._moved >= GRACE
        return self.complete or (late and all(self._serving.get(name) for name in self.waiting()))
