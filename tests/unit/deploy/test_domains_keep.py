# SPDX-License-Identifier: BSD-2-Clause
"""Which domains of a deployment are started again while the others go on, when, and how often."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.domains.deployed import State
from deploy.domains.keep import History, Keeper
from deploy.machine.events import BUTTON, Event

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


class Host:
    """A deployment of three clusters whose domains a test moves."""

    def __init__(self, restart: bool = True) -> None:
        self.now, self.state, self.events = 0.0, state("running", "running", "running"), list[Event]()
        self.started: list[list[int]] = []
        self.said: list[str] = []
        self.fails = False
        clusters = [SimpleNamespace(number=n, restart=restart, restart_limit=2, restart_delay=500) for n in range(3)]
        self.wanted = SimpleNamespace(what=SimpleNamespace(cluster_map=SimpleNamespace(clusters=clusters)))
        self.record = SimpleNamespace(each=lambda: [SimpleNamespace(domain=name) for name in NAMES])

    def refresh(self) -> Any:
        return SimpleNamespace(events=lambda: self.events, state=lambda: self.state, record=self.record)

    def start_alone(self, numbers: list[int], _: State) -> None:
        if self.fails:
            raise Failure("no room")
        self.started.append(numbers)
        self.state.domains.update({NAMES[number]: "running" for number in numbers})


def keeper(host: Host) -> Keeper:
    return Keeper(host, host.said.append, lambda: host.now)  # type: ignore[arg-type]


def test_started_after_its_delay() -> None:
    """a domain that is lost is started after its delay, and nothing is said again while the others take back the loss"""
    host = Host()
    keep = keeper(host)
    assert keep.look() and not host.said
    host.state = state("running", "killed", "running")
    assert keep.look() and host.started == [] and "in 0.5 s" in host.said[0]
    host.now = 0.6
    assert keep.look() and host.started == [[1]]
    host.state.lost = {1}
    assert keep.look() and keep.look() and len(host.said) == 1
    host.events.append(Event("cluster-restarted", {"cluster": 1}))
    host.state.lost = set()
    assert keep.look()
    host.state.lost = {1}  # again, and it runs: its kernel is dead
    assert keep.look() and "was lost to the others" in host.said[1]
    host.now = 3.0
    assert keep.look() and host.started == [[1], [1]]


def test_limit_and_policy() -> None:
    """after too many restarts, and without a policy, it stays down, which is said once"""
    for host, starts in (Host(), 2), (Host(restart=False), 0):
        keep = keeper(host)
        for step in range(40):
            host.now = step / 2
            host.state = state("running", "running", "killed")
            assert keep.look()
        assert len(host.started) == starts and sum("stays down" in line for line in host.said) == 1


def test_cannot_start() -> None:
    """a domain that libvirt does not start counts as lost once more"""
    host = Host()
    host.fails = True
    keep = keeper(host)
    host.state = state("running", "killed", "running")
    for step in range(20):
        host.now = float(step)
        assert keep.look()
    assert host.said.count("no room") == 2 and host.said[-1].endswith("stays down: it was started again 2 times in 60 s")


def test_stopped_while_it_looks() -> None:
    """a domain that is seen down, while the first one was seen before its end by the same stop, is not started again"""
    host = Host()
    keep = keeper(host)
    host.events.append(Event("done", {"status": 0, "why": BUTTON}))  # the first has not switched off yet
    host.state = state("running", "stopped", "running")
    assert not keep.look() and not host.said

    host = Host()
    looks = [state("running", "stopped", "running"), state("stopped", "stopped", "stopped")]
    host.refresh = lambda: SimpleNamespace(events=lambda: [], state=lambda: looks.pop(0), record=host.record)  # type: ignore[method-assign]
    assert not keeper(host).look() and not host.said and not looks


@pytest.mark.parametrize("words", [("stopped", "running", "running"), ("killed",) * 3, ("done", "off", "off"), ("gone", "running", "stopped")])
def test_end(words: tuple[str, ...]) -> None:
    """watching ends with the deployment: stopped, over, removed, or nothing of it goes on"""
    host = Host()
    host.state = state(*words)
    assert not keeper(host).look() and not host.started
