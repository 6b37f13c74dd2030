# SPDX-License-Identifier: BSD-2-Clause
"""Published figures beside what is measured, and the interval of a ratio over uncertain prices."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import exp, log, sqrt

import pytest
from rich.table import Table

from deploy.bench.ipc.measure import ONE_WAY, OPERATIONS, Measured, Spread
from deploy.bench.ipc.present import published_table
from deploy.bench.mach.measure import ClassRanges, Run, Work, class_ranges_of
from deploy.bench.mach.present import over_cores, reads, simple_locks
from deploy.compare import prices
from deploy.compare.closed import Model, Side
from deploy.compare.prices import (
    GROUPS,
    Study,
    Surface,
    design,
    groups,
    hypercube,
    own_positions,
    repriced,
)
from deploy.emulator.machine_file import ASSUMED, FITTED, Price, load, names, price_names
from deploy.live.lockstat.record import CLASSES, LOCK, LOCK_WORDS, WORDS, Record
from deploy.live.lockstat.snapshot import Snapshot
from topology.model import papers, published

# ---- The interval of a ratio over uncertain prices, and which price moves it most. ----


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


# ---- Tests the comparison of what is measured with what the papers publish. ----


def cells(table: Table) -> list[list[str]]:
    """Row by row."""
    return [list(row) for row in zip(*(list(column.cells) for column in table.columns), strict=True)]  # type: ignore[arg-type]


def test_sources() -> None:
    """papers: each published number says where it stands"""
    known = (papers.ELPHINSTONE, papers.PETERS, papers.BOYD_WICKIZER, papers.UEMURA, papers.UHLIG)
    for value in vars(papers).values():
        for one in value.values() if isinstance(value, dict) else (value,):
            if isinstance(one, (papers.Published, papers.Between)):
                assert one.source.startswith(known) and any(c.isdigit() for c in one.source), one
    assert (published.SERVICE, published.BOUNDS, published.LINE_OTHER_SOCKET) == (358, (323, 613), 218)


def measured(lock: str, one_way: float) -> Measured:
    spread = dict.fromkeys((*OPERATIONS, ONE_WAY), Spread(one_way, one_way, one_way))
    return Measured(lock, "cycles", True, 10, spread)


def test_ipc() -> None:
    """bench ipc: one-way IPC over none stands beside both papers' ratios, with ours over theirs"""
    table = published_table([measured("none", 400), measured("clh", 440), measured("mcs", 500), measured("fine", 600)])
    assert table is not None
    assert cells(table) == [
        ["clh", "1.100", "1.03", "1.068", "1.10", "1.000"],
        ["fine", "1.500", "1.20", "1.250", "1.30", "1.154"],
    ]
    assert "Figure 3a" in str(table.caption) and "Figure 1" in str(table.caption)
    assert published_table([measured("none", 400), measured("mcs", 500)]) is None
    nothing = published_table([measured("none", 0), measured("clh", 440)])
    assert nothing is not None and cells(nothing)[0][1] == "-"


def run(lock: str, cores: int, counts: dict[str, tuple[int, int]], program: str = "messages",
        factor: float = 1.0) -> Run:
    """`counts`: acquisitions and conflicts of each class of locks."""
    words = [0] * WORDS
    for name, (acquisitions, conflicts) in counts.items():
        at = LOCK + CLASSES.index(name) * LOCK_WORDS
        words[at : at + 3] = [1, acquisitions, conflicts]
    record = Record.from_words(words)
    work = Work(program, 4, (4, 100))
    return Run(lock, cores, work, 1, 400, 1000, "modelled", Snapshot(0, lock, 1e9, (), record), [], True,
               line_factor=factor)


FINE = {"run_queue": (1000, 134), "tcb": (1000, 0), "notification": (10, 1), "endpoint": (1990, 151)}


def test_mach_tables() -> None:
    """bench mach: Table 1's classes stand beside the nearest ones of Mach, and one lock beside the total of all of
    them"""
    rows = cells(simple_locks([run("clh", 4, {"kernel": (1000, 143)}), run("fine", 4, FINE)]))
    beside = {(row[0], row[1]): row[-2:] for row in rows}
    assert beside["clh", "kernel (big lock)"] == ["0.0143", "10"]
    assert beside["fine", "run queue"] == ["0.0672", "1.99"]
    assert beside["fine", "TCB"] == ["0.0004", "0"]
    assert beside["fine", "notification"] == ["", ""]
    assert beside["fine", "total"] == ["0.0143", "5"]
    (row,) = cells(simple_locks([run("clh", 4, {"kernel": (1000, 11)}, "memory")]))
    assert row[-2:] == ["0.0055", "2.01"]


def test_mach_ranges() -> None:
    """bench mach: conflicts have ranges under half and double line costs, in each class"""
    runs = [run("fine", 4, FINE | {"endpoint": (1990, grown)}, factor=factor)
            for factor, grown in ((1.0, 151), (0.5, 51), (2.0, 351))]
    classes: ClassRanges = class_ranges_of(runs)
    assert classes["fine", "messages", 4, "endpoint"] == pytest.approx((51 / 1990, 351 / 1990))
    rows = {row[1]: row for row in cells(simple_locks(runs[:1], classes))}
    assert rows["endpoint"][5] == "0.076 [0.026..0.176]" and rows["total"][5] == "0.071 [0.046..0.121]"
    assert class_ranges_of(runs[:1]) == {}


def test_mach_figure_3() -> None:
    """bench mach: Figure 3 says what the study has on four processors, and that it has no other points"""
    runs = [run("clh", n, {"kernel": (1000, 143 * n // 4)}) for n in (2, 4)]
    table = over_cores(runs)
    assert [str(column.header) for column in table.columns][1:] == ["2", "4", "ours/paper, 4"]
    ours, paper = cells(table)
    assert ours[1:] == ["0.071", "0.143", "10"] and paper[1:] == ["", "0.014", ""]
    assert len(over_cores(runs[:1]).columns) == 2


def test_mach_reads() -> None:
    """bench mach: acquisitions to read for each one to write stand beside the study's 3 to 4"""
    table = reads([run("clh", 4, {"kernel": (10, 0)}), run("fine", 4, {"read": (600, 0), "write": (50, 0)})])
    assert table is not None and cells(table) == [["fine", "messages", "12.0", "3 to 4", "3.0 to 4.0"]]
    assert reads([run("clh", 4, {"kernel": (10, 0)})]) is None
