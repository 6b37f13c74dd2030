# SPDX-License-Identifier: BSD-2-Clause
"""Reports of the cluster-managers on the second serial port: one JSON object a line."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deploy.base.errors import Failure
from topology import foreign

CANCEL = "\x18"  # at the end of a line that its writer could not finish; a later life of it says so
_FIRST = b'{"event":'  # how every line of the managers begins
BUTTON = "the power button was pressed"  # why a run is done; as cluster-manager/root/run/run-machine.c says it


@dataclass(frozen=True)
class Event:
    kind: str
    data: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        if key not in self.data:
            raise Failure(f"event '{self.kind}' has no '{key}': {json.dumps(self.data)[:200]}")
        return self.data[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.data.get(key, default)

    def __str__(self) -> str:
        return json.dumps(self.data)


def lost_words(event: Event) -> str:
    """Words a "cluster-lost"."""
    return f"cluster {event.get('cluster')} is lost: {event.get('why')}"


# after a "cluster-lost" of a cluster that would have been started again
CLUSTER_DOWN = ("cluster-stays-down", "cluster-stuck")


def down_words(event: Event) -> str:
    """Words one of CLUSTER_DOWN."""
    return f"cluster {event.get('cluster')} stays down: {event.get('why')}"


def cluster_words(event: Event) -> str:
    """Words a "cluster-lost" or one of CLUSTER_DOWN; nothing of any other event."""
    return (lost_words(event) if event.kind == "cluster-lost" else down_words(event)
            if event.kind in CLUSTER_DOWN else "")


def bad_line_words(event: Event) -> str:
    """Words a BAD_LINE."""
    return f"{event.get('app') or 'a manager'} sent a result that is no JSON: {event.get('reason')}"


def losses(events: Iterable[Event]) -> dict[int, Event]:
    """Maps each cluster that is lost, and has not started again, to why."""
    lost: dict[int, Event] = {}
    for event in events:
        if event.kind == "cluster-lost":
            lost[int(event["cluster"])] = event
        elif event.kind == "boot":
            lost.pop(int(event["cluster"]), None)
    return lost


def in_service(events: Iterable[Event]) -> dict[str, Event]:
    """Maps each application that has begun to serve, and has not ended since, to the event that says so."""
    places: dict[str, Event] = {}
    for event in events:
        if event.kind == "serving":
            places[str(event["app"])] = event
        elif event.kind in ENDS:
            places.pop(str(event.get("app")), None)
        elif event.kind == "cluster-lost":
            places = {app: place for app, place in places.items() if place["cluster"] != event["cluster"]}
    return places


def boots_of(events: Iterable[Event]) -> dict[int, Event]:
    """Maps each cluster to its latest boot report; a failure where there is none."""
    boots = {int(event["cluster"]): event for event in events if event.kind == "boot"}
    if not boots:
        raise Failure("no cluster has started yet")
    return boots


def cluster_restarts(events: Iterable[Event]) -> dict[int, int]:
    """Counts the restarts of each cluster that was started again."""
    return {int(event["cluster"]): int(event["restarts"]) for event in events if event.kind == "cluster-restarted"}


ENDS = ("exit", "fault", "failed")  # of an application; each may be followed by its "restart" or "stays-down"
BAD_LINE = "bad-line"  # the kind of the event that stands for a line that is none
TROUBLE = ("fault", "failed", "stays-down", "cluster-lost", *CLUSTER_DOWN, BAD_LINE)
_APP = re.compile(r'^\{"event":"\w+","app":"([^"\\]{1,31})"')  # as cluster-manager/root/output/results.c begins them


def parse_line(line: str) -> Event:
    """One line. A line that is no event becomes one of kind BAD_LINE, which names the program if the line does.

    It is never an exception: a line may hold what a program wrote, and no program may end the reading of a run.
    """
    try:
        data = foreign.json(line, "")
        reason = "no object with the name of an event"
    except ValueError as error:
        data, reason = None, str(error)
    if isinstance(data, dict) and isinstance(data.get("event"), str):
        return Event(data["event"], data)
    fields: dict[str, Any] = {"event": BAD_LINE, "line": line[:200], "reason": reason}
    if app := _APP.match(line):
        fields["app"] = app[1]
    return Event(BAD_LINE, fields)


def standing(events: Iterable[Event]) -> list[Event]:
    """Lists the events without the ends of applications, and the losses of clusters, that were started again."""
    lasting: list[Event] = []
    for event in events:
        if event.kind == "restart":
            app = event.get("app")
            lasting = [e for e in lasting if e.kind not in ENDS or e.get("app") != app]
        elif event.kind in ("cluster-restarted", "boot"):
            lasting = [e for e in lasting if e.kind != "cluster-lost" or e.get("cluster") != event.get("cluster")]
        lasting.append(event)
    return lasting


def restarts(events: Iterable[Event]) -> dict[str, int]:
    """Counts the restarts of each application that was started again."""
    return {str(event["app"]): int(event["restarts"]) for event in events if event.kind == "restart"}


def _is_known(events: Iterable[Event], again: Event) -> bool:
    """Whether `again`, of kind boot or serving, says what was so after those events: it is of a cluster that told all
    once more.

    The first cluster had been lost, and may have been lost with the first report.
    """
    known, cluster, app = False, again.get("cluster"), again.get("app")
    for event in events:
        if event.kind == again.kind and (event.get("cluster"), event.get("app")) == (cluster, app):
            known = True
        elif event.kind == "cluster-lost" and event.get("cluster") == cluster:
            known = False
        elif app is not None and (event.kind in ENDS and event.get("app") == app or event.kind == "boot"
                                  and event.get("cluster") == cluster):
            known = False
    return known


class EventStream:
    """Bytes as they arrive, events as they become whole. What is told again, and is known, is left out."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._rest = b""
        self._begun = False

    def feed(self, data: bytes) -> list[Event]:
        data = self._rest + data
        if not self._begun:  # UEFI firmware talks on every serial port that it finds, until the loader has the machine
            start = data.find(_FIRST)
            self._begun = start >= 0
            data = data[start:] if self._begun else data[-len(_FIRST) :]
            if not self._begun:
                self._rest = data
                return []
        *lines, self._rest = data.split(b"\n")
        texts = (line.decode("utf-8", "replace") for line in lines if line.strip(b"\r\0 "))
        fresh = []
        for event in (parse_line(text) for text in texts if not text.rstrip().endswith(CANCEL)):
            if not (event.get("again") and _is_known(self.events, event)):
                self.events.append(event)
                fresh.append(event)
        return fresh

    def finish(self) -> None:
        """At the end nothing may be left over."""
        if self._begun and self._rest.strip(b"\r\0 "):
            raise Failure(f"events end in the middle of a line: {self._rest[:200]!r}")

    def of(self, kind: str, **fields: Any) -> list[Event]:
        return [e for e in self.events if e.kind == kind and all(e.get(k) == v for k, v in fields.items())]
