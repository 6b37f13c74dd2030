# SPDX-License-Identifier: BSD-2-Clause
"""Modelled machines: cores that wait are parked, which is the same as spinning."""

from __future__ import annotations

import re

import pytest

from deploy.base.paths import BUILD
from deploy.deployment import Program
from deploy.deployment.planner import Plan, plan
from deploy.emulator import run
from deploy.machine import qemu
from tests.boot.machine import deployment, machine
from tests.boot.test_modelled import XEON, needs_new, points


@needs_new
@pytest.mark.limit(300)
@pytest.mark.parametrize("lock,cores", [("clh", 8), ("ticket", 12)])
def test_parking(lock: str, cores: int) -> None:
    """modelled machine: cores that wait do so as if they went on spinning, to the cycle"""
    parked, spinning = (points(lock, [cores], 500.0, park=park)[0] for park in ("on", "off"))
    assert parked.time == spinning.time
    # Programs count their own round trips, and may be 2,000 cycles apart.
    assert abs(parked.total("rounds") - spinning.total("rounds")) <= cores
    assert sum(core["instructions"] for core in parked.per_core) < sum(core["instructions"] for core in spinning.per_core)


WAITS = BUILD / "tests/programs/waits.elf"
WAYS = ["semaphore", "mutex", "barrier", "register", "vector", "stored", "time", "places"]
MESSAGE_NS = 2000
BEGIN, END = 800_000_000, 900_000_000  # ns: the boot is over, and what is measured, too


def waits(cpu: int, what: str, *args: int, barrier: bool = True) -> Program:
    return Program(f"waits-{cpu}", cpu, elf=WAITS, args=(what, *map(str, args)), barrier=barrier)


def waited(target: Plan, **plugin: str) -> dict[str, int]:
    """Nanoseconds that the measuring program has waited in each way."""
    with run.marks(XEON, target, options=plugin) as marks, machine(target, accel=run.mode(XEON), extra=marks.arguments) as booted:
        booted.wait_done()
        assert booted.status == qemu.EXIT_SUCCESS, booted.console
        found = {way: int(ns) for way, ns in re.findall(r"waited: (\w+) (\d+) ns", booted.console)}
    assert list(found) == WAYS
    return found


@needs_new
@pytest.mark.limit(600)
def test_parking_counted() -> None:
    """modelled machine: a program whose loops go on by a count waits beside a core that executes as long as if it were not parked"""
    target = plan(deployment(1, 2, network=False, shutdown="when-done", programs=(
        waits(0, "works", BEGIN, END), waits(1, "measure", 20, BEGIN, END),
    )))
    assert waited(target, park="on") == waited(target, park="off")


@needs_new
@pytest.mark.limit(900)
def test_clusters_apart() -> None:
    """modelled machine: what a cluster measures is the same to the digit whether a program of another one executes or sleeps; one that ends costs a message"""
    moment = BEGIN + 200_000  # while the other cluster measures
    works, exits, rests = (
        waited(plan(deployment(2, 2, network=False, shutdown="when-done", programs=(
            waits(1, what, moment, END), waits(3, "measure", 100, BEGIN, END),
        )))) for what in ("works", "exits", "rests")
    )
    assert sum(works.values()) > 2_000_000  # so long that most of it is after the moment
    assert works == rests
    # An end is told to the other cluster's manager: its core works for that once, and the one that measures may wait for the kernel.
    assert sum(abs(exits[way] - works[way]) for way in WAYS) < MESSAGE_NS and sum(exits[way] != works[way] for way in WAYS) < 5
