# SPDX-License-Identifier: BSD-2-Clause
"""From which rate of kernel entries on another layout does more."""

from __future__ import annotations

import pytest

from deploy.compare import crossover
from deploy.compare.crossover import PAUSE_US, Curve, Point, Station, Turn
from deploy.emulator.entries import Entries
from deploy.results.result import Result

CLIENTS, CORES = 20, 12


def curve(layout: str, service: float, delay: float, stations: int = 1, entries: tuple[float, float] = (5.0, 15.0)) -> Curve:
    """What a station as the model has it would be measured to do."""
    station = Station(service, delay, CLIENTS // stations)

    def point(pause: float, each: float) -> Point:
        return Point(layout, pause, station.mean_us(pause), CLIENTS, each, CORES, stations)

    return Curve(point(0, entries[0]), point(PAUSE_US, entries[1]))


def turn(first: tuple[float, float], second: tuple[float, float]) -> Turn:
    return Turn(curve("per-socket", *first, stations=2), curve("spanning", *second))


def test_station() -> None:
    """the model goes through both measured points"""
    found = curve("spanning", 7.0, 40.0).station
    assert found and (found.service, found.delay) == (pytest.approx(7, rel=1e-6), pytest.approx(40, rel=1e-6))
    assert found.mean_us(0) == pytest.approx(20 * 7, rel=0.02)  # saturated: every client waits for all others
    assert found.mean_us(1e6) == pytest.approx(47, rel=0.01)  # alone


def test_neither() -> None:
    """a layout that wins at both measured rates: those two are named, and nothing is said of the rates in between"""
    found = turn((7.0, 40.0), (7.0, 42.0))
    assert (found.outcome, found.loser, found.pause_us, found.rate) == (crossover.NEITHER, "spanning", None, None)
    said, = crossover.sentences(found, {})
    assert said.startswith("per-socket is not slower at either of the two rates that were measured") and "of this was not measured" in said
    assert "no rate" not in said and f"{found.first.busy.rate:,.0f} kernel entries a second" in said
    said, = crossover.sentences(found, {0.5: found, 2.0: found})
    assert said.endswith("the same holds when lines that move between cores cost half or double.")
    assert f"and {found.first.calm.rate:,.0f}, where clients pause for 10 ms" in said and f"{found.second.calm.mean_us:,.1f} µs under spanning" in said


def test_turn() -> None:
    """a layout that waits less, but needs more without waiting, loses where little is waited for: both do as many operations at the rate that is named"""
    found = turn((7.0, 60.0), (7.0, 40.0))
    assert (found.outcome, found.busy_winner, found.calm_winner, found.loser) == (crossover.AT, "per-socket", "spanning", "spanning")
    assert found.pause_us and found.rate
    assert found.first.at(found.pause_us).ops_per_s == pytest.approx(found.second.at(found.pause_us).ops_per_s)
    assert found.first.calm.rate < found.rate < found.first.busy.rate
    assert 5 < found.first.at(found.pause_us).entries_per_op < 15
    assert found.first.at(0).entries_per_op == pytest.approx(5) and found.first.at(PAUSE_US).entries_per_op == pytest.approx(15)
    dearer = turn((7.0, 70.0), (7.0, 40.0))
    assert dearer.rate and dearer.rate > found.rate
    said, checked = crossover.sentences(found, {0.5: found, 2.0: dearer}, (80.0, 81.0))
    assert f"spanning wins below {found.rate:,.0f} kernel entries a second" in said
    assert said.endswith(f"; {found.rate:,.0f} to {dearer.rate:,.0f} when lines that move between cores cost half and double.")
    assert "80.0 µs" in checked and "81.0 under spanning" in checked
    data = crossover.to_json(found, {0.5: found, 2.0: dearer}, (80.0, 81.0))
    assert data["range"] == [found.rate, dearer.rate] and data["verified_mean_us"] == {"per-socket": 80.0, "spanning": 81.0}
    assert [point["pause_us"] for point in data["points"]["spanning"]] == [0, PAUSE_US]


def test_range_that_disagrees() -> None:
    """line costs at which another layout wins, or none, are named one by one"""
    said, = crossover.sentences(turn((7.0, 60.0), (7.0, 40.0)), {0.5: turn((7.0, 40.0), (7.0, 42.0)), 2.0: turn((7.0, 60.0), (7.0, 40.0))})
    assert "at line costs x 0.5, spanning wins at neither measured rate; at line costs x 2, spanning wins below" in said


def test_no_queue() -> None:
    """an operation that takes no longer without pauses is no queue: the rate is somewhere in between, and no figure is made up"""
    quick = Curve(Point("per-socket", 0, 40, CLIENTS, 5, CORES, 2), Point("per-socket", PAUSE_US, 50, CLIENTS, 9, CORES, 2))
    found = Turn(quick, curve("spanning", 7.0, 40.0))
    assert (found.outcome, found.rate) == (crossover.BETWEEN, None)
    said, = crossover.sentences(found, {})
    assert "between" in said and "the model does not say where" in said
    assert "kernel_entries_per_s_per_core" not in crossover.to_json(found, {}, None)


def test_point_of_a_result() -> None:
    """without a pause an operation takes what the operations per second come to; with one, what the clients measured"""
    apps = [{"program": name} for name in ("switch", "switch", "redis-server", "ycsb", "ycsb")]
    metrics = {"ops_per_s": 10_000.0, "mean_us": 150.0}
    result = Result("per-socket", "clh", "c", 2, 4, True, metrics, [], machine={"applications": apps})
    result.observed = Entries(operations=100, entries=700, acquisitions=700, conflicts=70, wait=7000, hold=70_000, moves=1400)
    busy, calm = crossover.point(result, 0), crossover.point(result, PAUSE_US)
    assert (busy.mean_us, calm.mean_us, busy.clients, busy.stations, busy.entries_per_op) == (200.0, 150.0, 2, 2, 7.0)
    assert busy.rate == pytest.approx(10_000 * 7 / 4)
    assert result.observed.to_json() == {
        "kernel_entries_per_op": 7.0, "line_moves_per_entry": 2.0, "lock_conflict_ratio": 0.1, "lock_mean_wait_cycles": 10.0,
        "lock_mean_hold_cycles": 100.0,
    }
    assert Turn.of(result, result) is None
