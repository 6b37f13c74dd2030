# SPDX-License-Identifier: BSD-2-Clause
"""Regime rtm on a modelled machine: transactions that the emulator's plugin executes."""

from __future__ import annotations

import pytest

from deploy.base.timeouts import Patience
from deploy.bench.ipc import measure as ipc
from deploy.bench.mach import stress
from deploy.emulator import run
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import load
from tests.boot.machine import PATIENCE
from tests.boot.test_modelled import needs_new, points

XEON = load("xeon-e5-2683v3")


def ended(program: str, *numbers: int) -> dict[str, int]:
    """How the transactions of the Mach study's program ended, on 4 cores."""
    target = stress.machine("rtm", 4, program, *numbers, modelled=XEON)
    with run.marks(XEON, target) as marks:
        assert stress.events(target, run.mode(XEON), Patience(PATIENCE), extra=marks.arguments).of("stress")
        _, end = marks.read()
    assert isinstance(end, Mark) and end.transactions and end.late == 0
    counts = end.transactions
    assert counts["begun"] == counts["committed"] + sum(n for name, n in counts.items() if name.startswith("aborted_"))
    return counts


@needs_new
@pytest.mark.limit(300)
def test_scales() -> None:
    """rtm, modelled: pairs that have nothing in common scale to all cores, several points in one boot"""
    one, eight, all_ = points("rtm", [1, 8, 28], 4000.0)
    assert eight.throughput == pytest.approx(8 * one.throughput, rel=0.02)
    assert all_.throughput == pytest.approx(28 * one.throughput, rel=0.02)
    assert all_.metrics["abort_ratio"] < 0.01 and all_.metrics["fallback_ratio"] < 0.01
    assert all_.late == 0


@needs_new
@pytest.mark.limit(300)
def test_same_digits() -> None:
    """rtm, modelled: two runs agree in every digit, conflicts included"""
    first, second = ended("messages", 3, 50), ended("messages", 3, 50)
    assert first == second
    assert first["aborted_conflict"] > 10
    assert first["lost"] > first["aborted_conflict"] * XEON.prices["transaction_abort"].cycles


@needs_new
@pytest.mark.limit(300)
def test_fallback() -> None:
    """rtm, modelled: what cannot be taken back takes the lock, and others are aborted by it"""
    counts = ended("memory", 4, 16, 4, 4)
    assert counts["fallbacks"] >= counts["aborted_irrevocable"] > 100
    assert counts["aborted_lock"] > 100


@needs_new
@pytest.mark.limit(300)
def test_one_core() -> None:
    """rtm, modelled: on one core a message costs within 8 points of the papers' 17 % more than without a lock"""
    none, rtm = (ipc.measure(lock, run.mode(XEON), 10, Patience(PATIENCE), XEON).to_json()["metrics"] for lock in ("none", "rtm"))
    assert 1.09 < rtm["one_way_kernel_cycles"] / none["one_way_kernel_cycles"] < 1.25
