# SPDX-License-Identifier: BSD-2-Clause
"""`bench dynamic`: signals to workers on other cores of a modelled machine, and unmapping, by a kernel that is coarse
or fine."""

import json
from functools import cache
from pathlib import Path

import pytest

from deploy.base.timeouts import Patience
from deploy.bench.dynamic import forkjoin, unmap
from deploy.bench.dynamic.forkjoin import Latency
from deploy.bench.dynamic.unmap import ALONE, DOMAIN, EACH, ONE, Calls, Guard
from deploy.emulator.machine_file import PAPERS, load
from tests.boot.machine import PATIENCE
from tests.boot.test_commands import skerry
from tests.boot.test_modelled import needs_new

XEON = load(PAPERS)
CORES, ROUNDS = (2, 3, 4), 4


def measured(granularity: str, line_factor: float = 1.0, local: bool = False) -> list[Latency]:
    job = forkjoin.Job("dynamic", granularity, CORES, ROUNDS, XEON, line_factor, local)
    return forkjoin.measure(job, Patience(PATIENCE))


@cache
def once(granularity: str) -> list[Latency]:
    return measured(granularity)


@needs_new
@pytest.mark.limit(300)
def test_rounds() -> None:
    """fork and join: more workers take longer, the coordinator comes first, an interrupt is in it, and two runs
    agree"""
    latencies = once("fine")
    assert [(one.cores, len(one.rounds)) for one in latencies] == [(n, ROUNDS) for n in CORES]
    assert [one.running for one in latencies] == sorted({one.running for one in latencies})
    assert all(XEON.prices["ipi"].cycles < lap.running < 100_000 and 0 < lap.signalled < lap.running
               for one in latencies for lap in one.rounds)
    assert latencies == measured("fine")


@needs_new
@pytest.mark.limit(300)
def test_line_costs_and_locks() -> None:
    """fork and join: it takes longer where lines cost more, and not as long under the other locks"""
    dear = measured("fine", 2.0)
    assert all(plain.running < other.running for plain, other in zip(once("fine"), dear))
    assert all(fine.running != coarse.running for fine, coarse in zip(once("fine"), once("coarse")))


@needs_new
@pytest.mark.limit(300)
def test_messages() -> None:
    """fork and join: by messages the coordinator waits for each worker's core, so that all run long before it has made
    its signals"""
    by_message = measured("fine", local=True)
    for messages, locks in zip(by_message, once("fine")):
        assert (messages.running > locks.running
                and messages.signalled - locks.signalled > (messages.cores - 1) * XEON.prices["ipi"].cycles)
    ratios = [messages.running / locks.running for messages, locks in zip(by_message, once("fine"))]
    assert ratios == sorted(ratios)


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("kernel", ["clh", "fine"])
def test_one_call(kernel: str) -> None:
    """fork and join: one call that wakes two or more workers is over sooner than a call for each, and the last worker
    runs sooner"""
    each, at_once = (
        forkjoin.measure(forkjoin.Job(kernel, None, CORES, ROUNDS, XEON, at_once=at_once), Patience(PATIENCE))
        for at_once in (False, True)
    )
    assert all(one.signalled < other.signalled for one, other in zip(at_once[1:], each[1:], strict=True))
    assert at_once[-1].running < each[-1].running


@needs_new
@pytest.mark.limit(400)
def test_command(tmp_path: Path) -> None:
    """bench dynamic: table, plot, JSON and CSV"""
    done = skerry("bench", "dynamic", "--figure", "7", "--cores", "2,3", "--quick", "--json", "r.json", "--plot",
                  "r.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    assert [(one["lock"], one["granularity"], one["cores"]) for one in data["results"]] == [
        (name, granularity, n) for name, granularity in (("messages", "fine"), ("dynamic coarse", "coarse"),
                                                         ("dynamic fine", "fine")) for n in (2, 3)
    ]
    assert all(one["metrics"]["signal_to_last_cycles"] > XEON.prices["ipi"].cycles and "range" not in one
               for one in data["results"])
    assert [one["cores"] for one in data["ratios"]] == [2, 3] and data["ratios"][0]["published"]
    assert "modelled: 2 x 14" in done.stdout
    assert (tmp_path / "r.png").stat().st_size > 1000 and len((tmp_path / "r.csv").read_text().splitlines()) == 7


# ---- Figure 8 ----

GUARDED_CORES, PAGES, CALLS = (1, 2, 4), (1, 48), 2  # 48: more than one entry's work budget


@cache
def protected(series: Guard, line_factor: float = 1.0) -> dict[tuple[int, int], Calls]:
    calls = unmap.measure(unmap.Job(series.granularity, series.guard, GUARDED_CORES, PAGES, CALLS, XEON, line_factor),
                          Patience(PATIENCE))
    return {(one.cores, one.pages): one for one in calls}


@needs_new
@pytest.mark.limit(300)
def test_locks_of_mappings() -> None:
    """unmap: with a lock for each mapping it takes as long beside three cores as alone, also in calls of several
    entries"""
    calls = protected(EACH)
    assert list(calls) == [(n, p) for n in GUARDED_CORES for p in PAGES] and all(len(one.took) == CALLS
        for one in calls.values())
    for pages in PAGES:
        values = [calls[n, pages].mapping for n in GUARDED_CORES]
        # a doubt about other cores' debts alone costs more (core/tlb.c)
        assert max(values) <= 1.03 * min(values), pages
    assert calls[1, 48].mapping < calls[1, 1].mapping / 2  # there is one call for 48


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("series", [ONE, ALONE, DOMAIN], ids=lambda series: series.name)
def test_one_lock(series: Guard) -> None:
    """unmap: with one lock for all each core more takes longer, every core gets it, and two runs agree"""
    calls = protected(series)
    for pages in PAGES:
        values = [calls[n, pages].mapping for n in GUARDED_CORES]
        assert values == sorted(values) and values[2] > 1.1 * values[0], pages
    protected.cache_clear()
    assert protected(series) == calls


@needs_new
@pytest.mark.limit(300)
def test_one_lock_for_each_costs() -> None:
    """unmap: alone, a lock for each mapping costs more than the kernel's one lock, and lines that are dear cost nothing
    where none moves"""
    fine, coarse = protected(EACH), protected(ONE)
    assert fine[1, 48].mapping > coarse[1, 48].mapping
    dear = protected(EACH, 2.0)
    assert dear[4, 48].mapping <= 1.01 * fine[4, 48].mapping and protected(ONE, 2.0)[4, 48].mapping > 1.05 * coarse[4,
        48].mapping


@pytest.mark.limit(300)
def test_counted_mappings() -> None:
    """unmap: instructions of one core are the same for each call, and a lock for each mapping takes more of them"""
    each, one = (
        unmap.measure(unmap.Job(series.granularity, series.guard, [1], PAGES, CALLS, None), Patience(PATIENCE))
        for series in (EACH, ONE)
    )
    assert all(len(set(calls.took)) == 1 for calls in (*each, *one))
    assert all(fine.mapping > coarse.mapping for fine, coarse in zip(each, one)) and each[1].mapping < 400
