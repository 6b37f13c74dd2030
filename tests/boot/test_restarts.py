# SPDX-License-Identifier: BSD-2-Clause
"""Programs that end: what they had is free again, and their policy says whether they are started again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from deploy.deployment import Program, Redis
from deploy.machine import monitor, qemu
from deploy.machine.events import Event
from deploy.machine.run import Run
from tests.boot.machine import client, deployment, machine, order, servers, with_redis
from topology.units import KIB, MIB

OFTEN = 16  # restarts in 60 s: as many as a limit can be


def program(name: str, cpu: int, restart: str, limit: int, *arguments: str, heap: int = 2 * MIB) -> Program:
    """A crash: a fault in the way that its argument names, or, where that is none, exit status 1."""
    return Program("crash", cpu, heap=heap, args=arguments, barrier=False, name=name, restart=restart, restart_limit=limit, restart_delay=0)


def sleeper(name: str, cpu: int, restart: str, limit: int) -> Program:
    """Exit status 0."""
    return replace(program(name, cpu, restart, limit, "1", "1000"), program="sleep")


PROGRAMS = (
    program("faulty", 1, "on-failure", 3, "text"),
    program("failing", 1, "on-failure", 2),
    program("large", 1, "always", OFTEN, "null", heap=64 * MIB),
    sleeper("good", 1, "on-failure", 4),
    sleeper("busy", 1, "always", OFTEN),
    program("never", 1, "never", 5, "null"),
    # in the second cluster, where one of two writes
    program("alone", 3, "always", OFTEN, heap=64 * MIB),
    program("silent", 3, "on-failure", OFTEN, "null", heap=64 * MIB),
)
RESTARTS = {"faulty": 3, "failing": 2, "large": OFTEN, "good": 0, "busy": OFTEN, "never": 0, "alone": OFTEN, "silent": OFTEN}


def ends(run: Run, programs: Sequence[Program]) -> bool:
    """Each has ended for the last time: it stays down, or its policy lets it."""
    down = {base(event) for event in run.events.of("stays-down")}
    ended = {base(event) for kind in ("exit", "fault") for event in run.events.of(kind)}
    return all(p.name in (down if p.restart != "never" and RESTARTS[p.name or ""] else ended) for p in programs)


def base(event: Event) -> str:
    return str(event["app"]).partition("@")[0]


def switched_off(programs: Sequence[Program], check: Callable[[Run], None]) -> dict[int, Event]:
    """What each cluster has free when all have ended."""
    with machine(deployment(network=False, programs=tuple(programs))) as run:
        run.wait_for(lambda: ends(run, programs), "the last end of each")
        check(run)
        monitor.human(run.command.monitor, monitor.POWER_BUTTON)
        run.wait_for(lambda: not run.running, "the machine is off")
        assert run.status == qemu.EXIT_SUCCESS
        return {event["cluster"]: event for event in run.events.of("memory")}


def check_restarts(run: Run) -> None:
    restarts = Counter(base(event) for event in run.events.of("restart"))
    starts = Counter(base(event) for event in run.events.of("started"))
    down = {base(event): event["restarts"] for event in run.events.of("stays-down")}
    assert restarts == Counter(RESTARTS)
    assert starts == {name: count + 1 for name, count in RESTARTS.items()}
    assert down == {name: count for name, count in RESTARTS.items() if count}
    assert {event["after_ms"] for event in run.events.of("restart")} == {0}
    for event in run.events.of("restart"):
        assert 1 <= event["restarts"] <= RESTARTS[base(event)]
    assert not run.events.of("failed")


def check_once(run: Run) -> None:
    assert not run.events.of("restart") and not run.events.of("stays-down")
    assert len(run.events.of("started")) == len(PROGRAMS)


@pytest.mark.limit(150)
def test_what_an_ended_program_had_is_free_again() -> None:
    """programs are started again by their policies, and leave as much free after many ends as after one"""
    often = switched_off(PROGRAMS, check_restarts)
    once = switched_off([replace(p, restart="never") for p in PROGRAMS], check_once)
    # what a manager keeps for programs' texts depends on how many write at once
    for cluster, (memory, slots) in enumerate(((64 * KIB, 64), (0, 0))):
        assert abs(often[cluster]["free"] - once[cluster]["free"]) <= memory
        assert abs(often[cluster]["slots"] - once[cluster]["slots"]) <= slots
        assert once[cluster]["total"] - once[cluster]["free"] < 16 * MIB  # the manager's, and what programs share


@pytest.mark.limit(150)
def test_run_ends() -> None:
    """a run ends when the programs that count have: one that is always started again keeps none from its end"""
    counted = replace(sleeper("counted", 3, "on-failure", 3), barrier=True)
    always = replace(sleeper("always", 1, "always", 0), barrier=True)
    what = deployment(network=False, programs=(counted, always), shutdown="when-done")
    with machine(what) as run:
        run.wait_done()
        (done,) = run.events.of("done")
        assert done["status"] == 0 and done.get("down") is None
    failing = replace(program("counted", 3, "on-failure", 2), barrier=True)
    with machine(replace(what, programs=(failing, always))) as run:
        run.wait_for(lambda: not run.running, "the end")
        (done,) = run.events.of("done")
        assert done["status"] == 1 and done["why"] == "an application ended too often and stays down"
        assert [name.partition("@")[0] for name in done["down"]] == ["counted"]
        assert len(run.events.of("restart", app=done["down"][0])) == 2


@pytest.mark.limit(150)
def test_run_is_over() -> None:
    """when the programs that count have ended the run is over, also where the machine runs on: nothing is started again then"""
    counted = replace(sleeper("counted", 1, "never", 0), args=("1", "3000000"), barrier=True)
    always = replace(sleeper("always", 3, "always", 0), args=("1", "300000"))
    with machine(deployment(network=False, programs=(counted, always), shutdown="never")) as run:
        run.wait_event("restart")
        done = run.wait_event("done")
        assert done["status"] == 0 and run.running
        begun, restarts = time.monotonic(), len(run.events.of("restart"))
        run.wait_for(lambda: time.monotonic() > begun + 3, "three seconds")
        assert restarts >= 1 and len(run.events.of("restart")) == restarts and run.running


def kill(run: Run, name: str, number: int) -> None:
    """By a write where it must not; returns when it serves again."""
    order(run, name, "DEBUG SEGFAULT")
    run.wait_for(lambda: len(run.events.of("restart", app=name)) == number, "the restart")
    run.wait_for(lambda: len(run.events.of("serving", app=name)) == number + 1, "serving again")


@pytest.mark.limit(200)
@pytest.mark.parametrize("stack", ["inproc", "process"])
def test_redis(stack: str) -> None:
    """a Redis that is killed comes up again, at its address, and the others serve on"""
    what = Redis(heap=64 * MIB, args=(*Redis.args, "--enable-debug-command", "yes"), stack=stack, restart="on-failure")
    with machine(replace(with_redis(), redis=what)) as run:
        run.wait_serving()
        names = servers(run)
        for name in names:
            with client(run, name) as server:
                server.set("who", name)
        victims = (names[0], names[-1])  # beside the switch, and in the other cluster
        for number in (1, 2):
            for victim in victims:
                kill(run, victim, number)
                with client(run, victim) as server:
                    assert server.ping() and server.get("who") is None
                    server.set("who", victim)
        for name in names:
            with client(run, name) as server:
                assert server.get("who") == name.encode()
        assert not run.events.of("failed") and not run.events.of("cluster-lost") and run.running
