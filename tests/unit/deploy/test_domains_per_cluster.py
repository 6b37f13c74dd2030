# SPDX-License-Identifier: BSD-2-Clause
"""Deployments of several domains: what each has, and what is said of all of them together."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.domains import deployed
from deploy.domains.definition import QEMU, define
from deploy.domains.deploy import was
from deploy.domains.deployed import Deployed, State
from deploy.domains.machines import arrange, on_host
from deploy.domains.member import Member
from deploy.domains.record import Record, parse
from deploy.live.lockstat import live
from deploy.live.lockstat.record import SIZE
from deploy.machine.events import Event
from tests.unit.deploy.test_domains import FORWARDS, host, plan
from topology.errors import InputError
from topology.machines.machine import Shape, emulated
from topology.units import GIB, KIB

RECORD = Record("test", "1.0", "per-socket", "clh", 2, 4, "tcg", "skerry-test", forwards=FORWARDS, machines=2)
FOLDER = PurePosixPath("/images/skerry-test")


def domains(of: Record = RECORD, shape: Shape = Shape(2, 2, GIB), on: Any = None) -> list[ElementTree.Element]:
    machines = arrange(plan(emulated(shape)), on, per_cluster=True)
    return [ElementTree.fromstring(define(machines, one, FOLDER)) for one in of.each()]


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
    assert text(ElementTree.fromstring(define(alone, replace(RECORD, machines=1), FOLDER)), "vcpu") == "1"


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
