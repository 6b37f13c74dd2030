# SPDX-License-Identifier: BSD-2-Clause
"""Looking at a machine again and again, until it ends."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from deploy.base.errors import Failure
from deploy.deployment.addresses import is_endpoint
from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.deployed import Deployed
from deploy.live.lockstat import live
from deploy.live.lockstat.snapshot import Snapshot
from deploy.live.top.instances import Instances, Served
from deploy.machine import monitor
from deploy.machine.events import (
    BAD_LINE,
    BUTTON,
    TROUBLE,
    Event,
    EventStream,
    bad_line_words,
    cluster_words,
    in_service,
    standing,
)
from deploy.machine.run import INSTANCES
from topology import foreign

_GRACE = 2.0  # seconds in which a machine whose monitor falls silent turns out to have ended


@dataclass(frozen=True)
class Look:
    """Counters of a machine at a moment."""

    at: float  # seconds, time.monotonic()
    snapshots: tuple[Snapshot, ...] = ()  # none before a cluster has started
    events: tuple[Event, ...] = ()
    served: dict[str, Served] = field(default_factory=dict)


class Ended(Exception):
    """The machine is gone; the text says why. `well`: nothing failed."""

    def __init__(self, why: str, well: bool) -> None:
        super().__init__(why)
        self.well = well


class Source(Protocol):
    name: str
    emulated: bool

    def look(self) -> Look: ...


def serving(events: Iterable[Event]) -> dict[str, tuple[int, int]]:
    """Maps each application that serves to its cluster and its CPU."""
    return {app: (int(event["cluster"]), int(event["cpu"])) for app, event in in_service(events).items()}


def trouble(events: tuple[Event, ...]) -> list[str]:
    """In words: clusters that were lost, programs that were killed, ended badly or could not be started."""
    return [_words(event) for event in standing(events) if event.kind in TROUBLE or event.kind == "exit"
            and event.get("status")]


def _words(event: Event) -> str:
    if words := bad_line_words(event) if event.kind == BAD_LINE else cluster_words(event):
        return words
    if event.kind == "stays-down":
        return f"{event.get('app')} stays down after {event.get('restarts')} restarts"
    if event.kind == "exit":
        return f"{event.get('app')} ended with status {event.get('status')}"
    what = (f"was killed: {event.get('cause')}"
            if event.kind == "fault" else f"could not be started: error {event.get('error')}")
    return f"{event.get('app')} {what}"


def ended(events: tuple[Event, ...], otherwise: str, known: int = 0) -> Ended:
    """Why it did. `known`: of so many events it was seen to run on, so that being done is not why it ended."""
    done = [event for event in events if event.kind == "done"]
    failed = bool(done and done[-1].get("status"))
    bad = (str(done[-1].get("why") or "") if failed else "") or (trouble(events)
                                                                 or [str(done[-1]) if failed else ""])[-1]
    if done and done[-1].get("why") == BUTTON:
        return Ended("the machine was stopped: its power button was pressed", not failed)
    if any(event.kind == "done" for event in events[known:]):
        well = "the machine is done: all that it waited for has ended well"
        return Ended(f"the machine failed: {bad}" if failed else well, not failed)
    return Ended(f"{otherwise}; before that, {bad}" if bad else otherwise, not bad)


class _Known:
    """Counts the events that a machine survived. A machine that is done may be seen once more before it is gone."""

    def __init__(self) -> None:
        self.events = 0
        self._last = 0

    def looked(self, look: Look) -> Look:
        self.events, self._last = self._last, len(look.events)
        return look


def _take(machine: live.Machine, instances: Instances, addresses: dict[str, str]) -> Look:
    events = tuple(machine.events.events)
    if not machine.events.of("boot"):
        return Look(time.monotonic(), (), events)
    there = serving(events)
    served = instances.look({app: at for app, at in addresses.items() if app in there and not is_endpoint(app)})
    snapshots = tuple(machine.snapshots())
    return Look(time.monotonic(), snapshots, events, served)


class Local:
    """A machine that a `skerry` of this host runs, in its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events = EventStream()
        self._known = _Known()
        self._instances = Instances()
        self.name, self._addresses = _described(folder)
        self.emulated = live.local(folder).emulated
        # Kept open: the last events can be read when the folder is gone.
        self._file = (folder / "events.jsonl").open("rb")

    def look(self) -> Look:
        self._events.feed(self._file.read())
        try:
            machine = live.Machine(self._events, live.monitor_memory(self._folder), self.emulated)
            return self._known.looked(_take(machine, self._instances, self._addresses))
        except Failure as failure:
            if not self._gone():
                raise
            self._events.feed(self._file.read())
            owner = self._folder.name.split("-")[2]
            why = f"the machine is gone: its skerry, process {owner}, ended it or lost its emulator"
            raise ended(tuple(self._events.events), why, self._known.events) from failure

    def _gone(self) -> bool:
        deadline = time.monotonic() + _GRACE
        while monitor.is_up(self._folder / "qmp.sock"):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def close(self) -> None:
        self._file.close()
        self._instances.close()


def _described(folder: Path) -> tuple[str, dict[str, str]]:
    try:
        description = foreign.json(foreign.read(folder / INSTANCES, foreign.RESULTS), INSTANCES)
        return str(description["name"]), {str(one["app"]): str(one["address"]) for one in description["instances"]}
    except (OSError, ValueError, KeyError) as error:
        raise Failure(f"{folder / INSTANCES}: does not say what runs: {error}") from error


class Domain:
    """A deployment of a libvirt host."""

    def __init__(self, of: Deployed) -> None:
        self._of = of
        self._known = _Known()
        self._instances = Instances()
        reached = {f.application for f in of.record.forwards if of.record.bridge or f.is_open}
        self._addresses = {str(one["app"]): str(one["address"]) for one in of.record.instances()
                           if one["app"] in reached}
        self.name = of.name
        self.emulated = of.record.accel != "kvm"

    def look(self) -> Look:
        if not self._active():
            raise self._ended("does not run")
        try:
            return self._known.looked(_take(live.of_domain(self._of), self._instances, self._addresses))
        except Failure as failure:
            if self._active():
                raise
            raise self._ended("was switched off") from failure

    def _ended(self, what: str) -> Ended:
        return ended(tuple(self._of.events()), f"the machine {what}: {self._of.state().word}", self._known.events)

    def _active(self) -> bool:
        from deploy.domains.connection import explained

        with explained(f"{self._of.host.uri}: {self.name}"):
            return self._of.is_active()

    def close(self) -> None:
        self._instances.close()


@contextmanager
def local(what: str | None) -> Iterator[Local]:
    """The machine that runs here, or that of the `skerry` with this process id."""
    if not live.running():
        raise Failure("no machine runs here; skerry run DEPLOYMENT --keep starts one")
    with closing(Local(live.find(what, "top"))) as source:
        yield source


@contextmanager
def of_libvirt(uri: str, name: str | None) -> Iterator[Domain]:
    with Connection(uri) as host:
        with closing(Domain(deployed.pick_running(host, name))) as source:
            yield source
