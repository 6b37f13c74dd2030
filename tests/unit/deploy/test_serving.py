# SPDX-License-Identifier: BSD-2-Clause
"""Tests what is reported to serve where: only what listens at the port that the deployment leads to."""

from types import SimpleNamespace
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.domains import deploy as domains
from deploy.domains.deployed import State
from deploy.machine import listeners as module
from deploy.machine.events import Event
from deploy.machine.listeners import Announcer, Listener, Service, serves_at, serving
from deploy.machine.qemu import INSIDE, Forward

WEB = Forward("web@3", "10.0.2.151", 8080, 41001)


def event(kind: str, app: str = "web@3", **data: object) -> Event:
    return Event(kind, {"event": kind, "app": app, "cluster": 1} | data)


def listens(*ports: int) -> list[Event]:
    first, *rest = [event("listening", port=port) for port in ports]
    return [event("started"), first, event("serving"), *rest]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock of its own; what is called lets seconds go by."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.now)
    return lambda seconds: setattr(clock, "now", clock.now + seconds)


def ports(*events: Event) -> dict[str, list[int]]:
    return {app: [listener.port for listener in one.at] for app, one in serving(events).items()}


def test_ports() -> None:
    """a program's ports are known until it ends, or its cluster is lost; one that says itself that it serves has
    none"""
    assert ports(*listens(8080, 443)) == {"web@3": [8080, 443]}
    assert ports(event("serving")) == {"web@3": []}
    assert ports(event("listening", port=80)) == {}
    assert ports(*listens(80), event("exit", status=0)) == {} == ports(*listens(80),
                                                                       Event("cluster-lost", {"cluster": 1}))
    assert ports(*listens(80), event("fault"), event("restart"), *listens(81)) == {"web@3": [81]}
    assert all(serves_at(Service(True, [Listener(port) for port in at]), 80) for at in ((), (81, 80)))
    assert not serves_at(Service(True, [Listener(81)]), 80) and not serves_at(Service(False, []),
                                                                              80) and not serves_at(None, 80)


def test_loopback(later: Any) -> None:
    """a listener on the program's own loopback interface serves nobody, and is named with its address; another one
    beside it serves"""
    inside = event("listening", port=8080, address="127.0.0.1")
    lines: list[str] = []
    announcer = Announcer([WEB], lines.append)
    announcer.look([inside])
    assert not announcer.complete and not announcer.is_settled()
    later(module.GRACE)
    announcer.say()
    why = (
        "web@3 listens at 127.0.0.1 port 8080, its own loopback interface, to which 127.0.0.1:41001 does not lead; let "
        "it listen at 0.0.0.0"
    )
    assert lines == [why] == announcer.wrong() and announcer.is_settled()
    announcer.look([inside, event("listening", port=8080, address="10.0.2.151"), event("serving")])
    announcer.say()
    assert lines[1:] == ["web@3 serves at 127.0.0.1:41001"] and announcer.complete
    assert serves_at(serving([inside, event("serving")])["web@3"], 8080), "it says itself that it serves"


def test_serves_and_ends_between_two_looks(later: Any) -> None:
    """a program that serves and ends before anybody looks has served"""
    announcer = Announcer([WEB], lambda line: None)
    announcer.look([*listens(8080), event("exit", status=0)])
    assert announcer.complete and not announcer.waiting()


def test_says_where(later: Any) -> None:
    """each port that is served is said once, also the second one of a program"""
    lines: list[str] = []
    announcer = Announcer([WEB, Forward("web@3", "10.0.2.151", 443, INSIDE)], lines.append)
    events = listens(8080)
    announcer.look(events)
    announcer.say()
    assert lines == ["web@3 serves at 127.0.0.1:41001"] and announcer.done == 1 and announcer.waiting() == {"web@3"}
    announcer.look([*events, event("listening", port=443)])
    announcer.say()
    assert lines[1:] == ["web@3 serves at 10.0.2.151:443, in the "
                         "machine only"] and announcer.complete and announcer.is_settled()


def test_listens_elsewhere(later: Any) -> None:
    """a program that listens at another port does not serve: a line names it and both ports, after a while"""
    lines: list[str] = []
    announcer = Announcer([WEB], lines.append)
    announcer.look([event("started")])
    later(60)
    assert not announcer.is_settled(), "it does not listen at all"
    announcer.look(listens(9090))
    announcer.say()
    assert lines == [] and not announcer.is_settled(), "the other port may follow"
    later(module.GRACE)
    announcer.say()
    announcer.say()
    assert lines == ["web@3 listens at port 9090, not at the deployment's port 8080, to which 127.0.0.1:41001 leads"]
    assert announcer.is_settled() and not announcer.complete and announcer.wrong() == lines
    announcer.look([*listens(9090), event("listening", port=8080)])
    announcer.say()
    assert lines[1:] == ["web@3 serves at 127.0.0.1:41001"] and announcer.complete


def wait(events: list[Event], word: str = "running") -> bool:
    deployed = SimpleNamespace(name="test", record=SimpleNamespace(forwards=[WEB]), events=lambda: events,
                               state=lambda: State(word))
    cluster = SimpleNamespace(number=1, cpus=[7], restart=False)
    app = SimpleNamespace(name="web@3", cpu=7, restart="never", ends_the_run=True, barrier=1)
    what = SimpleNamespace(application=lambda name: app,
                           cluster_map=SimpleNamespace(clusters=[cluster], applications=[app]))
    done = domains.Done(deployed, "created", "", None)  # type: ignore[arg-type]
    return domains.wait_ready(done, what, Patience(0.0, 0.0), lambda **what: None)  # type: ignore[arg-type]


def test_deploy_waits() -> None:
    """deploy is ready when each port is served; a program that listens elsewhere, or has ended, is named"""
    boot = event("boot")
    assert wait([boot, *listens(8080)]) and not wait([boot, *listens(8080)], "done")
    with pytest.raises(Failure, match="^web@3 listens at ports 9090, 9091, not at the deployment's port 8080, to which "
                       "127.0.0.1:41001 leads within"):
        wait([boot, *listens(9090, 9091)])
    with pytest.raises(Failure, match="^web@3 listens at 127.0.0.1 port 8080, its own loopback interface, to which "
                       "127.0.0.1:41001 does not lead; "):
        wait([boot, event("started"), event("listening", port=8080, address="127.0.0.1")])
    with pytest.raises(Failure, match="^web@3 not up within"):
        wait([boot, event("started")])
    with pytest.raises(Failure, match="^web@3 ended with status 3, before it served; it stays"):
        wait([boot, event("started"), event("exit", status=3)])
    with pytest.raises(Failure, match="^web@3 ended with status 0, before it served; it stays"):
        wait([boot, event("started"), event("exit", status=0)])
