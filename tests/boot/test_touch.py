# SPDX-License-Identifier: BSD-2-Clause
"""Memory that a program is promised is there when it is touched, and takes none before."""

from dataclasses import replace
from typing import Any

import pytest

from deploy.deployment import Program
from deploy.machine import monitor, qemu
from deploy.machine.events import Event
from deploy.machine.run import Run
from tests.boot.machine import deployment, machine
from topology.machines.machine import default_memory
from topology.units import MIB

HEAP = 64 * MIB


def touch(way: str, cpu: int = 1, *arguments: str, heap: int = HEAP) -> Program:
    return Program("touch", cpu, heap=heap, args=(way, *arguments), barrier=False, name=f"touch-{way}")


def ended(*programs: Program, **rest: Any) -> tuple[dict[str, Event], dict[str, Event], dict[int, Event]]:
    """Exits and faults by the way, and what each cluster said of its memory at the end."""
    with machine(deployment(network=False, programs=programs, **rest)) as run:
        run.wait_for(lambda: len(run.events.of("exit")) + len(run.events.of("fault")) == len(programs),
                     "the end of each")
        monitor.human(run.command.monitor, monitor.POWER_BUTTON)
        run.wait_for(lambda: not run.running, "the machine is off")
        assert run.status == qemu.EXIT_SUCCESS
        return _by_way(run, "exit"), _by_way(run,
                                             "fault"), {event["cluster"]: event for event in run.events.of("memory")}


def _by_way(run: Run, kind: str) -> dict[str, Event]:
    return {str(event["app"]).partition("@")[0].removeprefix("touch-"): event for event in run.events.of(kind)}


def committed(memory: dict[int, Event]) -> dict[str, int]:
    return {app.partition("@")[0].removeprefix("touch-"): size for event in memory.values()
            for app, size in event["committed"].items()}


@pytest.mark.limit(150)
def test_touch() -> None:
    """memory is there when it is touched, by several threads at once; what was not is free of cost"""
    exits, faults, memory = ended(touch("all"), touch("drop"), touch("forge", 3))
    assert not faults and {way: event["status"] for way, event in exits.items()} == {"all": 0, "drop": 0, "forge": 0}
    taken = committed(memory)
    assert HEAP - 12 * MIB < taken["all"] < HEAP + 4 * MIB
    assert taken["drop"] < 8 * MIB and taken["forge"] < 8 * MIB
    for event in memory.values():
        assert all(HEAP < bytes_of_app < HEAP + 4 * MIB for bytes_of_app in event["per_app"].values())


@pytest.mark.limit(150)
def test_touch_again() -> None:
    """messages about memory that is there already change nothing, and the manager goes on"""
    exits, faults, _ = ended(touch("again"), touch("drop", 3))
    assert not faults and {way: event["status"] for way, event in exits.items()} == {"again": 0, "drop": 0}


@pytest.mark.limit(150)
def test_not_promised() -> None:
    """a program that touches what it was not promised, or runs its heap, is killed with a report"""
    exits, faults, _ = ended(touch("beyond"), touch("execute"), touch("cut", 3))
    assert not exits
    assert "write" in faults["beyond"]["cause"] and faults["beyond"]["address"] == 0x100000000 + HEAP
    assert "execute" in faults["execute"]["cause"] and "page fault" in faults["cut"]["cause"]


@pytest.mark.limit(300)
def test_reserved() -> None:
    """nearly all memory is promised to two programs: both have it when they touch it at the same time"""
    heap = (default_memory(2) - 128 * MIB) // (4 * MIB) * (2 * MIB)
    programs = (touch("late", 0, "2", heap=heap), replace(touch("late", 1, "2", heap=heap), name="touch-too"))
    exits, faults, memory = ended(*programs, sockets=1)
    assert not faults and {way: event["status"] for way, event in exits.items()} == {"late": 0, "too": 0}
    assert all(size > heap * 30 // 32 for size in committed(memory).values())  # the rest is what brk() may have


@pytest.mark.limit(150)
def test_refused() -> None:
    """a program whose memory cannot be reserved is refused at its start; the one that was promised it has it"""
    heap = 32 * MIB
    programs = (touch("late", 1, "1", heap=default_memory(2) - heap - 2 * MIB), touch("all", heap=heap))
    with machine(deployment(sockets=1, network=False, programs=programs)) as run:
        assert str(run.wait_event("failed")["app"]).startswith("touch-all")
        assert run.wait_event("exit")["status"] == 0
        assert not run.events.of("fault") and "touch-all@1 cannot be started: its heap" in run.console
