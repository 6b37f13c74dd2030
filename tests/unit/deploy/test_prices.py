# SPDX-License-Identifier: BSD-2-Clause
"""The interval of a ratio over uncertain prices, and which price moves it most."""

from dataclasses import replace
from itertools import combinations
from math import exp, log, sqrt

import pytest

from deploy.compare import prices
from deploy.compare.closed import Model, Side
from deploy.compare.prices import GROUPS, Study, Surface, design, groups, hypercube, own_positions, repriced
from deploy.emulator.machine_file import ASSUMED, FITTED, Price, load, names, price_names

XEON = load("xeon-e5-2683v3")
# Effects on the logarithm of the ratio, as measured on one image of 27 November 2026 (middle: a ratio of 1.328).
EFFECTS = {"cpi_user": -0.196, "tlb_walk": -0.057, "upgrade": 0.028, "other": -0.026, "overlap": 0.019,
           "cpi_kernel": 0.017, "cr3": 0.017, "transfer": 0.011, "store": -0.006, "entry": 0.003}


def study(bend: float = 0.0) -> Study:
    """A study whose ratios are those of EFFECTS; `bend`: what the square of tlb_walk's position adds."""
    surface = Surface(log(1.328), EFFECTS, 0.0)

    def ratio(positions: prices.Positions) -> float:
        return exp(surface.at(positions) + bend * positions["tlb_walk"] ** 2)

    known, own = groups(XEON), {"ops_per_s": ratio(own_positions(XEON))}
    return Study(XEON, [{"ops_per_s": ratio(one)} for one in design(known)], own, own)


def test_groups() -> None:
    """every price is of one group, no machine has more groups than the design has columns, and what is assumed or
    fitted has an interval"""
    assert sorted(name for names_of in GROUPS.values() for name in names_of) == sorted(price_names())
    for name in names():
        machine = load(name)
        assert len(groups(machine)) < prices.RUNS
        assert all(price.low is not None for price in machine.prices.values() if price.source in (ASSUMED, FITTED))
    assert set(groups(XEON)) == set(EFFECTS)


def test_design() -> None:
    """the design has each level of a group six times, and each pair of levels of two groups three times"""
    runs = design(list(GROUPS))
    assert len(runs) == prices.RUNS
    for a, b in combinations(GROUPS, 2):
        levels = sorted((run[a] / prices.LEVEL, run[b] / prices.LEVEL) for run in runs)
        assert levels == sorted(3 * [(-1, -1), (-1, 1), (1, -1), (1, 1)])


def test_repriced() -> None:
    """a group's prices move together, between low and high in equal factors; others and the machine stay"""
    low, middle, high = (repriced(XEON, {"cpi_user": at, "overlap": at}).prices for at in (-1, 0, 1))
    assert [of["cpi_user"].cycles for of in (low, middle, high)] == pytest.approx([0.25, sqrt(0.25 * 1.5), 1.5])
    assert [of["overlap_machine"].cycles for of in (low, middle, high)] == [0, 60, 120]
    assert {name for name in high if high[name] != XEON.prices[name]} == {"cpi_user", "overlap_cluster",
        "overlap_machine"}
    assert repriced(XEON, own_positions(XEON)).prices["tlb_walk"].cycles == pytest.approx(25)
    assert own_positions(XEON)["overlap"] == -1 and own_positions(XEON)["tlb_walk"] == pytest.approx(0)
    assert Price(3, "a book").at(1) == 3 and Price(3, "a book", 3, 3, "r").position is None


def test_effects() -> None:
    """the design finds what each group does to a ratio that is log-linear, without a residual"""
    surface = study().surfaces["ops_per_s"]
    assert surface.effects == pytest.approx(EFFECTS) and exp(surface.middle) == pytest.approx(1.328)
    assert surface.residual == pytest.approx(0, abs=1e-9)


def test_interval() -> None:
    """95 in 100 of price sets drawn afresh have their ratio inside the interval; a bend makes it wider"""
    known = study()
    interval, surface = known.intervals["ops_per_s"], known.surfaces["ops_per_s"]
    ratios = [exp(surface.at(one)) for one in hypercube(known.groups, 1000, 7)]
    assert sum(interval.low <= ratio <= interval.high for ratio in ratios) == pytest.approx(950, abs=15)
    assert (interval.low, interval.high) == pytest.approx((1.073, 1.646), abs=0.01)
    bent = study(0.1)
    wider = bent.intervals["ops_per_s"]
    assert bent.surfaces["ops_per_s"].residual > 0.01 and wider.high / wider.low > interval.high / interval.low


def test_median_image() -> None:
    """the interval is around the median image's ratio, not around that of the image on which the design ran"""
    known = study()
    moved = replace(known, median={"ops_per_s": 1.1 * known.own["ops_per_s"]})
    assert moved.intervals["ops_per_s"].low == pytest.approx(1.1 * known.intervals["ops_per_s"].low)
    assert [bar.low for bar in moved.tornado("ops_per_s")] == pytest.approx(
        [bar.low for bar in known.tornado("ops_per_s")])


def queues(positions: prices.Positions) -> Model:
    """Two layouts at these prices: what a program and the kernel do between entries, and lines that move."""
    moved = {name: price.cycles for name, price in repriced(XEON, positions).prices.items()}
    user = 9000 + 14_000 * moved["cpi_user"] + 60 * moved["tlb_walk"]
    hold = 250 + 90 * moved["cpi_kernel"] + 0.6 * moved["cr3"]
    return Model(Side("per-socket", (13, 13), 2.17, user, hold, 60 + moved["upgrade_cluster"]),
                 Side("spanning", (26,), 2.17, user, hold, 80 + moved["upgrade_machine"]), 2, 2e9)


def test_queues() -> None:
    """times that are sums of prices are fitted without an error, also in the corners and though the ratio bends; what a
    model lacks, the line adds; no price set has a ratio below 1, which the line alone would have"""
    known, own = groups(XEON), {"ops_per_s": 1.02 * queues(own_positions(XEON)).ratio}
    runs = [queues(one) for one in design(known)]
    line = Study(XEON, [{"ops_per_s": 1.02 * one.ratio} for one in runs], own, own)
    fitted = replace(line, models=runs)
    surface = fitted.surfaces["ops_per_s"]
    corners = [dict.fromkeys(known, 0.0) | {"cpi_user": a, "tlb_walk": b} for a in (-1, 1) for b in (-1, 1)]
    for positions in (*hypercube(known, 20, 3), *corners):
        assert exp(surface.at(positions)) == pytest.approx(1.02 * queues(positions).ratio, rel=1e-6)
    assert surface.residual == pytest.approx(0, abs=1e-6)
    assert line.surfaces["ops_per_s"].residual > 0.01
    assert line.intervals["ops_per_s"].low < 1.0 < 1.02 <= fitted.intervals["ops_per_s"].low
    bar = fitted.tornado("ops_per_s")[0]
    middle = dict.fromkeys(known, 0.0)
    assert bar.group == "cpi_user"
    assert bar.high == pytest.approx(queues(middle | {"cpi_user": 1}).ratio / queues(middle).ratio)


def test_hypercube() -> None:
    """each tenth of each group's interval is drawn once, and a seed draws the same again"""
    drawn = hypercube(groups(XEON), 10, 1)
    for group in groups(XEON):
        assert sorted(int(5 * (one[group] + 1)) for one in drawn) == list(range(10))
    assert drawn == hypercube(groups(XEON), 10, 1) != hypercube(groups(XEON), 10, 2)


def test_tornado() -> None:
    """the price that moves the ratio most is named first, with its ends in cycles"""
    known = study()
    assert [bar.group for bar in known.tornado("ops_per_s")][:3] == ["cpi_user", "tlb_walk", "upgrade"]
    assert known.sentence("ops_per_s") == (
        "The ratio depends most on the prices cpi_user from 0.25 to 1.5 cycles (x 1.22 to x 0.82), tlb_walk from 12.5 "
        "to 50 cycles (x 1.06 to x 0.94), upgrade (x 0.97 to x 1.03); each of the other 7 groups of prices moves it by "
        "2.6% at most.")
    data = known.to_json("ops_per_s")
    assert [entry["group"] for entry in data["tornado"]] == [bar.group for bar in known.tornado("ops_per_s")]
    assert data["ops_per_s"] == {"low": known.intervals["ops_per_s"].low, "high": known.intervals["ops_per_s"].high}
    assert data["tornado"][0]["prices"] == {"cpi_user": [0.25, 1.5]} and len(data["runs"]) == prices.RUNS
