# SPDX-License-Identifier: BSD-2-Clause
"""The closed forms: against other ways to the same figures, at their limits, and against the papers."""

import math

import numpy
import pytest

from topology.errors import InputError
from topology.model import published, repairman, ticket
from topology.model.closed import Steady
from topology.model.regimes import NAMES, WHY_NOT, ClosedForm

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
    found = repairman.steady(service, delay, cores)
    assert (found.throughput, found.queue_length) == pytest.approx(mean_value_analysis(service, delay, cores), rel=1e-9)


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
    found, expected = ticket.steady(service, transfer, delay, cores), generator(service, transfer, delay, cores)
    assert found.throughput == pytest.approx(expected.throughput, rel=1e-6)
    assert found.probabilities == pytest.approx(expected.probabilities, abs=1e-9)


@pytest.mark.parametrize("lock", NAMES)
@pytest.mark.parametrize("service, delay", PAIRS)
def test_one_core_never_waits(lock: str, service: float, delay: float) -> None:
    found = ClosedForm(lock, service).steady(delay, 1)
    assert found.throughput == pytest.approx(1 / (service + delay))
    assert found.wait == pytest.approx(0.0, abs=1e-9)


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
            found = ClosedForm(lock, service).steady(delay, 1024)
            assert 0 < found.throughput <= 1.000001 / service and 0 <= found.wait < math.inf


@pytest.mark.parametrize("lock", NAMES)
def test_rates_balance_and_cores_are_all_somewhere(lock: str) -> None:
    found = ClosedForm(lock, 358.0).steady(2000.0, 14)
    assert sum(found.probabilities) == pytest.approx(1)
    assert found.speedup / 2000.0 == pytest.approx(found.throughput)  # a core that works asks for the lock
    response = found.queue_length / found.throughput
    assert 14 / (2000.0 + response) == pytest.approx(found.throughput)


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
