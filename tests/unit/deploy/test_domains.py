# SPDX-License-Identifier: BSD-2-Clause
"""Deployments under libvirt: a domain, one for each cluster, what is said of them, their XML without libvirt."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.deployment.addresses import INSIDE
from deploy.deployment.planner import Plan
from deploy.domains import deployed
from deploy.domains.connection import explained, one_line
from deploy.domains.definition import QEMU, define
from deploy.domains.deploy import was
from deploy.domains.deployed import Deployed, State
from deploy.domains.keep import History, Keeper
from deploy.domains.machines import Machines, arrange, on_host
from deploy.domains.member import Member
from deploy.domains.record import NAMESPACE, Record, parse
from deploy.live.lockstat import live
from deploy.live.lockstat.record import SIZE
from deploy.machine.events import BUTTON, Event, in_service
from deploy.machine.qemu import Forward
from tests.unit.topology.machines import MACHINES, Host, write
from topology.errors import InputError
from topology.foreign import parse_spans
from topology.machines import libvirt_host
from topology.machines.machine import Machine, Shape, emulated
from topology.machines.sources import read_machine
from topology.maps.clustermap import ClusterMap, Network
from topology.maps.mapmaker import make_map
from topology.units import GIB, KIB

# ---- Deployments as libvirt domains: how they are made and kept. ----


# ---- Domains as text: libvirt's schema over several dozen machines, where they run on a host, and what ----

SCHEMA = Path("/usr/share/libvirt/schemas/domain.rng")
FOLDER = PurePosixPath("/var/lib/libvirt/images/skerry-test")
FORWARDS = (Forward("redis@2", "10.0.2.101", 6379, 20001), Forward("redis@3", "10.0.2.102", 6379, 20002))


def record(**rest: object) -> Record:
    base = Record("test", "1.0", "per-socket", "clh", 2, 4, "tcg", "skerry-test", forwards=FORWARDS,
                  parts={"lock": "clh"})
    return replace(base, **rest)  # type: ignore[arg-type]


def plan(machine: Machine, layout: str = "per-socket") -> Plan:
    return Plan("test", make_map(machine, layout), machine, [("redis@2", 6379)], layout=layout)


def host(**parts: int) -> Machine:
    return libvirt_host.parse(Host(**parts).xml(), "host").machine()  # type: ignore[arg-type]


def layouts_of(machine: Machine) -> list[Plan]:
    plans = []
    for layout in ("per-socket", "per-l3", "per-numa", "spanning"):
        try:
            plans.append(plan(machine, layout))
        except InputError:
            continue
    return plans or [Plan("test", ClusterMap([], [], []), machine)]


@pytest.mark.limit(120)
def test_schema(tmp_path: Path) -> None:
    """domains of several dozen machines, pinned and not, forwarded and bridged, are valid by libvirt's schema"""
    written, refused = [], 0
    for name in MACHINES:
        machine = read_machine(str(write(name, tmp_path)))
        placed, _ = on_host(machine, machine)
        assert placed
        try:
            for i, what in enumerate(layouts_of(machine)):
                used = placed if what.cluster_map.clusters and i % 2 == 0 else None
                of = record(bridge="br0" if i % 2 else None, accel="kvm" if i % 3 else "tcg")
                for machines in (arrange(what, used), *apart(what, used)):
                    roots = []
                    for one in replace(of, machines=len(machines.each)).each():
                        text = define(machines, one, FOLDER, uefi=i == 1)
                        path = tmp_path / f"{len(written)}.domain"
                        path.write_text(text)
                        written.append(path)
                        roots.append(ElementTree.fromstring(text))
                    if used:
                        check_pins(roots, machines)
        except InputError as error:
            assert "no cell without any" in str(error)
            refused += 1
    assert refused < len(MACHINES) / 5 and len(written) > 400
    done = subprocess.run(["xmllint", "--noout", "--relaxng", SCHEMA, *written], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr.count(" validates") == len(written)


def apart(what: Plan, placed: Machine | None) -> list[Machines]:
    try:
        return [arrange(what, placed, per_cluster=True)]
    except InputError as error:  # too many clusters
        assert error.culprit == "--per-cluster"
        return []


def check_pins(roots: list[ElementTree.Element], machines: Machines) -> None:
    """Checks that as many processors as cores have a place; clusters share none, in one domain or several."""
    elements = [(i, pin.attrib["vcpu"], pin.attrib["cpuset"]) for i, root in enumerate(roots)
                for pin in root.iter("vcpupin")]
    pins = {(i, vcpu): frozenset(parse_spans(cpus)) for i, vcpu, cpus in elements}
    clusters = [cluster.cpus for cluster in machines.cluster_map.clusters]
    assert len(pins) == len(elements) == sum(map(len, clusters))
    sets = set(pins.values())
    assert len(sets) == len(clusters) and sum(map(len, sets)) == len(pins), "clusters share processors"
    assert sorted(map(len, sets)) == sorted(map(len, clusters))


def test_clusters_stay_on_their_sockets() -> None:
    """two emulated sockets run on two of the host's, and their memory lies there"""
    machine = emulated(Shape(2, 2, GIB))
    placed, words = on_host(machine, host(sockets=2, cores=4))
    assert placed and words == "pinned"
    root = ElementTree.fromstring(define(arrange(plan(machine), placed), record(), FOLDER))
    pins = {int(pin.attrib["vcpu"]): pin.attrib["cpuset"] for pin in root.iter("vcpupin")}
    assert pins == {0: "0-1", 1: "0-1", 2: "4-5", 3: "4-5"}, "first threads of cores, a socket each"
    assert [(n.get("cellid"), n.get("nodeset")) for n in root.iter("memnode")] == [("0", "0"), ("1", "1")]
    assert root.find("cpu/cache[@level='3']") is not None


def test_threads_share_a_core_when_there_are_not_enough() -> None:
    """more cores than the host has of silicon: neighbours are threads of one core"""
    placed, words = on_host(emulated(Shape(1, 8, GIB)), host(sockets=1, cores=4))
    assert placed and words == "pinned"
    assert sorted(core.number for core in placed.cores) == list(range(8))


@pytest.mark.parametrize("shape,parts,expected", [
    (Shape(2, 4, GIB), {"sockets": 1, "cores": 2, "threads": 2}, "not pinned: 8 cores on 4 of the host"),
    (Shape(2, 2, GIB), {"sockets": 1, "cores": 4, "threads": 1}, "pinned"),
    (Shape(1, 8, GIB), {"sockets": 2, "cores": 4, "threads": 1},
     "pinned; memory not bound: no node of the host has room for it"),
    (Shape(2, 1, 64 * GIB), {"sockets": 2}, "pinned; memory not bound: no node of the host has room for it"),
])  # fmt: skip
def test_hosts_that_do_not_fit(shape: Shape, parts: dict[str, int], expected: str) -> None:
    """a host that is too small in one way or another is used as far as it goes, and that is said"""
    machine = emulated(shape)
    placed, words = on_host(machine, host(**parts))
    assert words == expected
    assert (placed is None) == expected.startswith("not pinned")
    assert bool(placed and placed.host_nodes) == (expected == "pinned")
    text = define(arrange(plan(machine), placed), record(), FOLDER)
    assert ("<numatune>" in text) == (expected == "pinned")


def test_processors_of_others() -> None:
    """what other deployments are pinned to is left to them"""
    placed, words = on_host(emulated(Shape(2, 2, GIB)), host(sockets=2, cores=4, threads=1), taken={0, 1, 2})
    assert placed and words == "pinned"
    assert [core.number for core in placed.cores] == [4, 5, 6, 7]
    assert placed.host_nodes == (1, 1)
    nowhere, words = on_host(emulated(Shape(2, 2, GIB)), host(sockets=1, cores=4, threads=1), taken={0})
    assert nowhere is None and words == "not pinned: 4 cores on 4 of the host, 1 of them another deployment's"


def test_network() -> None:
    """ports of the loopback interface are forwarded, or the network is a bridge's"""
    machine = emulated(Shape(2, 2, GIB))
    forwarded = ElementTree.fromstring(define(arrange(plan(machine)), record(), FOLDER))
    words = " ".join(arg.attrib["value"] for arg in forwarded.iter(f"{{{QEMU}}}arg"))
    assert "hostfwd=tcp:127.0.0.1:20001-10.0.2.101:6379,hostfwd=tcp:127.0.0.1:20002-10.0.2.102:6379" in words
    assert forwarded.find("devices/interface") is None
    bridged = ElementTree.fromstring(define(arrange(plan(machine)), record(bridge="br7"), FOLDER))
    source = bridged.find("devices/interface[@type='bridge']/source")
    assert source is not None and source.get("bridge") == "br7"
    assert not any("hostfwd" in arg.attrib["value"] for arg in bridged.iter(f"{{{QEMU}}}arg"))
    other = ElementTree.fromstring(define(arrange(plan(machine)), record(bridge="br7", name="other"), FOLDER))
    stations = {root.find("devices/interface/mac").attrib["address"] for root in (bridged, other)}  # type: ignore[union-attr]
    assert len(stations) == 2 and all(re.fullmatch("52:54:00(:[0-9a-f]{2}){3}", station) for station in stations)


def test_subnet() -> None:
    """the file's subnet is the domain's, and what is not to be reached has no port of the host"""
    what = plan(emulated(Shape(2, 2, GIB)))
    what.cluster_map.network = Network("255.255.255.0", "10.0.9.1")
    closed = tuple(replace(forward, host_port=INSIDE) for forward in FORWARDS[:1]) + FORWARDS[1:]
    root = ElementTree.fromstring(define(arrange(what), record(forwards=closed), FOLDER))
    words = [arg.attrib["value"] for arg in root.iter(f"{{{QEMU}}}arg")]
    (network,) = [word for word in words if word.startswith("user,")]
    assert (
        network == "user,id=skerry,net=10.0.9.0/24,host=10.0.9.1,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:20002-10.0.2.102:6379"
    )


def test_memory_and_accelerator() -> None:
    """the domain has all of the machine's memory, and says kvm only for KVM"""
    machine = emulated(Shape(2, 2, GIB))
    for accel, kind in (("tcg", "qemu"), ("kvm", "kvm")):
        root = ElementTree.fromstring(define(arrange(plan(machine)), record(accel=accel), FOLDER))
        assert root.get("type") == kind
        assert int(root.findtext("memory") or 0) * KIB == 2 * GIB


def test_record_survives_the_xml() -> None:
    """what a domain says of its deployment is read back, as libvirt hands it out: with and without namespace"""
    one = record(bridge="br0")
    text = ElementTree.tostring(one.element(), encoding="unicode")
    assert NAMESPACE in text
    for form in (text, text.replace("skerry:", "").replace(f' xmlns:skerry="{NAMESPACE}"', "")):
        assert parse(form) == one
    for broken in ("<deployment/>", "<deployment", '<deployment name="x" version="1"/>'):
        with pytest.raises(ValueError):
            parse(broken)


def test_serving() -> None:
    """an instance that began to serve counts once, and no longer when it has ended"""
    reports = [("serving", "redis@2"), ("serving", "redis@3"), ("serving", "redis@2"), ("fault", "redis@3"),
               ("exit", "ycsb@4")]
    assert [*in_service(Event(kind, {"event": kind, "app": app, "cluster": 0}) for kind, app in reports)] == ["redis@2"]


def test_changes() -> None:
    """what has changed is named, and only that"""
    before = record(parts={"lock": "clh", "map": "0123456789abcdef", "image of kernel-clh": "11",
                           "image of root": "22"})
    after = record(parts={"lock": "mcs", "map": "fedcba9876543210", "image of kernel-mcs": "33", "image of root": "22"})
    assert after.changes(before) == [
        "lock clh -> mcs", "map changed", "image of kernel-mcs is new", "image of kernel-clh is gone",
    ]  # fmt: skip
    assert before.changes(before) == []


def test_words_that_are_no_text() -> None:
    """what libvirt quotes may have bytes behind its end that are no text: one line all the same"""
    try:
        b"failed to create tap\x86\x1b device".decode()
    except UnicodeDecodeError as cause:
        garbled = SystemError("returned a result with an exception set")
        garbled.__cause__ = cause
    with pytest.raises(Failure, match="^host: failed to create tap\N{REPLACEMENT CHARACTER}[?] device$"):
        with explained("host"):
            raise garbled
    with pytest.raises(SystemError):
        with explained("host"):
            raise SystemError("a mistake of ours")
    helper = (
        "/x --use-vnet --br=br7 --fd=26: failed to communicate with bridge helper: stderr=no such bridge\n\x86: not "
        "connected"
    )
    assert one_line(Exception(helper)) == "bridge br7: no such bridge"


# ---- Which domains of a deployment are started again while the others go on, when, and how often ----

NAMES = ("skerry-t-0", "skerry-t-1", "skerry-t-2")


def state(*words: str, lost: set[int] | None = None) -> State:
    return State("any", dict(zip(NAMES, words)), lost=lost or set())


@pytest.mark.parametrize(("there", "missing"), [
    (state("running", "running", "running"), []),
    (state("running", "killed", "running"), [1]),
    (state("killed", "running", "paused"), [0]),
    (state("running", "stopped", "gone"), [1, 2]),
    (state("running", "running", "running", lost={2}), [2]),
    (state("running", "running", "running", lost={0}), []),  # it was, as it says itself
    (state("running", "running", "running", lost={0, 1}), [1]),
    (state("running", "running", "paused", lost={2}), []),  # somebody has stopped it on purpose
    (state("killed", "running", "running", lost={2}), [0]),  # what the lost one said is old
    (state("killed", "killed", "killed"), []),  # nobody to join
    (state("done", "running", "killed"), []),  # the run is over
])  # fmt: skip
def test_missing(there: State, missing: list[int]) -> None:
    """a domain is missing if it is down, or the others say that its cluster is lost, as long as some go on"""
    assert there.missing() == missing


def test_history() -> None:
    """the delay doubles within a minute up to 5 s; after as many as the limit the domain stays down"""
    history = History(limit=3, delay=2.0)
    assert [history.note(now) for now in (0.0, 10.0, 20.0)] == [2.0, 4.0, 5.0]
    assert history.is_spent(59.9) and not history.is_spent(60.0)
    assert history.note(100.0) == 2.0
    assert not History(limit=0, delay=0).is_spent(0)


class Host_domains_keep:
    """A deployment of three clusters whose domains a test moves."""

    def __init__(self, restart: bool = True) -> None:
        self.now, self.state, self.events = 0.0, state("running", "running", "running"), list[Event]()
        self.started: list[list[int]] = []
        self.lines: list[str] = []
        self.fails = False
        clusters = [SimpleNamespace(number=n, restart=restart, restart_limit=2, restart_delay=500) for n in range(3)]
        self.request = SimpleNamespace(what=SimpleNamespace(cluster_map=SimpleNamespace(clusters=clusters)))
        self.record = SimpleNamespace(each=lambda: [SimpleNamespace(domain=name) for name in NAMES])

    def refresh(self) -> Any:
        return SimpleNamespace(events=lambda: self.events, state=lambda: self.state, record=self.record)

    def start_alone(self, numbers: list[int], _: State) -> None:
        if self.fails:
            raise Failure("no room")
        self.started.append(numbers)
        self.state.domains.update({NAMES[number]: "running" for number in numbers})


def keeper(host: Host_domains_keep) -> Keeper:
    return Keeper(host, host.lines.append, lambda: host.now)  # type: ignore[arg-type]


def test_started_after_its_delay() -> None:
    """a domain that is lost is started after its delay, and nothing is said again while the others take back the
    loss"""
    host = Host_domains_keep()
    keep = keeper(host)
    assert keep.look() and not host.lines
    host.state = state("running", "killed", "running")
    assert keep.look() and host.started == [] and "in 0.5 s" in host.lines[0]
    host.now = 0.6
    assert keep.look() and host.started == [[1]]
    host.state.lost = {1}
    assert keep.look() and keep.look() and len(host.lines) == 1
    host.events.append(Event("cluster-restarted", {"cluster": 1}))
    host.state.lost = set()
    assert keep.look()
    host.state.lost = {1}  # again, and it runs: its kernel is dead
    assert keep.look() and "was lost to the others" in host.lines[1]
    host.now = 3.0
    assert keep.look() and host.started == [[1], [1]]


def test_limit_and_policy() -> None:
    """after too many restarts, and without a policy, it stays down, which is said once"""
    for host, starts in (Host_domains_keep(), 2), (Host_domains_keep(restart=False), 0):
        keep = keeper(host)
        for step in range(40):
            host.now = step / 2
            host.state = state("running", "running", "killed")
            assert keep.look()
        assert len(host.started) == starts and sum("stays down" in line for line in host.lines) == 1


def test_cannot_start() -> None:
    """a domain that libvirt does not start counts as lost once more"""
    host = Host_domains_keep()
    host.fails = True
    keep = keeper(host)
    host.state = state("running", "killed", "running")
    for step in range(20):
        host.now = float(step)
        assert keep.look()
    assert host.lines.count("no room") == 2 and host.lines[-1].endswith("stays down: it was started again 2 times "
                                                                      "in 60 s")


def test_stopped_while_it_looks() -> None:
    """a domain that is seen down, while the first one was seen before its end by the same stop, is not started again"""
    host = Host_domains_keep()
    keep = keeper(host)
    host.events.append(Event("done", {"status": 0, "why": BUTTON}))  # the first has not switched off yet
    host.state = state("running", "stopped", "running")
    assert not keep.look() and not host.lines

    host = Host_domains_keep()
    looks = [state("running", "stopped", "running"), state("stopped", "stopped", "stopped")]
    host.refresh = lambda: SimpleNamespace(events=lambda: [], state=lambda: looks.pop(0), record=host.record)  # type: ignore[method-assign]
    assert not keeper(host).look() and not host.lines and not looks


@pytest.mark.parametrize("words", [("stopped", "running", "running"), ("killed",) * 3, ("done", "off", "off"),
                                   ("gone", "running", "stopped")])
def test_end(words: tuple[str, ...]) -> None:
    """watching ends with the deployment: stopped, over, removed, or nothing of it goes on"""
    host = Host_domains_keep()
    host.state = state(*words)
    assert not keeper(host).look() and not host.started


# ---- Deployments of several domains: what each has, and what is said of all of them together. ----


RECORD = Record("test", "1.0", "per-socket", "clh", 2, 4, "tcg", "skerry-test", forwards=FORWARDS, machines=2)
WHERE = PurePosixPath("/images/skerry-test")


def domains(of: Record = RECORD, shape: Shape = Shape(2, 2, GIB), on: Any = None) -> list[ElementTree.Element]:
    machines = arrange(plan(emulated(shape)), on, per_cluster=True)
    return [ElementTree.fromstring(define(machines, one, WHERE)) for one in of.each()]


def text(root: ElementTree.Element, path: str) -> str:
    return root.findtext(path) or ""


def test_names() -> None:
    """each domain has a name, an image and a console of its own; one alone has no number"""
    assert [(r.domain, r.image, r.console) for r in RECORD.each()] == [
        ("skerry-test-0", "skerry-0.iso", "console-0.log"), ("skerry-test-1", "skerry-1.iso", "console-1.log"),
    ]  # fmt: skip
    alone = replace(RECORD, machines=1)
    assert [(r.domain, r.image, r.console) for r in alone.each()] == [("skerry-test", "skerry.iso", "console.log")]
    for one in (*RECORD.each(), alone):
        assert parse(ElementTree.tostring(one.element(), encoding="unicode")) == one


def test_domains() -> None:
    """a cluster's processors and memory are in its domain; the network is in the first"""
    first, second = domains()
    for number, root in enumerate((first, second)):
        assert text(root, "name") == f"skerry-test-{number}"
        assert (text(root, "vcpu"), int(text(root, "memory")) * KIB) == ("2", GIB)
        source = root.find("devices/disk/source")
        assert source is not None and source.get("file") == f"/images/skerry-test/skerry-{number}.iso"
        log = root.find("devices/serial/log")
        assert log is not None and log.get("file") == f"/images/skerry-test/console-{number}.log"
        words = " ".join(arg.attrib["value"] for arg in root.iter(f"{{{QEMU}}}arg"))
        assert "isa-debug-exit" in words and ("hostfwd" in words) == ("virtio-net" in words) == (number == 0)
        assert len(root.findall("devices/serial")) == (2 if number == 0 else 1), "the managers' reports"
    bridged = domains(replace(RECORD, bridge="br7"))
    assert [len(root.findall("devices/interface")) for root in bridged] == [1, 0]


def test_a_place_stays_empty() -> None:
    """an emulator with one place for a processor would make locked instructions plain ones, and a doorbell could be
    lost"""
    one, two = Shape(2, 1, GIB), Shape(2, 2, GIB)

    def count(of: Record, shape: Shape) -> list[tuple[str, str | None]]:
        return [(text(root, "vcpu"), root.find("vcpu").get("current")) for root in domains(of, shape)]  # type: ignore[union-attr]

    assert count(RECORD, one) == [("2", "1")] * 2
    for root in domains(RECORD, one):
        topology, cell = root.find("cpu/topology"), root.find("cpu/numa/cell")
        assert topology is not None and (topology.get("cores"), topology.get("threads")) == ("2", "1")
        assert cell is not None and cell.get("cpus") == "0-1"
    assert count(RECORD, two) == [("2", None)] * 2
    assert [root.find("cpu/topology").get("cores") for root in domains(RECORD, two)] == ["2", "2"]  # type: ignore[union-attr]
    assert count(replace(RECORD, accel="kvm"), one) == [("1", None)] * 2
    alone = arrange(plan(emulated(Shape(1, 1, GIB))))
    assert text(ElementTree.fromstring(define(alone, replace(RECORD, machines=1), WHERE)), "vcpu") == "1"


def test_shared_memory() -> None:
    """a channel is memory of one name in both its ends' domains, and in no other"""
    three = domains(replace(RECORD, machines=3), Shape(3, 1, GIB))
    channels = [[(m.get("name"), m.findtext("size"), a.get("slot")) for m in root.iter("shmem")
                 if (a := m.find("address")) is not None] for root in three]
    assert channels == [[("skerry-test-channel0", "16", "0x11"), ("skerry-test-channel1", "16", "0x12")],
                        [("skerry-test-channel0", "16", "0x11")], [("skerry-test-channel1", "16", "0x11")]]


def test_processors_of_the_host() -> None:
    """domains are pinned as one would be: to processors of their own, with memory from where these are"""
    placed, words = on_host(emulated(Shape(2, 2, GIB)), host(sockets=2, cores=4))
    assert words == "pinned"
    for root, pins, nodes in zip(domains(on=placed), ("0-1", "4-5"), ("0", "1")):
        assert [(p.get("vcpu"), p.get("cpuset")) for p in root.iter("vcpupin")] == [("0", pins), ("1", pins)]
        assert [(n.get("cellid"), n.get("nodeset")) for n in root.iter("memnode")] == [("0", nodes)]


class Connection:
    """A connection to no host."""

    uri = "test"

    class lib:
        VIR_DOMAIN_RUNNING, VIR_DOMAIN_BLOCKED, VIR_DOMAIN_PAUSED, VIR_DOMAIN_SHUTOFF = 1, 2, 3, 5
        VIR_DOMAIN_SHUTOFF_DESTROYED, VIR_DOMAIN_SHUTOFF_CRASHED, VIR_DOMAIN_SHUTOFF_DAEMON = 2, 3, 8


RUNNING, CRASHED, DESTROYED, SHUTDOWN = (1, 1), (5, 3), (5, 2), (5, 1)


@contextmanager
def _as_it_is(what: str) -> Iterator[None]:
    yield


def group(monkeypatch: pytest.MonkeyPatch, *states: tuple[int, int] | None, events: Sequence[Event] = ()) -> Deployed:
    for module in ("member", "deployed"):
        monkeypatch.setattr(f"deploy.domains.{module}.explained", _as_it_is)
    monkeypatch.setattr(deployed.Deployed, "events", lambda self: list(events))
    records = replace(RECORD, machines=len(states)).each()
    raws = [state and SimpleNamespace(state=lambda s=state: s, isActive=lambda s=state: s[0] != 5) for state in states]
    return Deployed(Connection(), [Member(Connection(), raw, r) for raw, r in zip(raws, records) if raw])  # type: ignore[arg-type]


def event(kind: str, **data: object) -> Event:
    return Event(kind, {"event": kind, **data})


SERVE = [event("serving", app="redis@2", cluster=0), event("serving", app="redis@3", cluster=1)]


@pytest.mark.parametrize("states, word, running, serving", [
    ((RUNNING, RUNNING), "running", True, ["redis@2", "redis@3"]),
    ((RUNNING, CRASHED), "killed", False, ["redis@2"]),
    ((CRASHED, RUNNING), "killed", False, ["redis@3"]),
    ((CRASHED, CRASHED), "killed", False, []),
    ((RUNNING, DESTROYED), "stopped", False, ["redis@2"]),
    ((DESTROYED, CRASHED), "killed", False, []),
    ((RUNNING, None), "gone", False, ["redis@2"]),
    ((RUNNING, (3, 1)), "paused", True, ["redis@2", "redis@3"]),
    ((SHUTDOWN, SHUTDOWN), "off", False, []),
])  # fmt: skip
def test_state(monkeypatch: pytest.MonkeyPatch, states: Any, word: str, running: bool, serving: list[str]) -> None:
    """what one domain does is what the deployment does, and which instances still serve is known"""
    one = group(monkeypatch, *states, events=SERVE)
    state = one.state()
    assert (state.word, state.is_running, state.serving) == (word, running, serving)
    assert list(state.domains) == ["skerry-test-0", "skerry-test-1"]
    assert one.is_active() == (word in ("running", "paused"))


def test_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """machines that switch themselves off one after the other are done when the last is off"""
    events = [*SERVE, event("done", status=0)]
    assert group(monkeypatch, SHUTDOWN, RUNNING, events=events).state().word == "running"
    assert group(monkeypatch, SHUTDOWN, CRASHED, events=events).state().word == "done", "by isa-debug-exit"
    assert group(monkeypatch, SHUTDOWN, RUNNING, events=[event("done", status=1)]).state().word == "failed"


def test_words() -> None:
    """what a deployment was, in one piece and in parts"""
    assert was(State("killed", {"a": "killed", "b": "killed"})) == "had lost its emulator, which was killed or crashed,"
    assert was(State("killed", {"a": "running", "b": "killed"})) == "was not whole (b: killed)"


def test_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """a cluster's domain, or why there is none"""
    one = group(monkeypatch, RUNNING, RUNNING)
    assert [one.member(cluster).domain for cluster in (None, 0, 1)] == ["skerry-test-0", "skerry-test-0",
                                                                        "skerry-test-1"]
    with pytest.raises(InputError, match="--cluster: test has clusters 0 to 1, no 2"):
        one.member(2)
    with pytest.raises(Failure, match="skerry-test-1 is gone"):
        group(monkeypatch, RUNNING, None).member(1)
    alone = group(monkeypatch, RUNNING)
    assert alone.member(None).domain == "skerry-test"
    with pytest.raises(InputError, match="--cluster: test is one domain"):
        alone.member(1)


def test_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """what kernels count is read from each cluster's own domain"""
    asked: list[tuple[str, int, int]] = []
    boots = [event("boot", cluster=i, stat=0x1000 * (i + 1), cores=2, kernel="clh+stat", tsc_hz=1) for i in (0, 1)]
    one = group(monkeypatch, RUNNING, RUNNING, events=boots)
    for member in one.members:

        def peek(address: int, size: int, flags: int, domain: str = member.domain) -> bytes:
            asked.append((domain, address, size))
            return bytes(size)

        member.raw.memoryPeek = peek
    monkeypatch.setattr("deploy.domains.connection.explained", _as_it_is)
    read = live.of_domain(one).memory
    for boot in boots:
        assert len(read(boot["cluster"], boot["stat"], 2 * SIZE)) == 2 * SIZE
    assert {(domain, address) for domain, address, _ in asked} == {("skerry-test-0", 0x1000), ("skerry-test-1", 0x2000)}
