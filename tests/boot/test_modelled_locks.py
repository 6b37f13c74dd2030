# SPDX-License-Identifier: BSD-2-Clause
"""Lock statistics of the modelled machine, beside those of kernels that count for themselves."""

from __future__ import annotations

from functools import cache

import pytest

from deploy.base.timeouts import Patience
from deploy.bench.lines.measure import Lines, measure_lines
from deploy.bench.scale.measure import Request
from deploy.emulator.machine_file import load
from tests.boot.machine import PATIENCE
from tests.boot.test_modelled import needs_new, points

XEON = load("xeon-e5-2683v3")


@cache
def watched(lock: str, cores: int, statistics: bool = False) -> Lines:
    request = Request(lock, [cores], [500.0], 256, statistics=statistics, modelled=XEON)
    found, = measure_lines(request, Patience(PATIENCE))
    return found


@needs_new
@pytest.mark.limit(300)
def test_unreported() -> None:
    """lock statistics, modelled: a point is the same to the digit where accesses of XSAVE are reported one by one, and made by the plugin"""
    assert points("clh", [4], 500.0, rounds=256) == [watched("clh", 4).point]


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("lock", ["clh", "mcs", "ticket"])
def test_beside_counting(lock: str) -> None:
    """lock statistics, modelled: acquisitions are what a counting kernel counts, conflicts but for waits without a turn; counting prolongs the hold"""
    counting, plain = watched(lock, 4, statistics=True), watched(lock, 4)
    big, = counting.locks
    # The program reads the kernel's counters of each core a little before and after the marks.
    assert big.acquisitions == pytest.approx(counting.point.total("acquisitions"), abs=12)
    counted = counting.point.total("conflicts")  # those that took a turn of the waiting loop
    assert counted - 12 <= big.conflicts <= 1.05 * counted + 12
    bare, = plain.locks
    assert bare.name == "kernel"
    assert bare.acquisitions == pytest.approx(plain.point.entries, rel=0.03)
    assert bare.hold / bare.acquisitions < big.hold / big.acquisitions
    assert bare.handovers <= bare.acquisitions and bare.conflicts > 0.2 * bare.acquisitions


@needs_new
@pytest.mark.limit(300)
def test_hold() -> None:
    """lock statistics, modelled: how long one core holds the lock, by kind of entry"""
    lock, = watched("clh", 1).locks
    assert lock.hold / lock.acquisitions == pytest.approx(180, rel=0.03)
    assert lock.conflicts == lock.handovers == lock.lock_moves == 0
    kinds = {kind.name: kind for kind in watched("clh", 1).kinds}
    assert {"CALL", "REPLY_RECV"} <= kinds.keys()
    assert kinds["CALL"].hold / kinds["CALL"].acquisitions == pytest.approx(161, rel=0.03)
    assert kinds["CALL"].entries == pytest.approx(kinds["REPLY_RECV"].entries, abs=2)
    assert sum(kind.acquisitions for kind in kinds.values()) == lock.acquisitions


@needs_new
@pytest.mark.limit(300)
def test_fine() -> None:
    """lock statistics, modelled: an entry under fine takes five locks, its core's side among them, and meets nobody"""
    found = watched("fine", 4)
    call = next(kind for kind in found.kinds if kind.name == "CALL")
    assert call.acquisitions == pytest.approx(5 * call.entries, abs=20)  # some have begun before the mark
    assert call.conflicts == 0
    sides = [lock for lock in found.locks if "struct cpu" in lock.name]
    assert len(sides) >= 4
