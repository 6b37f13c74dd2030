# SPDX-License-Identifier: BSD-2-Clause
"""A finished YCSB run as figures, in the shape that every result file has; and whether to believe it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.base import host
from deploy.base.paths import ROOT
from deploy.base.terminal import version as skerry_version
from deploy.deployment.engines import ENGINES, REDIS, engine_of, is_server
from deploy.deployment.planner import Plan
from deploy.live.lockstat.snapshot import Core
from deploy.machine.crashes import is_started_again
from deploy.machine.events import BAD_LINE, CLUSTER_DOWN, EventStream, lost_words
from deploy.machine.qemu import Accel, version
from deploy.results import fingerprint, kinds, snapshots, survival, ycsb
from topology.maps.clustermap import NEVER
from topology.maps.draw import to_json

if TYPE_CHECKING:
    from deploy.emulator.entries import Entries
    from deploy.emulator.machine_file import ModelledMachine
    from deploy.results.counting import Counting

LAUNCHED = ROOT / "deploy/cli/main.py"  # the program that ./skerry runs
# Where cores take turns, one that waits for its turn counts as busy, a lock is held while its holder has none, and a
# request
# waits until its server's core has its turn.
LATENCIES = ("mean_us", "p50_us", "p99_us", "p999_us", "max_us")
DISTORTED = ("cpu_utilisation", "lock_conflict_ratio", "lock_mean_wait_cycles", "lock_mean_hold_cycles", *LATENCIES)
# Not known of a machine of which a cluster was started again within the interval: its first life's counters are lost.
UNKNOWN = (
    "cpu_utilisation", "kernel_entries_per_s", "kernel_entries_per_op", "lock_conflict_ratio", "lock_mean_wait_cycles",
    "lock_mean_hold_cycles", "fallback_ratio",
)  # fmt: skip
BAD_EVENTS = ("fault", "failed", "cluster-lost", *CLUSTER_DOWN, "too-long", BAD_LINE)


@dataclass(frozen=True)
class Clock:
    """The clock and the machine that a run's times are of."""

    emulated: bool
    round_robin: bool = False  # cores took turns: see DISTORTED
    counts: bool = False  # instructions: one clock of 1 ns each for all cores
    modelled: ModelledMachine | None = None

    @staticmethod
    def of(accel: Accel, modelled: ModelledMachine | None = None) -> Clock:
        return Clock(accel.emulated, accel.round_robin and not modelled, accel.icount, modelled)


@dataclass(frozen=True)
class Result:
    """The measurements of a run. Complete when it is made: a run beside it, or a later figure, makes another one."""

    layout: str
    lock: str
    workload: str
    clusters: int
    cores: int
    emulated: bool
    metrics: Mapping[str, float]
    per_core: list[dict[str, Any]]
    problems: list[str] = field(default_factory=list)
    round_robin: bool = False  # cores took turns: see DISTORTED
    system: str = "skerry"
    latency_us: list[tuple[float, int]] | None = None  # all operations: microseconds, how many
    counting: Counting | None = None  # the run that the kernel's counts are of, where it is not this one
    modelled: dict[str, Any] | None = None  # the modelled machine, where it is one
    observed: Entries | None = None  # there: kernel entries of this very run
    # cores whose cluster was, within the interval: their counts are lost
    started_again: list[int] = field(default_factory=list)
    machine: dict[str, Any] | None = None  # which core was where, in which cluster, and what ran there
    server: str | None = None  # what the clients asked: redis, valkey
    server_version: str | None = None

    @property
    def served_by(self) -> str:
        """Returns the server as tables name it."""
        return ENGINES[self.server or REDIS.name].named(self.server_version)

    def to_json(self) -> dict[str, Any]:
        optional = {"latency_us", "machine", "modelled", "observed", "server", "server_version"}
        entry = {key: value for key, value in vars(self).items() if key not in optional or value is not None}
        if not self.started_again:
            del entry["started_again"]
        if entry.pop("round_robin"):
            entry["distorted"] = list(DISTORTED)
        if self.observed:
            entry["observed"] = self.observed.to_json()
        if (counting := entry.pop("counting")) is not None:
            entry["counting"] = counting.to_json()
        if not self.emulated:
            del entry["emulated"]
        return entry | {"metrics": nested(self.metrics)}

    def with_metrics(self, more: Mapping[str, float]) -> Result:
        return replace(self, metrics={**self.metrics, **more})


def nested(metrics: Mapping[str, float]) -> dict[str, Any]:
    """Returns metrics as files have them: {"a.b": 1} is {"a": {"b": 1}}."""
    tree: dict[str, Any] = {}
    for name, value in metrics.items():
        outer, _, inner = name.partition(".")
        if inner:
            tree.setdefault(outer, {})[inner] = value
        else:
            tree[name] = value
    return tree


def check(plan: Plan, events: EventStream) -> list[str]:
    """Everything that makes a run worthless: faults, failed programs, operations lost or wrong."""
    assert plan.load
    survives = plan.load.survive > 0
    problems = [lost_words(e) for e in events.of("cluster-lost") if not (survives and is_started_again(e, plan))]
    problems += [
        f"{e.kind}: {e.get('app', '')} {e}" for e in events.events
        if e.kind in BAD_EVENTS and e.kind != "cluster-lost" and not (survives and is_started_again(e, plan))
    ]  # fmt: skip
    unanswered = {one.client: one.reads + one.updates for one in survival.collect(events)}
    expected = [a for a in plan.cluster_map.applications if a.program == "ycsb"]
    clients = {c.app: c for c in ycsb.collect(events)}
    exits = {e.get("app"): e.get("status") for e in events.of("exit")}
    for app in expected:
        if app.name in exits and exits[app.name] != 0:
            problems.append(f"{app.name}: ended with status {exits[app.name]}")
        if app.name not in clients:
            problems.append(f"{app.name}: no result")
            continue
        share = int(app.args[app.args.index("--load-count") + 1])
        problems += ycsb.problems(clients[app.name], plan.load, share, unanswered.get(app.name, 0))
    names = {a.name for a in expected}
    problems += [f"{name}: a result of a client that was not started" for name in clients if name not in names]
    again = {app.name for app in plan.cluster_map.applications if app.restart != NEVER} if survives else set()
    done = {app.name for app in plan.cluster_map.applications if app.origin[:1] == ("program",)
            and exits.get(app.name) == 0}  # a program beside the load, which serves nobody
    problems += [f"{app}: ended before its clients" for app in exits if app and app not in names | again | done]
    return problems


def evaluate(plan: Plan, events: EventStream, clock: Clock) -> Result:
    """Returns the figures of the interval in which all clients ran: all have loaded .. the last has finished."""
    assert plan.load
    bad = check(plan, events)
    engine = engine_of(app.program for app in plan.cluster_map.applications)
    clients = ycsb.collect(events)
    cores = [core for cluster in plan.cluster_map.clusters for core in snapshots.between(events, cluster.number)]
    bad += [problem for core in cores for problem in core.problems()]
    again = {cpu: cluster.number for cluster in plan.cluster_map.clusters
             for cpu in snapshots.started_again(events, cluster.number)}
    missing = set(range(len(plan.cluster_map.cpus))) ^ {core.cpu for core in cores} ^ set(again)
    reserved, committed = (_told(plan, events, what) for what in ("per_app", "committed"))
    bad += [f"{name}: no report of the memory that it was given" for name, size in reserved.items() if not size]
    bad += [f"cpu {cpu}: no counters, or counters of a core that is not there" for cpu in sorted(missing)]
    seconds = max((core.seconds for core in cores), default=0.0) or snapshots.seconds(events)
    metrics = _metrics(clients, cores, seconds)
    metrics |= _unknown(metrics) if again else {}
    counted = {"instructions_per_op": snapshots.ratio(seconds * 1e9, metrics["operations"])} if clock.counts else {}
    return Result(
        layout=plan.layout,
        lock=plan.lock,
        workload=plan.load.workload,
        clusters=len(plan.cluster_map.clusters),
        cores=len(plan.cluster_map.cpus),
        emulated=clock.emulated,
        metrics=metrics | _memory(clients, committed, reserved)
        | {"channel_hops_per_op": plan.cluster_map.hops_per_operation()} | counted,
        per_core=sorted(
            [_core(core, clients) for core in cores] + [_uncounted(cpu, of, clients) for cpu, of in again.items()],
            key=lambda core: int(core["core"]),
        ),
        started_again=sorted(again),
        problems=bad,
        round_robin=clock.round_robin,
        latency_us=ycsb.merged(clients),
        modelled=clock.modelled.to_json() if clock.modelled else None,
        machine=_machine(plan),
        server=engine.name if engine else None,
        server_version=engine.version() if engine else None,
    )


def _machine(plan: Plan) -> dict[str, Any]:
    """The parts of the map that say what was measured."""
    whole = to_json(plan.cluster_map, plan.machine)
    clusters = [{key: cluster[key] for key in ("cluster", "kernel", "cpus")} for cluster in whole["clusters"]]
    applications = [{key: app[key] for key in ("application", "program", "cpu")} for app in whole["applications"]]
    channels = [channel["ends"] for channel in whole["channels"]]
    return {
        "name": plan.machine.name,
        "cpus": whole["cpus"],
        "clusters": clusters,
        "channels": channels,
        "applications": applications,
    }


def _sum(cores: Iterable[Core], counter: str) -> int:
    return sum(core.counters[counter] for core in cores)


def _locks(cores: Sequence[Core]) -> dict[str, float]:
    """Returns the figures of kernels' whole locks. Mean wait: from wanting the lock to having it, over all
    acquisitions."""
    acquisitions, conflicts, wait = (_sum(cores, f"lock_{name}") for name in ("acquisitions", "conflicts", "wait"))
    return {
        "lock_conflict_ratio": snapshots.ratio(conflicts, acquisitions),
        "lock_mean_wait_cycles": snapshots.ratio(wait, acquisitions),
        "lock_mean_hold_cycles": snapshots.ratio(_sum(cores, "lock_hold"), acquisitions),
        **_transactions([core for core in cores if core.regime == "rtm"]),
    }


def _transactions(cores: Sequence[Core]) -> dict[str, float]:
    """Entries that took the lock instead. All of them, where a machine has no transactions."""
    return {"fallback_ratio": snapshots.ratio(_sum(cores, "lock_acquisitions"),
                                              _sum(cores, "entries"))} if cores else {}


def _metrics(clients: Sequence[ycsb.Client], cores: Sequence[Core], seconds: float) -> dict[str, float]:
    figures = ycsb.figures(clients, seconds)
    return figures | {
        "cpu_utilisation": snapshots.ratio(sum(core.utilisation for core in cores), len(cores)),
        "kernel_entries_per_s": snapshots.ratio(_sum(cores, "entries"), seconds),
        "kernel_entries_per_op": snapshots.ratio(_sum(cores, "entries"), figures["operations"]),
        **_locks(cores),
    }


def _told(plan: Plan, events: EventStream, what: str) -> dict[str, int]:
    """Bytes that its manager reserved for each Redis, most of them its heap (per_app), or has given it (committed); 0:
    not said."""
    sizes = {name: size for event in events.of("memory") for name, size in event[what].items()}
    return {a.name: sizes.get(a.name, 0) for a in plan.cluster_map.applications if is_server(a)}


def _memory(clients: Sequence[ycsb.Client], committed: Mapping[str, int],
            reserved: Mapping[str, int]) -> dict[str, float]:
    """Bytes, the mean of all instances."""
    return {
        "memory_per_instance": snapshots.mean(ycsb.resident(clients).values()),
        "memory_committed": snapshots.mean(committed.values()),
        "memory_reserved": snapshots.mean(reserved.values()),
    }


def _load(cpu: int, cluster: int, clients: Sequence[ycsb.Client]) -> dict[str, Any]:
    """A core's figures that its clients measured."""
    mine = [client for client in clients if client.cpu == cpu]
    return {
        "cluster": cluster,
        "core": cpu,
        "operations": sum(client.number("operations") for client in mine),
        "ops_per_s": ycsb.rate(mine),
        "p50_us": ycsb.percentile(ycsb.merged(mine), 50),
        "p99_us": ycsb.percentile(ycsb.merged(mine), 99),
    }


def _core(core: Core, clients: Sequence[ycsb.Client]) -> dict[str, Any]:
    return _load(core.cpu, core.cluster, clients) | {
        "cpu_utilisation": core.utilisation,
        "kernel_entries_per_s": core.entries / core.seconds,
        **_locks([core]),
    }


def with_work(result: Result, before: Sequence[int], after: Sequence[int], whole: float = 1.0) -> Result:
    """Adds what each core executed for an operation, from its instructions until the load's begin and end. `whole`:
    operations between these for each one that is measured."""
    work = {core["core"]: snapshots.ratio(after[core["core"]] - before[core["core"]], whole * core["operations"])
            for core in result.per_core if core["operations"]}
    return replace(result, per_core=[core | {"instructions_per_op": work.get(core["core"])}
                                     for core in result.per_core])


def _uncounted(cpu: int, cluster: int, clients: Sequence[ycsb.Client]) -> dict[str, Any]:
    """A core of which a part of the interval is not counted."""
    core = _load(cpu, cluster, clients) | _locks([])
    return core | {"cpu_utilisation": None, "kernel_entries_per_s": None} | _unknown(core)


def _unknown(metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None for name in UNKNOWN if name in metrics}


def host_description(accel: Accel, binary: str) -> dict[str, Any]:
    major, minor = version(binary)
    return {
        "cpu": host.cpu().model,
        "cores": host.cpu().cores,
        "kernel": platform.release(),
        "accel": accel.kind,
        "mode": accel.description,
        **({"counts_instructions": True} if accel.icount else {}),
        "qemu": f"{major}.{minor}",
        "environment": host.environment(),
    }


def without_machine(mode: str) -> dict[str, Any]:
    """Describes the host of results that no emulator and no processor has measured."""
    return {"cpu": host.cpu().model, "cores": host.cpu().cores, "mode": mode}


def document(
    command: str, on: dict[str, Any], results: Iterable[Result], others: Iterable[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The results file; `others` are results of other systems. Each entry says of what kind it is, the file which
    images ran."""
    entries: list[dict[str, Any]] = [*(r.to_json() for r in results), *others]
    entries = [entry | {"kind": kinds.kind(entry, on)} if "metrics" in entry else entry for entry in entries]
    images = fingerprint.used()
    words = {"arguments": sys.argv[1:]} if Path(sys.argv[0]) == LAUNCHED else {}  # the user's words
    return {"skerry": skerry_version(), "command": command, **words, "host": on, **images, "results": entries}
