# SPDX-License-Identifier: BSD-2-Clause
"""Tests what status and top say of clusters that were started again, and of what has moved."""

from typing import Any

import pytest

from deploy.live.top.sample import Sample
from deploy.live.top.view import plain
from deploy.machine import changes
from deploy.machine.events import Event
from topology.units import MIB


def event(kind: str, **data: Any) -> Event:
    return Event(kind, {"event": kind, **data})


def memory(cluster: int, what: str, pieces: int) -> Event:
    return event("memory-moved", cluster=cluster, what=what, pieces=pieces, to=0)


def joined(cpu: int, cluster: int) -> Event:
    return event("core", what="joined", cpu=cpu, cluster=cluster)


def test_nothing() -> None:
    """a machine as its map says it is"""
    refused = [event("core", what="busy", cpu=3, cluster=0), event("core", what="left", cpu=3, cluster=0),
               memory(0, "too-little", 5)]
    assert changes.words([]) == changes.words(refused) == []


def test_restarts() -> None:
    """how often, and why the last time; the reason may be that of a loss that is not over"""
    lost = [event("cluster-lost", cluster=1, why=why) for why in ("its kernel panicked", "core 3 hangs")]
    back = [event("cluster-restarted", cluster=1, restarts=n) for n in (1, 2)]
    assert changes.words([lost[0], back[0]]) == ["cluster 1 was started again, once; lost last: its kernel panicked"]
    assert changes.words([lost[0], back[0], lost[1],
                          back[1]]) == ["cluster 1 was started again, 2 times; lost last: core 3 hangs"]
    assert changes.words([back[1]]) == ["cluster 1 was started again, 2 times"]


def test_cores() -> None:
    """where each core is now, and how often it has moved, in the order of their numbers"""
    events = [joined(5, 0), joined(3, 0), joined(5, 1)]
    assert changes.moved_cores(events) == {3: (0, 1), 5: (1, 2)}
    assert changes.words(events) == ["core 3 is cluster 0's; it has moved once",
                                     "core 5 is cluster 1's; it has moved 2 times"]
    late = [*events, event("cluster-restarted", cluster=1, restarts=1), joined(5, 1)]
    assert changes.moved_cores(late) == {3: (0, 1), 5: (1, 2)}  # it was late when its cluster was started again


@pytest.mark.parametrize("back", ["taken", "returned", "adopted"])
def test_memory(back: str) -> None:
    """what is given is less, what is taken, taken back or adopted is more; there and back is nothing"""
    there = [memory(1, "given", 32), memory(0, "taken", 30)]
    assert changes.moved_memory(there) == {0: 60 * MIB, 1: -64 * MIB}
    assert changes.words(there) == ["cluster 0 has 60 MiB of memory more than at boot",
                                    "cluster 1 has 64 MiB of memory less than at boot"]
    assert changes.moved_memory([*there, memory(0, "given", 30), memory(1, back, 32)]) == {}


def test_top() -> None:
    """each in a line of its own, and nothing of theirs reaches a terminal as a control"""
    lines = plain("x", True, Sample(1.0, 1.0,
                                    changes=("core 5 is cluster 0's; it has moved once", "cluster 1: \x1b[2J")))
    assert "* core 5 is cluster 0's; it has moved once" in lines and "* cluster 1: ?[2J" in lines
