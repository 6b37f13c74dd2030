# SPDX-License-Identifier: BSD-2-Clause
"""Snapshots of a run: from what it reported, wherever that was kept."""

from pathlib import Path

from deploy.base.errors import Failure
from deploy.live.lockstat.record import Record
from deploy.live.lockstat.snapshot import Core, Snapshot
from deploy.machine.events import BAD_LINE, Event, EventStream
from topology import foreign
from topology.errors import InputError


def read_file(path: Path) -> tuple[EventStream, bool | None]:
    """Events in the results of `skerry run --json`, in a log of build/log, or as lines.

    And whether an emulator made them; None where that is not said.
    """
    text = foreign.read(path, foreign.LOG).decode(errors="replace")
    events = EventStream()
    try:
        data = foreign.json(text, str(path))
        items = data.get("events") if isinstance(data, dict) else None
    except ValueError:
        lines = (
            text.partition("===== events =====\n")[2].partition("\n=====")[0] if "===== events =====" in text else text
        )
        events.feed(lines.encode() + b"\n")
        if all(event.kind == BAD_LINE for event in events.events):
            raise InputError(str(path), "neither results nor events of a run") from None
        return events, None
    if not isinstance(items, list) or not all(isinstance(e, dict) and isinstance(e.get("event"), str) for e in items):
        raise InputError(str(path), "has no events; `skerry run … --json FILE` writes them")
    events.events = [Event(e["event"], e) for e in items]
    accel = data.get("host", {}).get("accel")
    return events, None if accel is None else accel != "kvm"


def moments(events: EventStream) -> list[str]:
    """When snapshots were taken, in their order: start, barrier-1, …, end."""
    return list(dict.fromkeys(event["when"] for event in events.of("stats")))


def at(events: EventStream, when: str) -> list[Snapshot]:
    """Every cluster at that moment; none where its kernel does not count."""
    snapshots = []
    for event in events.of("stats", when=when):
        of = f"cluster {event['cluster']} at {when}"
        locks = events.of("locks", when=when, cluster=event["cluster"])
        if locks:
            record = Record.from_pairs(locks[-1]["words"], of)
            snapshots.append(Snapshot(event["cluster"], event["kernel"], float(event["tsc_hz"]), Core.of_event(event),
                                      record))
    return sorted(snapshots, key=lambda s: s.cluster)


def between(events: EventStream, since: str | None, until: str | None) -> list[Snapshot]:
    """From a moment, else from the beginning, to another, else to the last there is."""
    there = moments(events)
    if not there:
        raise Failure("the run took no snapshot")
    for when in (since, until):
        if when is not None and when not in there:
            raise InputError(when, f"no such moment in this run; there are {', '.join(there)}")
    last = at(events, until or there[-1])
    if not last:
        kernels = ", ".join(sorted({str(e["kernel"]) for e in events.of("stats")}))
        raise Failure(f"the run's kernels do not count: {kernels}; `statistics = true` in the deployment file "
                      f"makes them")
    if since is None:
        return last
    first = {snapshot.cluster: snapshot for snapshot in at(events, since)}
    return [snapshot.since(first[snapshot.cluster]) if snapshot.cluster in first else snapshot for snapshot in last]
