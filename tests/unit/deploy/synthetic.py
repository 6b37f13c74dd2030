# SPDX-License-Identifier: BSD-2-Clause
"""Events of a machine that was never booted, and folders as those of machines that run."""

import json
import os
import socket
from pathlib import Path
from typing import Any

from deploy.base.paths import ROOT
from deploy.deployment.planner import Plan
from deploy.live.lockstat.snapshot import COUNTERS
from deploy.machine.events import EventStream
from deploy.machine.run_folder import TREE
from deploy.results.result import Clock

HZ = 1_000_000_000
EMULATED = Clock(emulated=True)


def stream(*events: dict[str, Any]) -> EventStream:
    made = EventStream()
    made.feed("".join(json.dumps(e) + "\n" for e in events).encode())
    return made


def snapshot(cluster: int, cpus: list[int], when: str, tsc: int, scale: int) -> dict[str, Any]:
    """Counters that grow with `scale`; every core is half idle."""
    cores = []
    for number, cpu in enumerate(cpus):
        core = {name: scale * 1000 for name in COUNTERS} | {"cpu": cpu, "core": number, "tsc": tsc, "started": 0,
                                                            "idle": tsc // 2}
        core["lock_conflicts"] = scale * 10
        cores.append(core)
    return {"event": "stats", "when": when, "tsc": tsc, "tsc_hz": HZ, "cluster": cluster, "kernel": "clh+stat",
            "cores": cores}


def ycsb(app: str, cpu: int, operations: int, loaded: int, server: str = "a:1", seconds: float = 2.0,
         **changed: Any) -> list[dict[str, Any]]:
    """A client's result of so many seconds: half of the operations take 10 us, the others 20, in two parts."""
    half = operations // 2
    data = {
        **{"event": "ycsb", "client": app, "operations": operations, "reads": operations, "updates": 0},
        **{"errors": 0, "wrong": 0, "mean_us": 15.0, "max_us": 20.0, "histogram_parts": 2},
        **{"start_ns": HZ, "end_ns": HZ + int(seconds * HZ)},
        "load": {"records": loaded, "seconds": 1.0},
        "server": server,
        "memory": {"used": 20 << 20, "resident": 40 << 20},
    } | changed
    parts = [{"event": "histogram", "part": 1, "pairs": [10.0, half]}]
    parts.append({"event": "histogram", "part": 2, "pairs": [20.0, operations - half]})
    return [{"event": "result", "app": app, "cluster": 0, "cpu": cpu, "data": d} for d in [*parts, data]]


def good_run(plan: Plan, seconds: float = 2.0) -> list[dict[str, Any]]:
    assert plan.load
    events: list[dict[str, Any]] = []
    for cluster in plan.cluster_map.clusters:
        events.append({"event": "boot", "cluster": cluster.number})
    for app in plan.cluster_map.applications:
        if app.program == "ycsb":
            share = int(app.args[app.args.index("--load-count") + 1])
            server = app.args[app.args.index("--host") + 1] + ":6379"
            events += ycsb(app.name, app.cpu, plan.load.operations, share, server, seconds)
            events.append({"event": "exit", "app": app.name, "status": 0})
    for cluster in plan.cluster_map.clusters:
        events.append(snapshot(cluster.number, cluster.cpus, "barrier-1", HZ, 1))
        events.append(snapshot(cluster.number, cluster.cpus, "barrier-2", HZ + int(seconds * HZ), 3))
    for cluster in plan.cluster_map.clusters:
        heaps = {a.name: a.heap for a in plan.cluster_map.applications if a.cpu in cluster.cpus}
        memory = {"total": 1 << 30, "free": 1 << 28, "per_app": heaps,
                  "committed": {name: size // 2 for name, size in heaps.items()}}
        events.append({"event": "memory", "cluster": cluster.number} | memory)
    events.append({"event": "done", "status": 0})
    return events


def run_folder_of(place: Path, pid: int | None = None, tree: str = str(ROOT)) -> Path:
    """A private folder with a monitor's socket, of a process that lives: this one, or `pid`."""
    folder = place / f"skerry-run-{pid or os.getpid()}-1"
    folder.mkdir(0o700)
    (folder / TREE).write_text(tree)
    name = folder / "qmp.sock"
    with socket.socket(socket.AF_UNIX) as monitor:
        where = os.getcwd()
        os.chdir(folder)  # a socket's path has 107 characters at most
        try:
            monitor.bind(name.name)
        finally:
            os.chdir(where)
    return folder
