# SPDX-License-Identifier: BSD-2-Clause
"""One figure of several runs, in the shape that every results file has."""

from collections.abc import Mapping
from typing import Any

from deploy.bench.ipc.measure import Spread
from deploy.bench.native.runs import Runs
from deploy.results import kinds
from deploy.results.result import Result

KERNEL = ("kernel", "read", "write")  # classes of the lock around the kernel; others are objects'


def entry(
    lock: str, workload: str, cores: int, runs: Runs, spread: Mapping[str, Spread],
    more: Mapping[str, float] | None = None, clusters: int = 1, per_core: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """`spread` has least and most beside each median; `more` are figures of one run."""
    metrics = {name: value.median for name, value in spread.items()} | dict(more or {})
    fields = Result(
        layout="spanning" if clusters == 1 else "size=1", lock=lock, workload=workload, clusters=clusters, cores=cores,
        emulated=False, metrics=metrics, per_core=per_core or [],
    ).to_json()
    fields |= {
        "emulated": False,
        "kind": kinds.NATIVE,
        "min_max": {name: [value.least, value.most] for name, value in spread.items()},
        "runs": len(runs.used),
        "disturbed_runs": len(runs.disturbed),
    }
    why = runs.first("no_transactions")
    return fields | ({"runs_as": "clh", "no_transactions": why} if why else {})


def counted(result: Mapping[str, Any]) -> dict[str, float]:
    """Returns the metrics of a kernel that counts (+stat)."""
    counted = result.get("counted")
    if not counted:
        return {}
    locks = [of for name, of in counted["locks"].items() if name in KERNEL]
    objects = [of for name, of in counted["locks"].items() if name not in KERNEL]
    acquisitions = sum(of["acquisitions"] for of in locks)
    metrics = {}
    if acquisitions:
        metrics["lock_conflict_ratio"] = sum(of["conflicts"] for of in locks) / acquisitions
        metrics["lock_mean_wait_cycles"] = sum(of["wait"] for of in locks) / acquisitions
        metrics["lock_mean_hold_cycles"] = sum(of["hold"] for of in locks) / acquisitions
    if objects:
        metrics["object_locks_per_entry"] = sum(of["acquisitions"] for of in objects) / counted["entries"]
        metrics["object_lock_conflict_ratio"] = sum(of["conflicts"] for of in objects) / sum(of["acquisitions"]
            for of in objects)
    transactions = counted["transactions"]
    if transactions["begun"] or transactions["fallbacks"]:
        metrics["fallback_ratio"] = transactions["fallbacks"] / counted["entries"]
        for cause, count in transactions["aborted"].items():
            metrics[f"aborts_{cause}_per_entry"] = count / counted["entries"]
    return metrics


def name_of(result: Mapping[str, Any]) -> str:
    """Returns the name of its regime in tables and plots."""
    return f"{result['lock']} (as clh)" if result.get("runs_as") else str(result["lock"])
