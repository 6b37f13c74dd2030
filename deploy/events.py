# SPDX-License-Identifier: BSD-2-Clause
"""What the cluster-managers report on the second serial port: one JSON object a line."""

import json
from dataclasses import dataclass
from typing import Any

from deploy.errors import Failure

_FIRST = b'{"event":'  # how every line of the managers begins
BUTTON = "the power button was pressed"  # why a run is done; as cluster-manager/root/run.c says it


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


def parse_line(line: str) -> Event:
    """One line. A line that is no event means that something between the manager and here is broken."""
    try:
        data = json.loads(line)
    except ValueError as error:
        raise Failure(f"not an event: {line[:200]!r} ({error})") from None
    if not isinstance(data, dict) or not isinstance(data.get("event"), str):
        raise Failure(f"not an event: {line[:200]!r}")
    return Event(data["event"], data)


class EventStream:
    """Bytes as they arrive, events as they become whole."""

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
        fresh = [parse_line(line.decode("utf-8", "replace")) for line in lines if line.strip(b"\r\0 ")]
        self.events += fresh
        return fresh

    def finish(self) -> None:
        """At the end nothing may be left over."""
        if self._begun and self._rest.strip(b"\r\0 "):
            raise Failure(f"events end in the middle of a line: {self._rest[:200]!r}")

    def of(self, kind: str, **wanted: Any) -> list[Event]:
        return [e for e in self.events if e.kind == kind and all(e.get(k) == v for k, v in wanted.items())]
