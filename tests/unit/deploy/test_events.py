# SPDX-License-Identifier: BSD-2-Clause
"""Events after the first cluster was started again: the others tell all once more."""

from __future__ import annotations

import json

import pytest

from deploy.machine.events import Event, EventStream, standing


def line(kind: str, **data: object) -> bytes:
    return json.dumps({"event": kind, **data}, separators=(",", ":")).encode() + b"\n"


BOOT = line("boot", cluster=1)
LOST = line("cluster-lost", cluster=1, why="its kernel panicked")
SERVING = line("serving", app="redis@3", cluster=1)
BOOT_AGAIN = line("boot", cluster=1, again=True)
SERVING_AGAIN = line("serving", app="redis@3", cluster=1, again=True)


def told(*lines: bytes) -> list[str]:
    """The kinds of events that a reader gets, as they arrive and all in one piece."""
    one, whole = EventStream(), EventStream()
    fresh = [event for each in lines for event in one.feed(each)]
    assert fresh == one.events == whole.feed(b"".join(lines)) == whole.events
    return [event.kind for event in fresh]


@pytest.mark.parametrize("known", [(BOOT, SERVING), (BOOT, LOST, BOOT, SERVING), (BOOT, SERVING, line("cluster-lost", cluster=0))])
def test_known(known: tuple[bytes, ...]) -> None:
    """what goes on as it was told is not told twice"""
    assert told(*known, BOOT_AGAIN, SERVING_AGAIN) == told(*known)


@pytest.mark.parametrize(
    ("before", "again"),
    [
        ((), (BOOT_AGAIN, SERVING_AGAIN)),  # into a new file
        ((BOOT, SERVING, LOST), (BOOT_AGAIN, SERVING_AGAIN)),  # started again with nobody to tell
        ((BOOT, SERVING, LOST, BOOT), (SERVING_AGAIN,)),
        ((BOOT, SERVING, line("fault", app="redis@3")), (SERVING_AGAIN,)),
        ((BOOT, SERVING, line("exit", app="redis@3", status=0)), (SERVING_AGAIN,)),
        ((BOOT, line("serving", app="redis@4", cluster=1)), (SERVING_AGAIN,)),
    ],
)
def test_news(before: tuple[bytes, ...], again: tuple[bytes, ...]) -> None:
    """what the first cluster's former life did not tell is told, once"""
    assert len(told(*before, *again)) == len(before) + len(again)
    assert told(*before, *again, *again) == told(*before, *again)


def test_back_without_a_word() -> None:
    """a cluster whose boot is told is not lost, though nobody has said that it was started again"""
    lost = Event("cluster-lost", {"event": "cluster-lost", "cluster": 1})
    other = Event("cluster-lost", {"event": "cluster-lost", "cluster": 2})
    boot = Event("boot", {"event": "boot", "cluster": 1})
    assert standing([lost, other, boot]) == [other, boot]
    assert standing([boot, lost]) == [boot, lost]
