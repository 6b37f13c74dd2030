# SPDX-License-Identifier: BSD-2-Clause
"""Programs that serve, and the ports of those that a deployment leads to them."""

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deploy.deployment.addresses import shown
from deploy.machine.events import ENDS, Event
from deploy.machine.qemu import Forward

# of the patience with what is to serve: for a port where nothing listens while its program listens elsewhere
ELSEWHERE = 0.25
GRACE = 2.0  # seconds of the host's time in which a program that listens at one port comes to its next one


@dataclass(frozen=True)
class Listener:
    """An address and a port at which a program listens. 0.0.0.0: at all its addresses."""

    port: int
    address: str = "0.0.0.0"

    @property
    def is_inside(self) -> bool:
        """Whether it is the program's own loopback interface, which neither the host nor another program reaches."""
        return self.address.startswith("127.")

    def __str__(self) -> str:
        return f"{self.address}:{self.port}" if self.is_inside else str(self.port)


@dataclass
class Service:
    """A program that listens, or that says that it serves. `serves`: it has said so, or listens where others reach
    it."""

    serves: bool = False
    at: list[Listener] = field(default_factory=list)

    def serves_at(self, port: int) -> bool:
        """Whether it answers at `port`. One that has said so, and listens nowhere that others reach, serves in a way of
        its own."""
        reachable = [listener.port for listener in self.at if not listener.is_inside]
        return self.serves and (not reachable or port in reachable)


class Services:
    """Follows which programs serve, event by event."""

    def __init__(self) -> None:
        self._found: dict[str, Service] = {}
        self._cluster: dict[str, object] = {}

    def take(self, event: Event) -> bool:
        """Returns whether the event says something about a service."""
        app = str(event.get("app"))
        if event.kind in ("listening", "serving"):
            self._cluster[app] = event.get("cluster")
            service = self._found.setdefault(app, Service())
            if event.kind == "listening":
                service.at.append(Listener(int(event["port"]), str(event.get("address", Listener.address))))
            else:
                service.serves = True
        elif event.kind in ENDS:
            self._found.pop(app, None)
        elif event.kind == "cluster-lost":
            for name in [name for name, cluster in self._cluster.items() if cluster == event.get("cluster")]:
                self._found.pop(name, None)
        else:
            return False
        return True

    @property
    def now(self) -> dict[str, Service]:
        """The programs that serve, or listen on their own loopback interface alone."""
        return {app: copy.deepcopy(one) for app, one in self._found.items() if one.serves
                or any(at.is_inside for at in one.at)}


def serving(events: Iterable[Event]) -> dict[str, Service]:
    """Returns what Services knows after these events."""
    services = Services()
    for event in events:
        services.take(event)
    return services.now


def serves_at(service: Service | None, port: int) -> bool:
    """Whether a program (None: it does not listen) answers at `port`."""
    return service is not None and service.serves_at(port)


def listeners(services: Mapping[str, Service], application: str) -> list[Listener]:
    """Returns where a program listens."""
    return services[application].at if application in services else []


def elsewhere(forward: Forward, at: Sequence[Listener]) -> str:
    """Says where a program listens that does not listen where the deployment says."""
    own = sorted({listener.address for listener in at if listener.is_inside and listener.port == forward.guest_port})
    if own:
        reached = f"{forward.address} does not lead" if forward.is_open else "no other program gets"
        return (
            f"{forward.application} listens at {', '.join(own)} port {forward.guest_port}, its own loopback interface, "
            f"to which {reached}; "
            "let it listen at 0.0.0.0"
        )
    ports = f"port{'s' * (len(at) > 1)} {', '.join(map(str, at))}"
    leads = f", to which {forward.address} leads" if forward.is_open else ""
    return f"{forward.application} listens at {ports}, not at the deployment's port {forward.guest_port}{leads}"


class Announcer:
    """Says where the host reaches each program, once it serves there; and of one that listens elsewhere, where it
    does."""

    def __init__(self, forwards: Sequence[Forward], line: Callable[[str], None]) -> None:
        self._forwards = list(forwards)
        self._line = line
        self._ready: list[str] = []  # to say
        self._seen = 0  # events
        self._moved = time.monotonic()
        self._complained: set[int] = set()
        self._done: set[int] = set()  # numbers of forwards
        self._services = Services()
        self._serving: dict[str, Service] = {}
        self.left = {forward.application for forward in forwards}  # programs that nobody has given up

    def look(self, events: Sequence[Event]) -> None:
        """Takes what has been reported so far, event by event: a program may serve and end between two looks."""
        for event in events[self._seen :]:
            if self._services.take(event) and (serving := self._services.now) != self._serving:
                self._serving, self._moved = serving, time.monotonic()
                self._note()
        self._seen = len(events)

    def _note(self) -> None:
        for number, forward in enumerate(self._forwards):
            if number not in self._done and serves_at(self._serving.get(forward.application), forward.guest_port):
                where = shown(forward.application,
                              forward.address) + ("" if forward.is_open else ", in the machine only")
                self._ready.append(f"{forward.application} serves at {where}")
                self._done.add(number)

    def say(self, at_last: bool = False) -> None:
        """Prints what is known and not printed yet; of programs that listen elsewhere after GRACE only, or at last."""
        for line in self._ready:
            self._line(line)
        self._ready.clear()
        if time.monotonic() - self._moved < GRACE and not at_last:
            return
        for number, forward in enumerate(self._forwards):
            if number not in self._complained and (at := self._elsewhere(number, forward)):
                self._complained.add(number)
                self._line(elsewhere(forward, at))

    def _elsewhere(self, number: int, forward: Forward) -> list[Listener]:
        return [] if number in self._done else listeners(self._serving, forward.application)

    @property
    def done(self) -> int:
        """Returns how many ports are served."""
        return len(self._done)

    @property
    def complete(self) -> bool:
        return not self.waiting()

    def give_up(self, application: str) -> None:
        """One that will not serve: it is not waited for any more."""
        self.left.discard(application)

    def waiting(self) -> set[str]:
        """Programs that do not serve at one of their ports yet."""
        return self.left & {forward.application for number, forward in enumerate(self._forwards)
                            if number not in self._done}

    def wrong(self) -> list[str]:
        """Returns a line for each port that is not served while its program listens elsewhere."""
        return [elsewhere(f, at) for number, f in enumerate(self._forwards) if (at := self._elsewhere(number, f))]

    def is_settled(self) -> bool:
        """Whether all serve, or listen elsewhere for longer than GRACE."""
        late = time.monotonic() - self._moved >= GRACE
        return self.complete or (late and all(listeners(self._serving, name) for name in self.waiting()))
