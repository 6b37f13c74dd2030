# SPDX-License-Identifier: BSD-2-Clause
"""Making a host have a deployment: nothing where it has it, else only what is missing."""

import random
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from deploy.base.errors import Failure
from deploy.base.terminal import version
from deploy.base.timeouts import Patience, Watch
from deploy.deployment import modules, volumes
from deploy.deployment.planner import Plan
from deploy.domains import deployed as deployments
from deploy.domains.connection import Connection, explained, is_failed_start, is_libvirts, one_line
from deploy.domains.definition import define
from deploy.domains.deployed import GONE, Deployed, State, check_names
from deploy.domains.machines import arrange, on_host
from deploy.domains.member import Member
from deploy.domains.record import Record, deployment_name, fingerprint
from deploy.domains.shared import remove_shared
from deploy.domains.storage import Storage, default_folder, require
from deploy.machine import image
from deploy.machine.crashes import death, is_started_again, status_text
from deploy.machine.events import Event, standing
from deploy.machine.listeners import ELSEWHERE, Service, elsewhere, listeners, serves_at, serving
from deploy.machine.qemu import Forward
from deploy.machine.run import POWER_ON_ATTEMPTS, choose_ports
from topology.errors import InputError
from topology.machines import libvirt_host
from topology.machines.machine import Machine
from topology.maps.dts import write_dts

POLL = 0.2  # seconds between looks at what the machine reports
PORTS = range(20000, 30000)  # of another host's loopback, where nobody can look first


@dataclass(frozen=True)
class Request:
    """A plan, and how it is to be on the host."""

    what: Plan
    name: str
    accel: str  # kvm or tcg
    bridge: str | None = None
    uefi: bool = False
    folder: PurePosixPath | None = None  # for image and logs; None: where libvirt has its images
    replace: bool = False  # a machine that runs and differs
    per_cluster: bool = False  # a domain for each


@dataclass
class Done:
    """Outcome. `message` is for people, `action` one of created, replaced, started, joined and unchanged."""

    deployed: Deployed
    action: str
    message: str
    clusters: frozenset[int] | None = None  # that were started while others go on; None: it concerns all
    since: int = 0  # how many events there were before


class Deployment:
    """One call of deploy: the request, beside what is there. Of a host that is not connected nothing is there: only
    preview() works."""

    def __init__(self, host: Connection, request: Request) -> None:
        self.host = host
        self.request = request
        if request.what.shares and request.per_cluster:
            raise InputError("volume", "machines of --per-cluster have none: their places on the bus are taken")
        if request.what.shares and not host.is_local:
            raise InputError("volume", f"{request.what.shares[0].folder.path} is a folder of this machine, and "
                             "libvirt's is another one")
        self.there = deployments.find(host, request.name) if host.is_open else None
        self.plain = arrange(request.what, None, request.per_cluster)
        self.files = image.contents(self.plain.cluster_map, own=request.what.own)
        placed, placement = self._place()
        self.machines = arrange(request.what, placed, request.per_cluster)
        self.record = self._record(placement)
        if host.is_open:
            check_names(host, request.name, [record.domain for record in self.record.each()])
            self._check_bridge()

    def converge(self) -> Done:
        """Raises Failure where that would end a machine which runs, unless it was asked for."""
        if self.there is None:
            return self._create()
        state = self.there.state()
        changes = list(dict.fromkeys(c for member in self.there.members for c in self.record.changes(member.record)))
        changes += self._moves(self.there.storage)
        if not changes:
            storage = require(self.there.storage)
            if missing := state.missing():
                return self.start_alone(missing, state)
            if state.is_running:
                return Done(self.there, "unchanged", f"{self.request.name} runs, and nothing has changed")
            self.there.stop()  # a cluster cannot go on with others that begin anew
            self._define(storage)  # other processors may be free now
            again = "all of it is stopped and started again" if state.in_parts else "is started again"
            return self._start("started", f"{self.request.name} {was(state)} and {again}, unchanged")
        differs = "; ".join(changes)
        if state.is_running and not self.request.replace:
            raise Failure(
                f"{self.request.name} runs and differs ({differs}): --replace restarts it, which loses what it holds "
                "in memory"
            )
        self.there.forget()
        self.there.remove_logs()  # of domains that the new one may not have
        self.there = None
        self._make()
        return self._start("replaced", f"{self.request.name} {was(state)} and is replaced: {differs}")

    def refresh(self) -> Deployed | None:
        """Looks again for the deployment on the host, and returns it; None: there is none."""
        self.there = deployments.find(self.host, self.request.name)
        return self.there

    def start_alone(self, clusters: list[int], state: State) -> Done:
        """Starts the domains of these anew, which join the others."""
        assert self.there
        since = len(self.there.events()) if 0 not in clusters else 0  # the first domain's file begins anew
        for member in self.there.members:
            if member.record.machine in clusters:
                member.stop()  # where it runs, its kernel is lost
        self._define(require(self.there.storage), clusters)
        fresh = [member for member in self.there.members if member.record.machine in clusters]
        try:
            for member in fresh:
                member.raw.create()
        except Exception as error:
            if not is_libvirts(error):
                raise
            for member in fresh:
                member.stop()
            raise Failure(f"{self.host.uri}: {', '.join(m.domain for m in fresh)}: does not start: "
                          f"{one_line(error)}") from None
        words = [f"{m.domain} {was_one(state, m.domain)}" for m in fresh]
        return Done(
            self.there, "joined", f"{self.request.name}: {'; '.join(words)}: started again alone, the others go on",
            frozenset(clusters), since,
        )  # fmt: skip

    def preview(self) -> str:
        """The domains that converge() would define; ports of the host that were not chosen yet may turn out others."""
        self._choose_ports()
        folder = (self.request.folder or default_folder(self.host)) / self.record.storage
        return "".join(self.text(record, folder) for record in self.record.each())

    def _create(self) -> Done:
        """Creates the deployment and starts it; removes it if it cannot be started."""
        self._make()
        assert self.there
        try:
            return self._start("created", f"{self.request.name} is deployed")
        except BaseException:
            self.there.remove()
            raise

    def _moves(self, storage: Storage) -> list[str]:
        folder = self.request.folder
        if folder is None or not storage.find() or storage.path == folder / storage.name:
            return []
        return [f"storage {storage.path.parent} -> {folder}"]

    def _check_bridge(self) -> None:
        """Addresses are part of the map: two machines on one bridge must not have the same."""
        mine = {app.ipv4 for app in self.request.what.cluster_map.applications} - {None}
        for other in deployments.all_of(self.host) if self.request.bridge else []:
            common = mine & {forward.guest for forward in other.record.forwards}
            if other.name != self.request.name and other.record.bridge == self.request.bridge and common:
                raise Failure(f"{min(map(str, common))} on {self.request.bridge} is the address of deployment "
                              f"{other.name}")

    def _place(self) -> tuple[Machine | None, str]:
        if not self.host.is_open:
            return None, "not pinned: libvirt was not asked"
        try:
            with explained(self.host.uri):
                host = libvirt_host.parse(self.host.raw.getCapabilities(), self.host.uri).machine()
        except InputError as error:
            return None, f"not pinned: {error.problem}"
        return on_host(self.request.what.machine, host, deployments.processors_used(self.host, self.request.name))

    def _record(self, placement: str) -> Record:
        """Ports of the host are kept from what is there, so that clients find an instance again."""
        what, request = self.request.what, self.request
        clusters = self.machines.cluster_map.clusters
        before = {(f.application, f.guest_port): f.host_port for f in self.there.record.forwards} if self.there else {}
        forwards = []
        for application, port in what.forwards:
            address = what.application(application).ipv4
            assert address
            kept = max(0, before.get((application, port), 0))
            forwards.append(Forward(application, address, port, what.host_ports.get((application, port), kept)))
        record = Record(
            name=request.name,
            version=version(),
            layout=what.layout,
            lock=what.lock,
            clusters=len(clusters),
            cores=sum(len(cluster.cpus) for cluster in clusters),
            accel=request.accel,
            storage=deployment_name(request.name),
            placement=placement,
            bridge=request.bridge,
            forwards=tuple(forwards),
            machines=len(self.machines.each),
            outside=what.outside,
        )
        return replace(record, parts=self._parts(record))

    def _parts(self, of: Record) -> dict[str, str]:
        """Whatever makes two machines different, and nothing that does not."""
        reached = [(f.application, f.guest, f.guest_port) for f in of.forwards]
        fixed = repr(sorted(self.request.what.host_ports.items())) if self.request.what.host_ports else ""
        plain = Record("", "", "", "", 0, 0, "tcg", "", machines=of.machines)  # machine: the rest of the XML
        texts = [define(self.plain, one, PurePosixPath("/")) for one in plain.each()]
        images = {f"image of {name}": fingerprint(data) for name, data in self.files.items() if name != "map"}
        return {
            "version": of.version,
            "layout": of.layout,
            "lock": of.lock,
            "accelerator": of.accel,
            "firmware": "UEFI" if self.request.uefi else "BIOS",
            "network": f"bridge {of.bridge}" if of.bridge else "forwarded ports" + " and a way out" * of.outside,
            "ports": fingerprint(repr(reached) + fixed),
            "domains": str(of.machines),
            "machine": fingerprint("".join(texts)),
            "map": fingerprint(write_dts(self.plain.cluster_map)),
            "image of loader": fingerprint(modules.loader(debug=modules.is_debug(self.plain.cluster_map)).read_bytes()),
            **images,
        }

    def _make(self) -> None:
        """Images and definitions, on the host."""
        storage = Storage(self.host, self.record.storage)
        storage.make(self.request.folder)
        try:
            storage.clear()
            loader = modules.loader(debug=modules.is_debug(self.plain.cluster_map))
            with tempfile.TemporaryDirectory(prefix="skerry-deploy-") as folder:
                for record in self.record.each():
                    iso = Path(folder) / record.image
                    options = f"machine={record.machine}" if record.machines > 1 else ""
                    image.make_iso(iso, self.files, loader, self.request.what.name, options)
                    storage.upload(iso, record.image)
            self._choose_ports()
            self._define(storage)
        except BaseException as error:
            try:
                storage.unmake()
            except Failure:  # as when the connection has broken
                if isinstance(error, Failure):
                    raise Failure(f"{error}; the storage pool {storage.name} stays, which another deploy "
                                  f"takes over") from None
            raise

    def text(self, record: Record, folder: PurePosixPath) -> str:
        """One domain's XML. One that is there stays the same domain."""
        text = define(self.machines, record, folder, self.request.uefi)
        for member in self.there.members if self.there else []:
            if member.domain == record.domain:
                text = text.replace("</name>", f"</name>\n  <uuid>{member.raw.UUIDString()}</uuid>", 1)
        return text

    def _define(self, storage: Storage, clusters: Collection[int] | None = None) -> None:
        """All of them, or no new one; or only those of some clusters, the others being there."""
        before = {member.domain for member in self.there.members} if self.there else set()
        members: list[Member] = []
        try:
            for record in self.record.each():
                if self.there and clusters is not None and record.machine not in clusters:
                    members.append(self.there.member(record.machine))
                    continue
                text = self.text(record, storage.path)
                with explained(f"{self.host.uri}: {record.domain}"):
                    raw = self.host.raw.defineXMLFlags(text, self.host.lib.VIR_DOMAIN_DEFINE_VALIDATE)
                members.append(Member(self.host, raw, record))
        except BaseException:
            for member in members:
                if member.domain not in before:
                    member.forget()
            raise
        self.there = Deployed(self.host, members)

    def _choose_ports(self) -> None:
        fresh = [forward for forward in self.record.forwards if not forward.host_port]
        if self.record.bridge or not fresh:
            return
        if self.host.is_local:
            choose_ports(fresh)
            return
        there = deployments.all_of(self.host) if self.host.is_open else []
        taken = {forward.host_port for one in there for forward in one.record.forwards}
        for forward, port in zip(fresh, random.sample([p for p in PORTS if p not in taken], len(fresh))):
            forward.host_port = port

    def _start(self, action: str, message: str) -> Done:
        """An emulator that cannot start gets other ports: one may have been taken since it was chosen."""
        foreign = remove_shared(self.host, self.request.name) if self.record.machines > 1 else []
        if foreign:
            raise Failure(f"{self.host.uri}: {foreign[0]} is another user's: have it removed, or choose another --name")
        volumes.hold(self.request.what.shares).close()  # a domain goes on when this process has ended
        for attempts_left in reversed(range(POWER_ON_ATTEMPTS)):
            assert self.there
            try:
                for member in self.there.members:
                    member.raw.create()
                return Done(self.there, action, message)
            except Exception as error:
                if not is_libvirts(error):
                    raise
                self.there.stop()
                chosen = [f for f in self.record.forwards
                          if (f.application, f.guest_port) not in self.request.what.host_ports]
                if not (chosen and not self.record.bridge and attempts_left and is_failed_start(error)):
                    raise Failure(f"{self.host.uri}: {self.request.name} does not start: {one_line(error)}") from None
            for forward in chosen:
                forward.host_port = 0
            self._choose_ports()
            storage = self.there.storage
            if not storage.find():
                raise Failure(f"{self.host.uri}: the storage pool {storage.name} is gone")
            self._define(storage)
        raise AssertionError


def was_one(state: State, domain: str) -> str:
    """Returns in words what was the matter with a domain that is missing."""
    if domain not in state.not_running():
        return "was lost to the others"
    return "was gone" if state.domains[domain] == GONE else was(State(state.domains[domain]))


def was(state: State) -> str:
    if state.in_parts:
        missing = (f"{domain}: {word}" for domain, word in state.domains.items() if domain in state.not_running())
        return f"was not whole ({', '.join(missing)})"
    words = {
        "killed": "had lost its emulator, which was killed or crashed,",
        "stopped": "was stopped",
        "done": "had done its work",
        "failed": "had failed",
        "off": "was off",
        "gone": "had lost a domain",
    }
    return words.get(state.word, f"was {state.word}")


def wait_ready(done: Done, what: Plan, timeout: Patience, update: Callable[..., None]) -> bool:
    """Until every port that the deployment leads to is served, of the clusters that were started; and until all of
    these run.

    False: the run is done, and nothing serves any more.
    """
    deployed, cluster_map = done.deployed, what.cluster_map
    started = [c for c in cluster_map.clusters if done.clusters is None or c.number in done.clusters]
    clusters = {c.number for c in started}
    forwards = [f for f in deployed.record.forwards
                if any(what.application(f.application).cpu in c.cpus for c in started)]
    began, watch, seen = time.monotonic(), Watch(None), 0
    while True:
        events = deployed.events()[done.since :]
        services = serving(events)
        missing = [forward for forward in forwards
                   if not serves_at(services.get(forward.application), forward.guest_port)]
        running = {event.get("cluster") for event in events if event.kind == "boot"}
        update(completed=len(running & clusters) + len(forwards) - len(missing), total=len(clusters) + len(forwards))
        state = deployed.state()
        if (not missing and clusters <= running) or state.word == "done":
            return state.word != "done"
        if not state.is_running:
            raise Failure(f"{deployed.name} {was(state)}: {(state.trouble or [deployed.last_words()])[0]}")
        if end := _ended(events, what, {forward.application for forward in missing}):
            raise Failure(f"{end}, before it served; it stays, for skerry logs")
        if len(events) > seen:
            watch.moved(f"'{events[-1].kind}'")
            seen = len(events)
        words = [f"cluster {number} not up"
                 for number in sorted(clusters - running)] or list(_unserved(missing, services))
        # they listen elsewhere
        known = clusters <= running and all(listeners(services, forward.application) for forward in missing)
        if why := watch.overdue("; ".join(words), timeout.times_load().times(ELSEWHERE if known else 1), began):
            raise Failure(f"{why}; it stays, for skerry logs")
        time.sleep(POLL)


def _ended(events: list[Event], what: Plan, awaited: Collection[str]) -> str | None:
    """One of these programs that has ended for good, well or not, in words."""
    for event in standing(events):
        name = str(event.get("app"))
        if name not in awaited or is_started_again(event, what):
            continue
        if end := death(event, what, ""):
            return str(end)
        if event.kind == "exit":
            return f"{name} {status_text(event.get('status'))}"
    return None


def _unserved(missing: Iterable[Forward], services: Mapping[str, Service]) -> Iterator[str]:
    """Why each of these ports is not served, as far as it is known."""
    for forward in missing:
        at = listeners(services, forward.application)
        yield elsewhere(forward, at) if at else f"{forward.application} not up"
