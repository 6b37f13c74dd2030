# SPDX-License-Identifier: BSD-2-Clause
"""Domains that are deployments: finding them, what they do, stopping and removing them."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.domains import record
from deploy.domains.connection import Connection, explained
from deploy.domains.definition import domain_name
from deploy.domains.record import Record
from deploy.domains.storage import CONSOLE, EVENTS, Storage
from deploy.errors import Failure
from deploy.events import Event, EventStream
from topology.errors import InputError
from topology.spans import parse_spans

TROUBLE = ("fault", "failed", "cluster-lost")


@dataclass
class State:
    """`word` is one of running, paused, done, failed, killed, stopped and off."""

    word: str
    serving: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)

    @property
    def is_running(self) -> bool:
        return self.word in ("running", "paused")


def serving(events: Iterable[Event]) -> list[str]:
    """Applications that have begun to serve and have not ended since."""
    found: dict[str, None] = {}
    for event in events:
        if event.kind == "serving":
            found[str(event["app"])] = None
        elif event.kind in ("exit", "fault", "failed"):
            found.pop(str(event.get("app")), None)
    return list(found)


class Deployed:
    """One of our domains."""

    def __init__(self, host: Connection, raw: Any, of: Record) -> None:
        self.host = host
        self.raw = raw
        self.record = of
        self.storage = Storage(host, of.storage)

    @property
    def name(self) -> str:
        return self.record.name

    def events(self) -> list[Event]:
        """What its managers have reported since it was started last."""
        stream = EventStream()
        if self.storage.find():
            stream.feed(self.storage.read(EVENTS))
        return stream.events

    def state(self) -> State:
        with explained(f"{self.host.uri}: {self.name}"):
            events = self.events()
            word = self._word(events)
        found = State(word, trouble=[str(event) for event in events if event.kind in TROUBLE])
        if found.is_running:
            found.serving = serving(events)
        return found

    def _word(self, events: list[Event]) -> str:
        lib = self.host.lib
        state, reason = self.raw.state()
        if state in (lib.VIR_DOMAIN_RUNNING, lib.VIR_DOMAIN_BLOCKED):
            return "running"
        if state != lib.VIR_DOMAIN_SHUTOFF:
            return "paused"
        if reason == lib.VIR_DOMAIN_SHUTOFF_DESTROYED:
            return "stopped"
        if ended := [event for event in events if event.kind == "done"]:
            return "failed" if ended[-1].get("status") else "done"
        lost = (lib.VIR_DOMAIN_SHUTOFF_CRASHED, lib.VIR_DOMAIN_SHUTOFF_DAEMON)  # the latter: while libvirtd was away
        return "killed" if reason in lost else "off"

    def last_words(self) -> str:
        """The console's last line."""
        text = self.storage.read(CONSOLE).decode("utf-8", "replace") if self.storage.find() else ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else "nothing on its console"

    def stop(self) -> bool:
        """Ends the machine; whether it ran. The emulator gets to write out what it has."""
        with explained(f"{self.host.uri}: {self.name}"):
            if not self.raw.isActive():
                return False
            try:
                self.raw.destroyFlags(self.host.lib.VIR_DOMAIN_DESTROY_GRACEFUL)
            except self.host.lib.libvirtError:
                if self.raw.isActive():  # it does not heed
                    self.raw.destroy()
            return True

    def forget(self) -> None:
        """Ends it and removes its definition, with what belongs to that."""
        lib = self.host.lib
        self.stop()
        with explained(f"{self.host.uri}: {self.name}"):
            self.raw.undefineFlags(lib.VIR_DOMAIN_UNDEFINE_NVRAM | lib.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE)

    def remove(self) -> list[str]:
        """All of it: domain, storage and libvirt's own log; what could not be removed."""
        self.forget()
        self.storage.unmake()
        return _remove_log(self.host, domain_name(self.name))


def _remove_log(host: Connection, domain: str) -> list[str]:
    """libvirt keeps what the emulator said, and has no call to remove it. What stays."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache") if host.is_local else "~/.cache"
    folder = Path(cache, "libvirt/qemu/log") if host.is_session else Path("/var/log/libvirt/qemu")
    log = folder / f"{domain}.log"
    if not host.is_local:
        return [f"{host.hostname}:{log}"]
    try:
        for path in [log.expanduser(), *folder.expanduser().glob(f"{domain}.log.*")]:  # the latter: rotated ones
            path.unlink(missing_ok=True)
    except OSError:
        return [str(log)]
    return []


def _ours(host: Connection, raw: Any) -> Deployed | None:
    lib = host.lib
    try:
        text = raw.metadata(lib.VIR_DOMAIN_METADATA_ELEMENT, record.NAMESPACE)
        return Deployed(host, raw, record.parse(text))
    except lib.libvirtError as error:
        if error.get_error_code() in (lib.VIR_ERR_NO_DOMAIN_METADATA, lib.VIR_ERR_NO_DOMAIN):
            return None
        raise
    except ValueError:
        return None


def all_of(host: Connection) -> list[Deployed]:
    with explained(host.uri):
        found = [_ours(host, raw) for raw in host.raw.listAllDomains()]
    return sorted((one for one in found if one), key=lambda one: one.name)


def processors_used(host: Connection, but: str) -> set[int]:
    """Those of the host that running deployments are pinned to, one left out."""
    found: set[int] = set()
    for one in all_of(host):
        with explained(host.uri):
            if one.name != but and one.raw.isActive():
                pins = ElementTree.fromstring(one.raw.XMLDesc()).iterfind("cputune/vcpupin")
                found |= {number for pin in pins for number in parse_spans(pin.attrib["cpuset"])}
    return found


def find(host: Connection, name: str) -> Deployed | None:
    """The deployment of that name. A domain that only has its name is somebody else's."""
    lib = host.lib
    with explained(host.uri):
        try:
            raw = host.raw.lookupByName(domain_name(name))
        except lib.libvirtError as error:
            if error.get_error_code() == lib.VIR_ERR_NO_DOMAIN:
                return None
            raise
        found = _ours(host, raw)
    if found is None:
        raise Failure(f"{host.uri}: the domain {domain_name(name)} is not Skerry's: left alone; choose another --name")
    return found


def pick(host: Connection, name: str | None) -> Deployed:
    """The one that is named, or the only one."""
    there = all_of(host)
    names = ", ".join(one.name for one in there) or "none"
    if name is None:
        if len(there) != 1:
            raise InputError("NAME", f"is needed; {host.uri} has {names}")
        return there[0]
    wanted = name.removeprefix("skerry-") if name not in {one.name for one in there} else name
    for one in there:
        if one.name == wanted:
            return one
    raise InputError(name, f"is not deployed; {host.uri} has {names}")
