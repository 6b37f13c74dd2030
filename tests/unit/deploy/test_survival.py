# SPDX-License-Identifier: BSD-2-Clause
"""What clients tell that survive the loss of their server, as sentences, time lines and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.machine.events import Event, EventStream
from deploy.results import survival

SLOT = 10_000_000


def events(*data: dict[str, Any], app: str = "ycsb@1") -> EventStream:
    stream = EventStream()
    stream.events = [Event("result", {"event": "result", "app": app, "data": one}) for one in data]
    return stream


def told(**changes: Any) -> dict[str, Any]:
    survived = {"event": "survival", "gaps": 1, "longest_ns": 3 * SLOT, "reads": 2, "updates": 3, "lives": 2, "forgotten": 7}
    return survived | {"start_ns": 1000, "slot_ns": SLOT, "timeline_parts": 2} | changes


GAP = {"event": "gap", "start_ns": 1000 + 2 * SLOT, "end_ns": 1000 + 5 * SLOT}
PARTS = ({"event": "timeline", "part": 2, "counts": [0, 4]}, {"event": "timeline", "part": 1, "counts": [4, 4, 0, 0]})
SUMMARY = {"event": "ycsb", "server": "10.0.2.9:6379"}


def test_collect() -> None:
    """parts come in any order; clients without the option are left out"""
    (one,) = survival.collect(events(GAP, *PARTS, told(), SUMMARY))
    assert one.counts == (4, 4, 0, 0, 0, 4) and one.gaps == ((1000 + 2 * SLOT, 1000 + 5 * SLOT),)
    assert str(one) == (
        "ycsb@1: 10.0.2.9:6379 was lost once, for 0.030 s at most, started again; without an answer: 2 reads, 3 updates; "
        "7 reads found records that it had lost"
    )
    assert survival.collect(events(SUMMARY)) == []
    (calm,) = survival.collect(events(*PARTS, told(gaps=0, lives=1), SUMMARY))
    assert str(calm) == "ycsb@1: 10.0.2.9:6379 was never lost"
    (often,) = survival.collect(events(GAP, GAP, *PARTS, told(gaps=2, lives=1, forgotten=0), SUMMARY))
    assert "lost 2 times" in str(often) and "started" not in str(often) and str(often).endswith("3 updates")


def test_missing_parts() -> None:
    """what did not arrive is no shorter time line"""
    with pytest.raises(Failure, match="of 2 parts of its time line 1 arrived"):
        survival.collect(events(GAP, PARTS[0], told()))
    with pytest.raises(Failure, match="of 1 gaps 0 arrived"):
        survival.collect(events(*PARTS, told()))


def test_line() -> None:
    """a gap is as many spaces as its part of the time"""
    (one,) = survival.collect(events(GAP, *PARTS, told(), SUMMARY))
    text = survival.line(one, one.start_ns, one.end_ns)
    assert text == "█" * 20 + " " * 30 + "█" * 10
    assert survival.line(one, one.start_ns - 6 * SLOT, one.end_ns) == " " * 30 + "█" * 10 + " " * 15 + "█" * 5
    assert survival.lines([]) == []
    assert survival.lines([one])[1] == f"|{text}|"


def test_few_answers() -> None:
    """a part with an answer is never a space"""
    counts = {"event": "timeline", "part": 1, "counts": [1000, 1] + [0] * 58}
    (one,) = survival.collect(events(counts, told(gaps=0, timeline_parts=1), SUMMARY))
    assert survival.line(one, one.start_ns, one.end_ns) == "█▁" + " " * 58


def test_plot(tmp_path: Path) -> None:
    """a panel for each client, whatever the kind of file"""
    (one,) = survival.collect(events(GAP, *PARTS, told(), SUMMARY))
    for name in ("a.png", "a.svg"):
        survival.plot([one, one], tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    assert "0.03 s" in (tmp_path / "a.svg").read_text()
