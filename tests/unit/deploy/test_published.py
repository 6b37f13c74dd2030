# SPDX-License-Identifier: BSD-2-Clause
"""Tests the comparison of what is measured with what the papers publish."""

from __future__ import annotations

import pytest
from rich.table import Table

from deploy.bench.ipc.measure import ONE_WAY, OPERATIONS, Measured, Spread
from deploy.bench.ipc.present import published_table
from deploy.bench.mach.measure import ClassRanges, Run, Work, class_ranges_of
from deploy.bench.mach.present import over_cores, reads, simple_locks
from deploy.live.lockstat.record import CLASSES, LOCK, LOCK_WORDS, WORDS, Record
from deploy.live.lockstat.snapshot import Snapshot
from topology.model import papers, published


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
