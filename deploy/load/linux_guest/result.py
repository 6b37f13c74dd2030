# SPDX-License-Identifier: BSD-2-Clause
"""One measurement of the Linux guest, in the shape that every result file has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deploy.base.errors import Failure
from deploy.base.readiness import first_pong
from deploy.deployment import Deployment
from deploy.load.linux_guest.guest import build_guest, version
from deploy.load.linux_guest.machine import LinuxRun, Options
from deploy.machine.events import EventStream
from deploy.machine.image import DirectBoot
from deploy.results import ycsb
from deploy.results.snapshots import mean, ratio


def measure(
    deployment: Deployment, options: Options, guest: DirectBoot | None = None, time_ready: bool = False
) -> dict[str, Any]:
    """Boots, loads, runs, checks; one entry of "results". `time_ready`: with the time to the first +PONG outside."""
    assert deployment.redis
    with LinuxRun(guest or build_guest(server=deployment.redis.server), deployment, options) as run:
        metrics: dict[str, float] = {}
        if time_ready:
            first = next(iter(run.plan.ports))
            run.wait_for(lambda: bool(run.events.of("serving", app=first)), f"'serving' of {first}")
            metrics["boot_to_pong_s"] = first_pong(run.address(first), run.pid) - run.started
        if deployment.load.clients:
            run.wait_done()
            return loaded(run, metrics)
        run.wait_serving()
        return _idle(run, metrics)


def _idle(run: LinuxRun, metrics: dict[str, float]) -> dict[str, Any]:
    """Returns the figures that need no load."""
    events, accel = run.events, run.options.accel
    boot = events.of("boot")[0]
    assert run.deployment.redis
    server = run.deployment.redis.server
    metrics["boot_to_serving_s"] = max(e["ns"] for e in events.of("serving")) / 1e9  # from the kernel's start
    return {
        "system": "linux",
        "layout": "spanning",
        "clusters": 1,
        "cores": run.deployment.shape.cpus,
        "emulated": accel.emulated,
        "mode": accel.description,
        "kernel": boot["kernel"],
        "clocksource": boot["clocksource"],
        "server": server,
        "server_version": version(server),
        "network": "loopback",
        "metrics": metrics,
        "memory": _memory(events),
    }


def loaded(run: LinuxRun, metrics: dict[str, float]) -> dict[str, Any]:
    """Returns the figures of a run that is done, checked."""
    clients = ycsb.collect(run.events)
    _check(run, clients)
    seconds = (max(c.number("end_ns") for c in clients) - min(c.number("start_ns") for c in clients)) / 1e9
    utilisation = _utilisation(run.events)
    metrics |= ycsb.figures(clients, seconds)
    metrics["cpu_utilisation"] = sum(utilisation.values()) / len(utilisation)
    metrics["memory_per_instance"] = mean(ycsb.resident(clients).values())
    if run.options.accel.icount:  # one clock of 1 ns an instruction for all cores
        metrics["instructions_per_op"] = ratio(seconds * 1e9, metrics["operations"])
    entry = _idle(run, metrics)
    entry["workload"] = run.deployment.load.workload
    entry["latency_us"] = ycsb.merged(clients)
    entry["per_core"] = [
        {
            "cluster": 0,
            "core": core,
            **ycsb.figures([client for client in clients if client.cpu == core], seconds),
            "cpu_utilisation": busy,
        }
        for core, busy in utilisation.items()
    ]
    return entry


def _check(run: LinuxRun, clients: Sequence[ycsb.Client]) -> None:
    """A run that loses an operation or gets a wrong value back is worth nothing."""
    shares = run.plan.shares
    problems = [p for c in clients for p in ycsb.problems(c, run.deployment.load, shares.get(c.app, 0))]
    problems += [f"{name}: no result" for name in shares.keys() - {client.app for client in clients}]
    problems += [f"{e['app']}: ended with status {e['status']}" for e in run.events.of("exit") if e["status"]]
    if problems:
        raise Failure(f"the Linux guest: {problems[0]}")


def _memory(events: EventStream) -> dict[str, Any]:
    """Bytes: of each Redis ("resident", of which "shared" with files), and of the whole guest, at each point."""
    by_moment: dict[str, Any] = {}
    for event in events.of("memory"):
        at = by_moment.setdefault(event["when"], {"redis": {}})
        if "app" in event.data:
            at["redis"][event["app"]] = {"resident": event["resident"], "shared": event["shared"]}
        else:
            at |= {"total": event["total"], "available": event["available"]}
    return by_moment


def _utilisation(events: EventStream) -> dict[int, float]:
    """Returns each core's utilisation between the barriers of the clients; Linux counts in ticks of 10 ms."""
    before = {e["cpu"]: e for e in events.of("stats", when="barrier-1")}
    shares = {}
    for event in events.of("stats", when="barrier-2"):
        busy = event["busy_ticks"] - before[event["cpu"]]["busy_ticks"]
        idle = event["idle_ticks"] - before[event["cpu"]]["idle_ticks"]
        shares[event["cpu"]] = ratio(busy, busy + idle)
    if not shares:
        raise Failure("the Linux guest counted no ticks")
    return shares
