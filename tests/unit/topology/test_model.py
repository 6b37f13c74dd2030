# SPDX-License-Identifier: BSD-2-Clause
"""Queueing models: closed networks, fits, plans and ranges."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest

from topology.errors import InputError
from topology.limits import MAX_CLUSTERS
from topology.machines.machine import Machine, Shape, emulated
from topology.model import measured, periodic, published, ranges, repairman, ticket
from topology.model.closed import Steady
from topology.model.fit import can_fit, fit
from topology.model.measured import Curve, read
from topology.model.plan import Advice, Planner
from topology.model.regimes import NAMES, WHY_NOT, ClosedForm
from topology.model.simulation import outcome as simulated
from topology.model.simulation.holding import Holding, Markovian, TicketTransfers, Transfers
from topology.model.simulation.lock import Elision, QueueLock, Transactions
from topology.model.simulation.outcome import T_999, Outcome
from topology.model.ticket import steady

# ---- The closed forms: against other ways to the same figures, at their limits, and against the papers ----

PAIRS = [(358.0, 500.0), (358.0, 4000.0), (323.0, 4000.0), (613.0, 16000.0), (164.0, 32000.0), (1000.0, 10.0)]


def mean_value_analysis(service: float, delay: float, cores: int) -> tuple[float, float]:
    """Throughput and queue length by the arrival theorem, without any state's probability."""
    throughput = queue = 0.0
    for n in range(1, cores + 1):
        response = service * (1 + queue)
        throughput = n / (delay + response)
        queue = throughput * response
    return throughput, queue


@pytest.mark.parametrize("service, delay", PAIRS)
@pytest.mark.parametrize("cores", [1, 2, 5, 14, 28, 200])
def test_repairman_is_what_mean_value_analysis_finds(service: float, delay: float, cores: int) -> None:
    state = repairman.steady(service, delay, cores)
    assert (state.throughput, state.queue_length) == pytest.approx(mean_value_analysis(service, delay, cores), rel=1e-9)


def test_periodic_wait() -> None:
    """one other core is met with probability S / C, for half of S in the mean; very many are a Poisson process"""
    assert periodic.wait(1, 1000.0, 100.0) == pytest.approx(5.0)
    assert periodic.wait(2, 1000.0, 100.0) == pytest.approx(50 * (0.2 + 0.02))
    assert periodic.wait(10**5, 10**5 * 200.0, 100.0) == pytest.approx(50.0, rel=1e-3)
    assert periodic.cycle(100.0, 0.0, 7) == pytest.approx(700.0) and periodic.cycle(100.0, 900.0, 1) == 1000.0


def generator(service: float, transfer: float, delay: float, cores: int) -> Steady:
    """The ticket lock's chain as a matrix, solved as linear equations."""
    rates = numpy.zeros((cores + 1, cores + 1))
    for k in range(cores):
        rates[k, k + 1] = (cores - k) / delay
        rates[k + 1, k] = 1 / (service + transfer * k / 2)
    rates -= numpy.diag(rates.sum(axis=1))
    system = numpy.vstack([rates.T, numpy.ones(cores + 1)])
    solved = numpy.linalg.lstsq(system, numpy.append(numpy.zeros(cores + 1), 1.0), rcond=None)[0]
    throughput = sum(solved[k + 1] * rates[k + 1, k] for k in range(cores))
    return Steady(tuple(solved), float(throughput))


@pytest.mark.parametrize(
    "service, transfer, delay, cores", [(100, 115, 4000, 20), (358, 44, 500, 8), (358, 115, 16000, 48)]
)
def test_ticket_is_what_its_generator_matrix_says(service: float, transfer: float, delay: float, cores: int) -> None:
    state, expected = ticket.steady(service, transfer, delay, cores), generator(service, transfer, delay, cores)
    assert state.throughput == pytest.approx(expected.throughput, rel=1e-6)
    assert state.probabilities == pytest.approx(expected.probabilities, abs=1e-9)


@pytest.mark.parametrize("lock", NAMES)
@pytest.mark.parametrize("service, delay", PAIRS)
def test_one_core_never_waits(lock: str, service: float, delay: float) -> None:
    state = ClosedForm(lock, service).steady(delay, 1)
    assert state.throughput == pytest.approx(1 / (service + delay))
    assert state.wait == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("lock", NAMES)
def test_limits(lock: str) -> None:
    form = ClosedForm(lock, 358.0)
    waiting = 27 if lock == "ticket" else 0
    saturated = 1 / (358.0 + form.transfer * waiting / 2)
    assert form.steady(0.0, 28).throughput == pytest.approx(saturated)
    assert form.steady(1e-6, 28).throughput == pytest.approx(saturated, rel=1e-6)
    assert form.steady(math.inf, 28).throughput == 0
    assert form.steady(1e9, 28).throughput == pytest.approx(28 / 1e9, rel=1e-4)
    assert form.steady(1000.0, 1024).throughput <= 1 / 358.0 * (1 + 1e-12)


def test_extremes_do_not_overflow() -> None:
    for service, delay in ((1e-6, 1e12), (1e12, 1e-300), (1e12, 1e12), (1e-6, 1e-300)):
        for lock in NAMES:
            state = ClosedForm(lock, service).steady(delay, 1024)
            assert 0 < state.throughput <= 1.000001 / service and 0 <= state.wait < math.inf


@pytest.mark.parametrize("lock", NAMES)
def test_rates_balance_and_cores_are_all_somewhere(lock: str) -> None:
    state = ClosedForm(lock, 358.0).steady(2000.0, 14)
    assert sum(state.probabilities) == pytest.approx(1)
    assert state.speedup / 2000.0 == pytest.approx(state.throughput)  # a core that works asks for the lock
    response = state.queue_length / state.throughput
    assert 14 / (2000.0 + response) == pytest.approx(state.throughput)


def test_a_ticket_lock_without_transfers_is_a_machine_repairman() -> None:
    assert ticket.steady(358, 0, 2000, 14) == repairman.steady(358, 2000, 14)


def test_a_scalable_lock_never_does_less_with_more_cores() -> None:
    for service, delay in PAIRS:
        done = [repairman.steady(service, delay, n).throughput for n in range(1, 100)]
        assert all(b >= a * (1 - 1e-12) for a, b in zip(done, done[1:]))
        assert done[-1] == pytest.approx(min(1 / service, done[-1]))


def test_knees_are_where_the_paper_sees_them() -> None:
    """knees are where Elphinstone 5.1.3 sees them: 14 cores at 4,000 cycles, 28 at 16,000."""
    within, across = published.BOUNDS
    assert math.ceil(repairman.knee(within, 4000)) == 14
    assert math.ceil(repairman.knee(across, 16000)) == 28
    assert repairman.knee(across, 8000) < 28 * 0.6
    assert repairman.knee(within, 2000) < 14 * 0.6


def test_the_paper_s_curve_at_2000_cycles() -> None:
    """the curve at 2,000 cycles: two by hand from equation 3, and saturated before the socket ends."""
    ratio = published.SERVICE / 2000
    idle = 1 / (1 + 2 * ratio + 2 * ratio**2)
    assert repairman.steady(published.SERVICE, 2000, 2).throughput == pytest.approx((1 - idle) / published.SERVICE)
    assert 0.99 < published.SERVICE * repairman.steady(published.SERVICE, 2000, 14).throughput < 1


def test_a_ticket_lock_collapses_where_its_sections_are_short() -> None:
    """a ticket lock's collapse: with 2 % of the time in the section if that is short, not if it is long."""
    peaks = {s: ticket.collapse(s, 115, 49 * s, 48) for s in (50, 100, 400, 1600, 100_000)}
    cores = [peak.cores if peak else 48 for peak in peaks.values()]
    assert cores == sorted(cores) and cores[0] < 15 and cores[2] < 30
    assert peaks[100_000] is None
    short = peaks[100]
    assert short and ticket.steady(100, 115, 4900, 48).throughput < 0.4 * short.throughput


def test_the_collapse_is_sudden() -> None:
    """a few cores more than the best number, and most of a ticket lock's throughput is gone"""
    peak = ticket.collapse(100, 115, 16000, 100)
    assert peak
    after = ticket.steady(100, 115, 16000, peak.cores + 8).throughput
    assert after < 0.6 * peak.throughput
    assert repairman.steady(100, 16000, peak.cores + 8).throughput > peak.throughput


def test_a_collapse_beyond_the_range_is_none() -> None:
    assert ticket.collapse(358, 115, 4000, 5) is None
    assert ticket.collapse(358, 115, 4000, 1) is None


@pytest.mark.parametrize("lock", [*WHY_NOT, "nonsense", ""])
def test_locks_that_do_not_queue_are_refused(lock: str) -> None:
    with pytest.raises(InputError, match="--lock"):
        ClosedForm(lock, 358)


# ---- A fit finds what the data were made with, says how sure it is, and refuses what tells it nothing ----

def curve(
    service: float, delay: float, cores: range, noise: float = 0.0, lock: str = "clh", transfer: float = 0.0
) -> Curve:
    random = Random(7)
    points = [(n, ticket.steady(service, transfer, delay, n).throughput * random.gauss(1, noise)) for n in cores]
    return Curve(lock, None, points=points)


@pytest.mark.parametrize("service, delay", [(358, 500), (358, 2000), (358, 32000), (164, 4000), (2000, 10), (1e6, 1e7)])
def test_recovers_exact_data(service: float, delay: float) -> None:
    fitted = fit(curve(service, delay, range(1, 15)))
    assert fitted.service.value == pytest.approx(service, rel=1e-4)
    assert fitted.delay.value == pytest.approx(delay, rel=1e-3)
    assert fitted.r_squared == pytest.approx(1) and fitted.worst < 1e-6


def test_recovers_noisy_data_within_its_own_errors() -> None:
    """a fit recovers noisy data within its own errors: delay 2,000, one socket's 14 cores"""
    fitted = fit(curve(358, 2000, range(1, 15), noise=0.01))
    assert abs(fitted.service.value - 358) < 4 * fitted.service.error < 20
    assert abs(fitted.delay.value - 2000) < 4 * fitted.delay.error < 150
    assert fitted.r_squared > 0.995 and 0 < fitted.worst < 0.05


def test_recovers_a_ticket_lock() -> None:
    fitted = fit(curve(358, 4000, range(1, 25), noise=0.005, lock="ticket", transfer=115))
    assert fitted.transfer
    assert fitted.service.value == pytest.approx(358, rel=0.15)
    assert fitted.transfer.value == pytest.approx(115, rel=0.15)
    assert fitted.delay.value == pytest.approx(4000, rel=0.05)


def test_says_when_the_lock_is_never_busy_enough() -> None:
    """a fit says that cores that hardly meet tell the sum of service and delay, not each"""
    fitted = fit(curve(358, 500_000, range(1, 4), noise=0.01))
    assert fitted.service.is_loose and not fitted.delay.is_loose
    assert fitted.delay.value + fitted.service.value == pytest.approx(500_358, rel=0.03)


def test_a_model_that_does_not_fit_shows() -> None:
    """a collapse fitted as a scalable lock shows in R²"""
    bad = curve(100, 4000, range(1, 29), transfer=115)
    fitted = fit(bad)
    assert fitted.r_squared < 0.8 and fitted.worst > 0.3


def test_saturated_everywhere() -> None:
    fitted = fit(Curve("clh", None, points=[(n, 1 / 358) for n in (20, 24, 28)]))
    assert fitted.service.value == pytest.approx(358, rel=1e-3)
    assert math.isnan(fitted.r_squared)


def test_needs_different_core_counts() -> None:
    assert not can_fit(Curve("clh", None, points=[(1, 0.001), (2, 0.002), (2, 0.002), (2, 0.0021)]))
    with pytest.raises(InputError, match="3 are needed"):
        fit(Curve("clh", None, points=[(1, 0.001), (2, 0.002)]))
    with pytest.raises(InputError, match="4 are needed"):
        fit(Curve("ticket", None, points=[(1, 0.001), (2, 0.002), (3, 0.0025)]))
    with pytest.raises(InputError, match="transactions do not queue"):
        fit(Curve("rtm", None, points=[(n, n / 4000) for n in range(1, 9)]))


def result(n: int, **change: Any) -> dict[str, Any]:
    metrics = {"throughput_per_cycle": repairman.steady(358, 2000, n).throughput}
    return {"layout": "spanning", "lock": "clh", "system": "skerry", "clusters": 1, "cores": n,
            "metrics": metrics} | change


def write(folder: Path, data: Any) -> Path:
    path = folder / "results.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_reads_results_by_lock_and_delay(tmp_path: Path) -> None:
    metrics = [{"throughput_per_cycle": 0.001 * n, "delay_cycles": d} for d in (500, 4000) for n in (1, 2, 3)]
    results = [result(1 + i % 3, metrics=m) for i, m in enumerate(metrics)]
    results += [result(4, lock="ticket"), result(2, system="linux", metrics={}), result(2, metrics={"ops_per_s": 3.0})]
    curves = read(write(tmp_path, {"results": results}))
    assert [(c.lock, c.nominal_delay, c.sizes) for c in curves] == [("clh", 500, 3), ("clh", 4000, 3),
                                                                    ("ticket", None, 1)]
    assert [c.sizes for c in read(write(tmp_path, {"results": results}), most=2)] == [2, 2]


def test_clusters_are_taken_one_by_one(tmp_path: Path) -> None:
    halves = [result(2 * n, clusters=2, metrics={measured.METRIC: 2 * repairman.steady(358, 2000, n).throughput})
              for n in range(1, 9)]
    fitted = fit(read(write(tmp_path, {"results": halves}))[0])
    assert fitted.service.value == pytest.approx(358, rel=1e-4)


def test_throughput_per_second(tmp_path: Path) -> None:
    results = [
        result(n, metrics={"entries_per_s": 2e9 * repairman.steady(358, 2000, n).throughput}) for n in range(1, 9)
    ]
    path = write(tmp_path, {"results": results})
    assert fit(read(path, "entries_per_s", ghz=2.0)[0]).service.value == pytest.approx(358, rel=1e-4)
    with pytest.raises(InputError, match="--ghz"):
        read(path, "entries_per_s")
    path_with_clock = write(tmp_path, {"host": {"tsc_hz": 2e9}, "results": results})
    assert fit(read(path_with_clock, "entries_per_s")[0]).delay.value == pytest.approx(2000, rel=1e-3)


def test_emulated_results_stay_so(tmp_path: Path) -> None:
    curves = read(write(tmp_path, {"results": [result(n, emulated=True) for n in (1, 2, 3)]}))
    assert fit(curves[0]).curve.emulated


BROKEN: dict[str, tuple[Any, str]] = {
    "not JSON": ("{", "not JSON"),
    "a list": ([1], "no list 'results'"),
    "no results": ({"results": []}, "no list 'results'"),
    "results are numbers": ({"results": [3]}, "result 1 has no 'metrics'"),
    "another metric": ({"results": [result(1, metrics={"ops_per_s": 1.0})]}, "they have ops_per_s"),
    "no metric at all": ({"results": [result(1, metrics={})]}, "they have no metrics"),
    "no cores": ({"results": [result(1, cores=None)]}, "result 1: 'cores'"),
    "true cores": ({"results": [result(1, cores=True)]}, "result 1: 'cores'"),
    "uneven clusters": ({"results": [result(3, clusters=2)]}, "clusters of one size"),
    "text": ({"results": [result(1, metrics={measured.METRIC: "fast"})]}, "is not a number"),
    "nan": ('{"results": [{"cores": 1, "metrics": {"throughput_per_cycle": NaN}}]}', "is not a number"),
    "nothing done": ({"results": [result(1, metrics={measured.METRIC: 0})]}, "is not above 0"),
    "a negative delay": ({"results": [result(1, metrics={measured.METRIC: 1, "delay_cycles": -1})]}, "delay_cycles"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_bad_files_are_refused(tmp_path: Path, name: str) -> None:
    data, expected = BROKEN[name]
    with pytest.raises(InputError, match=expected) as error:
        read(write(tmp_path, data))
    assert "results.json" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none.json: no such file"):
        read(tmp_path / "none.json")


def test_a_latency_is_no_throughput(tmp_path: Path) -> None:
    path = write(tmp_path, {"results": [result(1, metrics={"p50_us": 1.0})]})
    with pytest.raises(InputError, match="neither per cycle nor per second"):
        read(path, "p50_us")


# ---- Advice on cluster sizes: on machines whose caches are sockets, parts of sockets, or not there ----

def advise(
    machine: Machine, delay: float, limit: float, near: float = 358.0, far: float = 613.0, lock: str = "clh"
) -> Advice:
    forms = ClosedForm(lock, near), ClosedForm(lock, far)
    return Planner(machine, delay + near, lambda n, crosses: forms[crosses].steady(delay, n).throughput).advise(limit)


XEON = emulated(Shape(2, 14))
EPYC = emulated(Shape(2, 24, caches=3))


@pytest.mark.parametrize("machine, delay, layout", [
                             (XEON, 1e6, "spanning"), (XEON, 16000, "per-socket"), (XEON, 4000, "size=7"),
                             (XEON, 100, "size=1"), (EPYC, 1e6, "spanning"), (EPYC, 18000, "per-socket"),
                             (EPYC, 6000, "per-l3"), (EPYC, 3000, "size=4"), (emulated(Shape(1, 1)), 0, "spanning"),
                         ])
def test_the_layout_follows_the_rate_of_entries(machine: Machine, delay: float, layout: str) -> None:
    assert advise(machine, delay, 0.10).layout == layout


def test_advice_keeps_its_promise() -> None:
    for delay in (500, 2000, 4000, 9000, 20000):
        advice = advise(XEON, delay, 0.05)
        assert advice.loss <= 0.05 or advice.layout == "size=1"
        assert sum(advice.sizes) == 28
        assert advice.curve[advice.largest - 1].loss <= 0.05
        assert advice.largest == 28 or advice.curve[advice.largest].loss > 0.05


def test_threads_of_a_core_stay_together() -> None:
    """the smallest cluster is one core, and its two threads meet at the lock"""
    advice = advise(emulated(Shape(2, 4, threads=2)), 100, 0.01)
    assert (advice.layout, advice.sizes, advice.largest) == ("size=1", (2,) * 8, 1)
    assert advice.loss > 0.01


def test_no_larger_than_a_kernel_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topology.model.plan.MAX_CPUS", 60)
    advice = advise(emulated(Shape(2, 64)), 1e7, 0.05)
    assert len(advice.curve) == advice.largest == 60
    assert (advice.layout, advice.sizes) == ("size=32", (32,) * 4)
    assert max(len(advise(emulated(Shape(2, 64)), 10, 0.05).sizes), MAX_CLUSTERS) == MAX_CLUSTERS


def test_losses_grow_with_cores_and_with_entries() -> None:
    busy, idle = advise(XEON, 2000, 0.1), advise(XEON, 8000, 0.1)
    for advice in (busy, idle):
        losses = [point.loss for point in advice.curve]
        assert losses[0] == 0 and losses == sorted(losses)
    assert all(b.loss >= i.loss for b, i in zip(busy.curve, idle.curve))
    assert busy.largest < idle.largest


def test_loss_is_what_the_closed_form_leaves_of_the_ideal() -> None:
    point = advise(XEON, 4000, 0.1).curve[9]
    assert (point.cores, point.crosses) == (10, False)
    assert 1 - point.loss == pytest.approx(steady(358, 0, 4000, 10).speedup / (10 * 4000 / 4358))


def test_a_cluster_beyond_a_cache_pays_for_it() -> None:
    curve = advise(XEON, 16000, 0.1).curve
    assert [point.crosses for point in curve] == [False] * 14 + [True] * 14
    assert curve[14].loss - curve[13].loss > 3 * (curve[13].loss - curve[12].loss)
    without = replace(XEON, cores=tuple(replace(core, l3=None) for core in XEON.cores))
    assert [point.crosses for point in advise(without, 16000, 0.1).curve] == [False] + [True] * 27


def test_a_curve_may_end_early_and_the_advice_stays() -> None:
    form = ClosedForm("clh", 358)
    planners = [Planner(XEON, 2358, lambda n, crosses: form.steady(2000, n).throughput, end) for end in (1.0, 0.3)]
    whole, short = (planner.advise(0.1) for planner in planners)
    assert len(short.curve) < len(whole.curve) == 28 and short.curve == whole.curve[: len(short.curve)]
    assert (short.layout, short.sizes, short.largest) == (whole.layout, whole.sizes, whole.largest)


def test_a_ticket_lock_wants_smaller_clusters() -> None:
    assert advise(XEON, 16000, 0.05, lock="ticket").largest < advise(XEON, 16000, 0.05).largest


# ---- Ranges of delays and of cores, and bounds ----

def test_delays_double() -> None:
    assert ranges.delays("500..32000") == [500, 1000, 2000, 4000, 8000, 16000, 32000]
    assert ranges.delays("4000") == ranges.delays("4000..4000") == [4000]
    assert ranges.delays("0,500") == [0, 500]
    assert ranges.delays("500..3000") == [500, 1000, 2000, 3000]  # the upper end belongs to the range


def test_cores_and_bounds() -> None:
    assert ranges.cores("1..4") == [1, 2, 3, 4]
    assert ranges.cores("28, 14,1..2,2") == [1, 2, 14, 28]
    assert ranges.bounds("323,613") == (323, 613)
    assert ranges.bounds("none") is None


@pytest.mark.parametrize("read_range, option, text", [
    *((ranges.delays, "--delay", text) for text in ("", "x", "1..", "..2", "0..100", "900..500", "-1", "nan", "inf",
                                                    "1,,2", "1e-9..1e12")),
    *((ranges.cores, "--cores", text) for text in ("", "0", "x", "1.5", "4..2", "1..2..3", "1,", "-3", "99999",
                                                   "1..999999999999")),
    *((ranges.bounds, "--bounds", text) for text in ("", "323", "613,323", "0,5", "a,b", "1,2,3", "nan,5")),
])
def test_bad_ranges_are_refused(read_range: Callable[[str], object], option: str, text: str) -> None:
    with pytest.raises(InputError, match=option):
        read_range(text)


# ---- The simulation, beside the closed forms: seeds are fixed, and intervals are those of 99.9 % ----

ENTRIES = 20_000


def queue(cores: int, delay: float, holding: Holding, seed: int = 1) -> Outcome:
    return QueueLock(cores, delay, holding, seed).run(ENTRIES)


def elided(cores: int, elision: Elision, delay: float = 4000.0, entries: int = ENTRIES) -> Outcome:
    return Transactions(cores, delay, elision, 1).run(entries)


@pytest.mark.parametrize("cores, delay", [(1, 500), (2, 2000), (7, 2000), (14, 4000), (28, 16000), (28, 500)])
def test_machine_repairman(cores: int, delay: float) -> None:
    outcome = queue(cores, delay, Markovian(358.0))
    assert outcome.throughput.covers(repairman.steady(358.0, delay, cores).throughput, T_999)
    assert outcome.throughput.half_width < 0.03 * outcome.throughput.mean


@pytest.mark.parametrize("cores, delay", [(1, 500), (2, 2000), (10, 4000), (16, 4000), (28, 16000)])
def test_non_scalable_lock(cores: int, delay: float) -> None:
    outcome = queue(cores, delay, Markovian(358.0, 115.0))
    assert outcome.throughput.covers(ticket.steady(358.0, 115.0, delay, cores).throughput, T_999)


def test_response_says_what_throughput_says() -> None:
    """simulated response and throughput obey the interactive response time law, n = X (Z + R)"""
    for outcome, delay in ((queue(14, 4000.0, Markovian(358.0)), 4000.0), (elided(14, Elision(0.5)), 4000.0)):
        assert outcome.throughput.covers(14 / (delay + outcome.response), T_999)
    exact = repairman.steady(358.0, 4000.0, 14)
    assert queue(14, 4000.0, Markovian(358.0)).response == pytest.approx(exact.wait + 358.0, rel=0.1)


def test_a_wrong_closed_form_is_found_out() -> None:
    """the interval is narrow enough to tell 358 cycles from 323, and a ticket lock from a scalable one"""
    throughput = queue(14, 4000.0, Markovian(358.0)).throughput
    assert not throughput.covers(repairman.steady(323.0, 4000.0, 14).throughput, T_999)
    assert not throughput.covers(ticket.steady(358.0, 20.0, 4000.0, 14).throughput, T_999)


def test_the_interval_holds_as_often_as_it_says() -> None:
    """the confidence interval holds as often as it says: 95 % of 60 seeds, less four standard deviations"""
    true = repairman.steady(358.0, 4000.0, 7).throughput
    covered = sum(QueueLock(7, 4000.0, Markovian(358.0), seed).run(2000).throughput.covers(true) for seed in range(60))
    assert 50 <= covered <= 60


def test_the_same_seed_gives_the_same_figures() -> None:
    first, again, other = (queue(5, 1000.0, Markovian(358.0), seed) for seed in (3, 3, 4))
    assert first == again != other


def test_batch_means() -> None:
    even = simulated.throughput([100.0 * i for i in range(21)], 5)
    assert (even.mean, even.half_width) == (0.05, 0.0)


@pytest.mark.parametrize("cores", [4, 7, 14, 21, 28])
@pytest.mark.parametrize("delay", [500.0, 4000.0])
def test_holding_times_lie_between_the_paper_s_bounds(cores: int, delay: float) -> None:
    """holding times from Table 1 alone lie within 5.1.2's 323 to 613 cycles for four cores or more, 164 for one"""
    low, high = published.BOUNDS
    outcome = queue(cores, delay, Transfers())
    assert low < outcome.service < high
    assert repairman.steady(high, delay, cores).throughput < outcome.throughput.mean
    assert outcome.throughput.mean < 1.02 * repairman.steady(low, delay, cores).throughput
    assert queue(1, delay, Transfers()).service == published.HOLD_ALONE


def test_a_second_socket_makes_saturated_cores_do_less() -> None:
    """a second socket makes saturated cores do less: Figure 4's drop after 14, which no closed form has"""
    done = {n: queue(n, 1000.0, Transfers()).throughput.mean for n in (7, 14, 15, 21, 28)}
    assert done[7] == pytest.approx(done[14], rel=0.01)
    assert done[14] > 1.05 * done[15] > done[21] * 1.1
    one_socket = {n: queue(n, 1000.0, Transfers(per_socket=28)).throughput.mean for n in (14, 28)}
    assert one_socket[28] == pytest.approx(one_socket[14], rel=0.001)


def test_few_cores_take_the_lock_again_without_a_transfer() -> None:
    """few cores take the lock again without a transfer, so they hold it shorter (footnote 1 of 5.1.2)"""
    services = [queue(n, 4000.0, Transfers()).service for n in (1, 2, 4, 14)]
    assert services == sorted(services)
    assert services[1] == pytest.approx(164 + 2 * 115 * 0.53, rel=0.05)  # previous entry was the other core's


def test_constant_holding_waits_less_than_exponential() -> None:
    constant = queue(10, 4000.0, Transfers(hold=358.0, lines=0)).throughput
    assert constant.mean - constant.half_width > repairman.steady(358.0, 4000.0, 10).throughput


def test_a_ticket_lock_collapses_at_the_same_size_but_more_suddenly() -> None:
    sizes = range(6, 17)
    simulated = {n: queue(n, 4000.0, TicketTransfers(per_socket=28)).throughput.mean for n in (*sizes, 28)}
    closed = {n: ticket.steady(164 + 2 * 115, 115, 4000, n).throughput for n in (*sizes, 28)}
    peak = max(sizes, key=lambda n: closed[n])
    assert abs(max(sizes, key=lambda n: simulated[n]) - peak) <= 1
    assert simulated[16] / simulated[peak] < closed[16] / closed[peak] < 0.7
    assert simulated[28] == pytest.approx(closed[28], rel=0.1)
    assert queue(28, 4000.0, Transfers(per_socket=28)).throughput.mean > 3 * simulated[28]


@pytest.mark.parametrize("cores", [1, 14, 28])
def test_transactions_without_conflicts_scale(cores: int) -> None:
    elision = Elision(conflict=0.0, overhead=61.0)
    outcome = elided(cores, elision)
    assert outcome.throughput.covers(cores / (4000.0 + elision.length), T_999)
    assert set(outcome.counts) == {"commits"}
    assert outcome.service == pytest.approx(elision.length)


def test_conflicts_cost_more_with_more_cores_and_fall_back_to_the_lock() -> None:
    outcomes = {p: elided(14, Elision(conflict=p), entries=4000) for p in (0.0, 0.1, 0.5, 1.0)}
    done = [outcome.throughput.mean for outcome in outcomes.values()]
    assert done[0] > done[2] > done[3]
    assert outcomes[1.0].counts["fallbacks"] > 10 * outcomes[0.1].counts["fallbacks"]
    assert outcomes[1.0].counts["aborts_lock"] > 0
    for outcome in outcomes.values():  # every entry either commits or takes the lock
        assert outcome.counts["commits"] + outcome.counts["fallbacks"] == 4000


def test_two_that_always_conflict() -> None:
    """two transactions that always conflict abort as often as an integral equation says

    With lengths of 1, f(x) conflicts follow when an entry begins beside one that has x left: the hit falls into it
    with probability x, and the core that was hit begins beside what the other has left. So f'(x) = 1 + f(1 - x), f(0) =
    0."""
    outcome = elided(2, Elision(conflict=1.0, attempts=1000), entries=100_000)
    slope = math.cos(1) / (1 - math.sin(1))
    follow = math.sin(1) + slope * (1 - math.cos(1)) - 1  # the mean of f(x) = cos x + slope sin x - 1
    meet = 164 / (4000 + 164)
    assert outcome.counts["aborts_conflict"] / 100_000 == pytest.approx(meet * follow, rel=0.05)
    assert outcome.counts["fallbacks"] == 0


def test_saturated_conflicts_are_a_lock() -> None:
    """where everybody conflicts with everybody, about the lock's throughput is left"""
    outcome = elided(14, Elision(conflict=1.0, attempts=1), delay=500.0, entries=4000)
    lock = queue(14, 500.0, Transfers()).throughput.mean
    assert 0.5 * lock < outcome.throughput.mean < 1.1 * lock
