# SPDX-License-Identifier: BSD-2-Clause
"""Figure 8 of `skerry bench dynamic` without a machine: calls out of moments, what must hold over the cores, and the
paper beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from rich.console import Console

from deploy.base.errors import Failure
from deploy.bench.dynamic import unmap
from deploy.bench.dynamic.present import unmap_tables
from deploy.bench.dynamic.unmap import DOMAIN, EACH, GUARDS, ONE, Calls, Guard, Unmap, one_core, sentences, trends
from deploy.bench.paper import page as reading
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import PAPERS, load
from deploy.machine.events import Event

XEON = load(PAPERS)
FACTORS = (1.0, 0.5, 2.0)


def text_of(tables: Any) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        for table in tables:
            console.print(table)
    return " ".join(capture.get().split())


# ---- calls ----


def mark(number: int, clock: int, kernel: int = 0) -> Mark:
    return Mark(number, clock, 0, [clock], [kernel])


def event(cores: int, pages: int, rounds: int, warm_up: int = 1) -> Event:
    return Event("unmap", {"cores": cores, "pages": pages, "warm_up": warm_up, "rounds": rounds})


def moments(*lengths: int) -> list[Mark]:
    return [moment for i, length in enumerate(lengths)
            for moment in (mark(1, 1000 * i, 100 * i), mark(2, 1000 * i + length, 100 * i + length // 10))]


def test_calls() -> None:
    """unmap: a mapping takes its share of all calls but those that warm up, in cycles or in the kernel's
    instructions"""
    seen = moments(900, 100, 300, 900, 400, 800)
    wanted, events = [(1, 1), (2, 4)], [event(1, 1, 2), event(2, 4, 2)]
    one, four = unmap.calls(wanted, 2, 1.0, events, seen, counted=False)
    assert (one.took, one.mapping, one.extent) == ((100, 300), 200, (100, 300))
    assert (four.cores, four.pages, four.took, four.mapping, four.extent) == (2, 4, (400, 800), 150, (100, 200))
    assert [calls.took for calls in unmap.calls(wanted, 2, 1.0, events, seen, counted=True)] == [(10, 30), (40, 80)]


BAD_MOMENTS = {
    "a call is missing": moments(100),
    "a call too many": moments(100, 100, 100),
    "no end": [*moments(100), mark(1, 5000)],
    "no begin": [mark(2, 1), *moments(100, 100)[1:]],
    "two begins": [mark(1, 0), mark(1, 10), mark(2, 20), mark(2, 30)],
    "a clock that stands still": moments(100, 0),
    "a clock that runs backwards": moments(100, -5),
    "nothing": [],
}


@pytest.mark.parametrize("what", BAD_MOMENTS)
def test_moments_that_do_not_match(what: str) -> None:
    """unmap: moments that are not those of the calls are refused, not averaged"""
    with pytest.raises(Failure, match="unmap"):
        unmap.calls([(1, 1)], 1, 1.0, [event(1, 1, 1)], BAD_MOMENTS[what], counted=False)


@pytest.mark.parametrize("events", [[], [event(1, 1, 2)], [event(2, 1, 1)], [event(1, 2, 1)],
                                    [event(1, 1, 1), event(1, 1, 1)]])
def test_events_that_do_not_match(events: list[Event]) -> None:
    """unmap: so are results of other sizes"""
    with pytest.raises(Failure, match="requested"):
        unmap.calls([(1, 1)], 1, 1.0, events, moments(100, 100), counted=False)


# ---- series ----


def rows(series: Guard, cycles: Callable[[int, int], float], factors: Sequence[float] = FACTORS,
         cores: Sequence[int] = (1, 2, 4)) -> list[Unmap]:
    made = [
        Calls(n, pages, factor, (round(pages * (cycles(n, pages) * factor - 1)),
                                 round(pages * (cycles(n, pages) * factor + 1))))
        for factor in factors for n in cores for pages in (1, 128, 256)
    ]  # fmt: skip
    return unmap.rows_of(series, XEON, made)


FINE = rows(EACH, lambda n, pages: 1000 + n)
COARSE = rows(ONE, lambda n, pages: 800 * n)
COUNTED = [
    row for series, each in ((EACH, 372), (ONE, 300))
    for row in unmap.rows_of(series, None, [Calls(1, pages, 1.0, (each * pages,)) for pages in (1, 128, 256)])
]  # fmt: skip
UNMAPS = [*FINE, *COARSE, *COUNTED]


def test_series() -> None:
    """unmap: a series is a row; the paper's two parts are a lock for each mapping, and the kernel's one lock"""
    assert len({one.name for one in GUARDS}) == len(GUARDS) and [one.part for one in GUARDS if one.part] == ["a", "b"]
    assert {one.guard for one in GUARDS} == {unmap.GUARD_KERNEL, unmap.GUARD_DOMAIN, unmap.GUARD_MAPPING}
    assert (EACH.guard, EACH.granularity) == (unmap.GUARD_MAPPING, "fine")
    assert (ONE.guard, ONE.granularity) == (unmap.GUARD_KERNEL, "coarse")


def test_rows() -> None:
    """unmap: plain line costs with the range of the others; results say what guards the frames"""
    (row,) = [row for row in FINE if (row.calls.cores, row.calls.pages) == (2, 128)]
    assert (row.calls.mapping, row.range) == (1002, (501, 2004))
    entry = row.to_json()
    assert (entry["lock"], entry["kernel"], entry["granularity"], entry["guard"], entry["part"]) == ("each mapping",
        "dynamic", "fine", "mapping", "a")
    assert entry["metrics"] == {"pages": 128, "mapping_cycles": 1002,
                                "rounds": 2} and entry["range"] == {"mapping_cycles": [501, 2004]}
    assert entry["min_max"] == {"mapping_cycles": [1001, 1003]} and entry["modelled"]["machine"] and entry["emulated"]
    counted = COUNTED[0].to_json()
    assert counted["metrics"]["mapping_kernel_instructions"] == 372 and not {"modelled", "range"} & set(counted)


def test_trends() -> None:
    """unmap: (a) is to be flat and (b) straight, and whether they are is said"""
    found = {(trend.series.part, trend.pages): trend for trend in trends(UNMAPS)}
    assert found["a", 1].rise == pytest.approx(3 / 1001) and found["b", 1].rise == 3
    assert found["b", 256].per_core == pytest.approx(800) and found["b", 256].r_squared == pytest.approx(1)
    assert found["b", 1].to_json()["metrics"] == {"pages": 1, "rise_ratio": 3, "cycles_per_core": pytest.approx(800),
                                                  "r_squared": pytest.approx(1)}
    said = list(sentences([*FINE, *COARSE]))
    assert (
        "(a) is flat, to 10% at most: holds" in said[0] and "0.3% at most" in said[0] and "(b) is linear" in said[1]
        and "0.95: holds" in said[1]
    )


@pytest.mark.parametrize(("planted", "culprit"), [
    (rows(EACH, lambda n, pages: 1000 + 50 * n), "(a) is flat, to 10% at most: does not hold"),
    (rows(EACH, lambda n, pages: 1000 - 60 * n), "(a) is flat, to 10% at most: does not hold"),  # nor may it fall
    (rows(EACH, lambda n, pages: 1000 if pages < 256 else 900 + 100 * n), "with 256 pages"),
    (rows(ONE, lambda n, pages: 800 if n != 2 else 3000), "R² at least 0.95: does not hold"),
    (rows(ONE, lambda n, pages: 8**n), "R² at least 0.95: does not hold"),
])  # fmt: skip
def test_what_does_not_hold(planted: list[Unmap], culprit: str) -> None:
    """unmap: lines that rise, fall or bend where they may not are found, also with one number of pages only"""
    assert culprit in next(sentences(planted))


def test_few_cores() -> None:
    """unmap: of two numbers of cores no line is drawn, and of no rows nothing is said"""
    some = rows(EACH, lambda n, pages: 100 * n, cores=(1, 2))
    assert not trends(some) and not [one for one in sentences(some) if one.startswith("(")] and not list(sentences([]))


def test_one_core() -> None:
    """unmap: what a lock for each mapping costs on one core stands beside the paper's, in each unit by itself"""
    found = {(pair.fine.unit, pair.pages): pair for pair in one_core(UNMAPS)}
    assert len(found) == 6 and found["instructions", 128].over == pytest.approx(1.24) and found["instructions",
        256].more == 72
    assert found["cycles", 256].over == pytest.approx(1001 / 800) and found["cycles", 1].published is None
    said = [one for one in sentences(UNMAPS) if one.startswith("On one core")]
    assert (
        "in kernel instructions" in said[0] and "+72 (+24%) with 128 pages, +72 (+24%) with 256" in said[0]
        and "Paper: +185 cycles; +24%" in said[0]
    )
    assert "in modelled cycles" in said[1] and "+201 (+25%)" in said[1]
    points = reading.of_documents([{"results": [], "ratios": [pair.to_json() for pair in one_core(COUNTED)]}])
    assert [(p.ours, p.published) for p in points] == [((1.24,), 1.24), ((1.24,), 1.32)]


def test_memory() -> None:
    """unmap: what domains take is read from the kernel's ABI"""
    assert unmap.sizes() == {"slot": 64, "domain": 128}
    assert "grows by nothing (its slot stays at 64 bytes), a domain takes 128" in list(sentences(UNMAPS))[-1]


def test_tables() -> None:
    """unmap: a table for each series, one over the cores with ranges, and one for what is counted"""
    text = text_of(unmap_tables([*FINE, *COARSE, *rows(DOMAIN, lambda n, pages: 900.0)]))
    assert all(words in text for words in ("(a), each mapping", "(b), kernel, coarse", "at once, one domain",
                                           "modelled: 2 x 14", "4 cores"))
    assert (
        "1,001 [501..2,002]" in text and "3,200 [1,600..6,400]" in text and "+300.0%" in text and "cannot show" in text
    )
    counted = text_of(unmap_tables(COUNTED))
    assert "counted, emulated" in counted and "372.0" in counted and "[" not in counted
