# SPDX-License-Identifier: BSD-2-Clause
"""Advice on cluster sizes: on machines whose caches are sockets, parts of sockets, or not there."""

from dataclasses import replace

import pytest

from topology.limits import MAX_CLUSTERS, MAX_CPUS
from topology.machines.machine import Machine, Shape, emulated
from topology.model.plan import Advice, Planner
from topology.model.regimes import ClosedForm
from topology.model.ticket import steady


def advise(
    machine: Machine, delay: float, limit: float, near: float = 358.0, far: float = 613.0, lock: str = "clh"
) -> Advice:
    forms = ClosedForm(lock, near), ClosedForm(lock, far)
    return Planner(machine, delay + near, lambda n, crosses: forms[crosses].steady(delay, n).throughput).advise(limit)


XEON = emulated(Shape(2, 14))
EPYC = emulated(Shape(2, 24, caches=3))


@pytest.mark.parametrize(
    "machine, delay, layout",
    [
        (XEON, 1e6, "spanning"),
        (XEON, 16000, "per-socket"),
        (XEON, 4000, "size=7"),
        (XEON, 100, "size=1"),
        (EPYC, 1e6, "spanning"),
        (EPYC, 18000, "per-socket"),
        (EPYC, 6000, "per-l3"),
        (EPYC, 3000, "size=4"),
        (emulated(Shape(1, 1)), 0, "spanning"),
    ],
)
def test_the_layout_follows_the_rate_of_entries(machine: Machine, delay: float, layout: str) -> None:
    assert advise(machine, delay, 0.10).layout == layout


def test_advice_keeps_its_promise() -> None:
    for delay in (500, 2000, 4000, 9000, 20000):
        found = advise(XEON, delay, 0.05)
        assert found.loss <= 0.05 or found.layout == "size=1"
        assert sum(found.sizes) == 28
        assert found.curve[found.largest - 1].loss <= 0.05
        assert found.largest == 28 or found.curve[found.largest].loss > 0.05


def test_threads_of_a_core_stay_together() -> None:
    """the smallest cluster is one core, and its two threads meet at the lock"""
    found = advise(emulated(Shape(2, 4, threads=2)), 100, 0.01)
    assert (found.layout, found.sizes, found.largest) == ("size=1", (2,) * 8, 1)
    assert found.loss > 0.01


def test_no_larger_than_a_kernel_can_be() -> None:
    found = advise(emulated(Shape(2, 64)), 1e7, 0.05)
    assert len(found.curve) == found.largest == MAX_CPUS
    assert (found.layout, found.sizes) == ("size=32", (32,) * 4)
    assert max(len(advise(emulated(Shape(2, 64)), 10, 0.05).sizes), MAX_CLUSTERS) == MAX_CLUSTERS


def test_losses_grow_with_cores_and_with_entries() -> None:
    busy, idle = advise(XEON, 2000, 0.1), advise(XEON, 8000, 0.1)
    for found in (busy, idle):
        losses = [point.loss for point in found.curve]
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
