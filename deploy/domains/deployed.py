# SPDX-License-Identifier: BSD-2-Clause
"""Deployments on a host, of one domain or several: finding them, what they do, their emulators' monitors, stopping and
removing them."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.domains.connection import Connection, explained
from deploy.domains.member import Member, of_domain
from deploy.domains.record import deployment_name
from deploy.domains.shared import remove_shared
from deploy.domains.storage import EVENTS, Storage
from deploy.machine import changes, gdb_remote
from deploy.machine.console_lines import lines
from deploy.machine.crashes import plain
from deploy.machine.events import (
    TROUBLE,
    Event,
    EventStream,
    cluster_restarts,
    cluster_words,
    in_service,
    restarts,
    standing,
)
from topology import foreign
from topology.errors import InputError
from topology.foreign import parse_spans

PATIENCE = Patience(5.0)  # on the wall, for an orderly end: the emulator is not ours, and may be on another host
POLL = 0.1  # seconds between looks
GONE = "gone"  # a domain that somebody has removed
# The deployment is in the first of these that a domain of it is in.
WORDS = (GONE, "killed", "failed", "stopped", "off", "paused", "running", "done")
_UP = ("running", "paused")


@dataclass
class State:
    """`word` is one of WORDS, `domains` says it of each."""

    word: str
    domains: dict[str, str] = field(default_factory=dict)
    serving: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)  # applications that were started again are no trouble
    restarts: dict[str, int] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)  # clusters that were started again, what has moved
    lost: set[int] = field(default_factory=set)  # clusters of which the others say so

    @property
    def is_running(self) -> bool:
        """All of it."""
        return self.word in _UP

    @property
    def in_parts(self) -> bool:
        """Some of its domains run, and others do not."""
        return 0 < len(self.not_running()) < len(self.domains)

    def not_running(self) -> list[str]:
        return [domain for domain, word in self.domains.items() if word not in _UP]

    def missing(self) -> list[int]:
        """Clusters that the others, which go on, lack: the domain is down, or runs and is lost to them. Each has its
        own.

        The first one writes the events: it reports its own loss only when it runs again.
        """
        down = [number for number, word in enumerate(self.domains.values()) if word not in _UP]
        lost = [number for number, word in enumerate(self.domains.values()) if word == "running"
                and number in self.lost - {0}]
        missing = sorted({*down, *(lost if 0 not in down else ())})
        over = any(word in ("done", "failed") for word in self.domains.values())
        return missing if len(missing) < len(self.domains) and not over else []


class Deployed:
    """One deployment; `members` in order, of which somebody may have removed some, but not all."""

    def __init__(self, host: Connection, members: Iterable[Member]) -> None:
        self.host = host
        self.members = sorted(members, key=lambda member: member.record.machine)
        self.record = self.members[0].record
        self.storage = Storage(host, self.record.storage)

    @property
    def name(self) -> str:
        return self.record.name

    def member(self, cluster: int | None) -> Member:
        """The domain of a cluster; where there is only one, of no cluster in particular."""
        count = self.record.machines
        if count == 1 and cluster is not None:
            raise InputError("--cluster", f"{self.name} is one domain with one console for all clusters")
        if cluster is not None and cluster >= count:
            raise InputError("--cluster", f"{self.name} has clusters 0 to {count - 1}, no {cluster}")
        for member in self.members:
            if member.record.machine == (cluster or 0):
                return member
        raise Failure(f"{self.record.each()[cluster or 0].domain} is gone; deploy again")

    def is_active(self) -> bool:
        """Whether all of it is."""
        return len(self.members) == self.record.machines and all(member.is_active() for member in self.members)

    def events(self) -> list[Event]:
        """Returns what its managers have reported since it was started last."""
        stream = EventStream()
        if self.storage.find():
            stream.feed(self.storage.read(EVENTS))
        return stream.events

    def state(self) -> State:
        with explained(f"{self.host.uri}: {self.name}"):
            events = self.events()
        words = {member.domain: member.word(events) for member in self.members}
        domains = {of.domain: words.get(of.domain, GONE) for of in self.record.each()}
        state = State(min(domains.values(), key=WORDS.index), domains)
        state.trouble = [cluster_words(e) or str(e) for e in standing(events) if e.kind in TROUBLE]
        state.restarts = restarts(events) | {f"cluster {number}": count
                                             for number, count in cluster_restarts(events).items()}
        state.changes = changes.words(events)
        state.lost = {int(e["cluster"]) for e in standing(events) if e.kind == "cluster-lost"}
        alive = {number for number, word in enumerate(domains.values()) if word in _UP}
        if alive:
            state.serving = [app for app, event in in_service(events).items()
                             if len(domains) == 1 or event["cluster"] in alive]
        return state

    def last_words(self) -> str:
        """The last line on the console, of the first domain that does not run, if there is one."""
        silent = [member for member in self.members if not member.is_active()]
        of = (silent or self.members)[0].record
        text = self.storage.read(of.console).decode("utf-8", "replace") if self.storage.find() else ""
        spoken = [plain(line.text.strip()) for line in lines(text) if line.text.strip()]
        return spoken[-1] if spoken else "nothing on its console"

    def shut_down(self) -> None:
        """Has the managers end the run, where they answer, and say what there is to say; stop() ends what is left."""
        self.members[0].press_power_button()
        deadline = time.monotonic() + PATIENCE.on_wall()
        while time.monotonic() < deadline and any(member.is_active() for member in self.members):
            time.sleep(POLL)

    def stop(self) -> bool:
        """Ends all of it; whether any ran."""
        ran = [member.stop() for member in self.members]
        if self.record.machines > 1:
            remove_shared(self.host, self.name)
        return any(ran)

    def forget(self) -> None:
        """Ends it and removes its definitions."""
        self.stop()
        for member in self.members:
            member.forget()

    def remove(self) -> list[str]:
        """All of it: domains, storage and libvirt's own logs; what could not be removed."""
        self.forget()
        self.storage.unmake()
        return self.remove_logs()

    def remove_logs(self) -> list[str]:
        """libvirt's own; those that could not be removed."""
        return [path for member in self.members for path in member.remove_log()]


def all_of(host: Connection) -> list[Deployed]:
    with explained(host.uri):
        deployments = [of_domain(host, raw) for raw in host.raw.listAllDomains()]
    groups: dict[str, list[Member]] = {}
    for member in deployments:
        if member:
            groups.setdefault(member.record.name, []).append(member)
    return [Deployed(host, groups[name]) for name in sorted(groups)]


def processors_used(host: Connection, but: str) -> set[int]:
    """Returns the host's processors that running deployments are pinned to, the deployment `but` left out."""
    used: set[int] = set()
    for member in (member for one in all_of(host) if one.name != but for member in one.members):
        with explained(host.uri):
            if member.raw.isActive():
                pins = foreign.xml(member.raw.XMLDesc(), host.uri).iterfind("cputune/vcpupin")
                used |= {number for pin in pins for number in parse_spans(pin.attrib["cpuset"])}
    return used


def find(host: Connection, name: str) -> Deployed | None:
    """The deployment of that name."""
    return next((one for one in all_of(host) if one.name == name), None)


def check_names(host: Connection, name: str, domains: Iterable[str]) -> None:
    """A domain that only has the name of one of these is somebody else's."""
    lib = host.lib
    for domain in domains:
        with explained(host.uri):
            try:
                raw = host.raw.lookupByName(domain)
            except lib.libvirtError as error:
                if error.get_error_code() == lib.VIR_ERR_NO_DOMAIN:
                    continue
                raise
            member = of_domain(host, raw)
        if member is None:
            raise Failure(f"{host.uri}: the domain {domain} is not Skerry's: left alone; choose another --name")
        if member.record.name != name:
            raise Failure(f"{host.uri}: the domain {domain} is of deployment {member.record.name}; choose another "
                          f"--name")


def pick(host: Connection, name: str | None) -> Deployed:
    """The one that is named, or the only one."""
    there = all_of(host)
    names = ", ".join(one.name for one in there) or "none"
    if name is None:
        if len(there) != 1:
            raise InputError("NAME", f"is needed; {host.uri} has {names}")
        return there[0]
    for one in there:
        if one.name == name:
            return one
    for one in there:
        if name in (deployment_name(one.name), *(member.domain for member in one.members)):
            return one
    raise InputError(name, f"is not deployed; {host.uri} has {names}")


def pick_running(host: Connection, name: str | None) -> Deployed:
    """Returns the one that is named, or the only one; a failure where not all of it runs."""
    one = pick(host, name)
    if not one.is_active():
        raise Failure(f"{host.uri}: {one.name} does not run ({one.state().word})")
    return one


_HMP = 1  # VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP


def _library() -> Any:
    """Comes with libvirt-python, where that was built with the headers of libvirt's QEMU driver."""
    try:
        import libvirt_qemu
    except ImportError as error:
        raise Failure(f"libvirt's Python library has no access to QEMU's monitor: {error}") from None
    return libvirt_qemu


def human(member: Member, line: str) -> str:
    """Returns QEMU's answer to a command of its human monitor. libvirt marks the domain as tainted by it."""
    with explained(f"{member.host.uri}: {member.domain}: its monitor"):
        return str(_library().qemuMonitorCommand(member.raw, line, _HMP))


def write_word(one: Deployed, cluster: int, address: int, word: int) -> None:
    """Stores eight bytes in the memory of a cluster's domain. Only a host that is this machine has a debugger in
    reach."""
    if not one.host.is_local:
        raise InputError("--connect", f"{one.host.uri}: memory is written by QEMU's debugger, on the host itself only")
    member = one.member(cluster if one.record.machines > 1 else None)
    gdb_remote.write_word_by_port(lambda line: human(member, line), address, word)
