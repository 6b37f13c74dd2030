# SPDX-License-Identifier: BSD-2-Clause
"""Programs of cluster-kernel/bench, one for each kernel: runs in turn, so that what changes on the machine meets all
alike; medians with spread, in the shape that every results file has."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from deploy.base.errors import Failure
from deploy.base.partial import Parts
from deploy.base.paths import BUILD
from deploy.base.process import run_within
from deploy.bench.ipc.measure import Spread
from deploy.results import kinds
from deploy.results.result import Result
from deploy.setup import needs
from deploy.setup.build import require

FOLDER = BUILD / "cluster-kernel" / "bench"
CORES = "bench-cores"
TIMEOUT = 120  # seconds of given time; the longest takes a few


def of_kernel(kernel: str) -> str:
    """`clh`, or `clh+stat`, which counts."""
    return f"kernel-bench-{kernel}"


def run_program(name: str, *bench: str, **options: int | str) -> dict[str, Any]:
    require(needs.native(name))
    command = [str(FOLDER / name), *bench, *(f"{key}={value}" for key, value in options.items())]
    try:
        done = run_within(command, TIMEOUT)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is missing; ./skerry build makes it") from None
    except subprocess.TimeoutExpired:
        raise Failure(f"{name} {' '.join(bench)} did not end within {TIMEOUT} s") from None
    try:
        result: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        message = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        raise Failure(f"{name} {' '.join(bench)}: {message}") from None
    check_counts(name, result)
    if done.returncode:
        raise Failure(f"{name} {' '.join(bench)}: it ended with status {done.returncode}")
    return result


def check_counts(name: str, result: dict[str, Any]) -> None:
    """Everything that must add up."""
    entries = result.get("all_entries")
    if "counter" in result and result["counter"] != entries:
        raise Failure(f"{name}: the lock does not exclude: {entries} entries, and {result['counter']} were counted "
                      f"in it")
    counted = result.get("counted")
    if not counted:
        return
    if counted["entries"] != entries:
        raise Failure(f"{name}: {entries} entries were made, and the kernel counted {counted['entries']}")
    locks, transactions = counted["locks"], counted["transactions"]
    # An entry is a reader first, where there are some; a writer it becomes afterwards.
    acquisitions = sum(locks[name]["acquisitions"] for name in ("kernel", "read") if name in locks)
    if result["regime"] == "none":
        expected = 0
    elif result["regime"] == "rtm":
        expected = transactions["fallbacks"]
        if transactions["committed"] + expected != entries:
            raise Failure(f"{name}: {transactions['committed']} commits and {expected} fallbacks are not {entries} "
                          f"entries")
        aborted = sum(transactions["aborted"].values())
        begun, ended = transactions["begun"], transactions["committed"] + aborted
        if begun != ended:
            raise Failure(f"{name}: begun transactions ({begun}) != committed + aborted ({ended})")
    else:
        expected = entries
    if acquisitions != expected:
        raise Failure(f"{name}: the kernel's lock was taken {acquisitions} times, not {expected}")
    for lock, of in locks.items():
        if of["conflicts"] > of["acquisitions"]:
            raise Failure(f"{name}: more conflicts of '{lock}' than acquisitions")


UNDISTURBED = 0.97  # share of its time that the host let a thread run: the least of a run that counts
TRIES = 2  # for each run that counts


@dataclass(frozen=True)
class Job:
    kernel: str  # regime, or regime+stat
    bench: str
    options: tuple[tuple[str, int | str], ...]

    @property
    def name(self) -> str:
        return f"kernel {self.kernel}, {self.bench}, {', '.join(f'{name} {value}' for name, value in self.options)}"

    def run(self, seed: int) -> dict[str, Any]:
        return run_program(of_kernel(self.kernel), self.bench, **dict(self.options), seed=seed)


def job(kernel: str, bench: str, **options: int | str) -> Job:
    return Job(kernel, bench, tuple(options.items()))


@dataclass
class Runs:
    good: list[dict[str, Any]] = field(default_factory=list)
    disturbed: list[dict[str, Any]] = field(default_factory=list)  # others had one of its processors meanwhile

    @property
    def used(self) -> list[dict[str, Any]]:
        """All where too few were left alone."""
        return self.good if len(self.good) >= len(self.disturbed) else self.good + self.disturbed

    def spread(self, of: Callable[[dict[str, Any]], float]) -> Spread:
        values = [of(result) for result in self.used]
        return Spread(median(values), min(values), max(values))

    def first(self, name: str) -> Any:
        return self.used[0].get(name)


def collect(
    jobs: Sequence[Job], runs: int, parts: Parts, what: str, between: Callable[[], None] | None = None
) -> dict[Job, Runs]:
    """`runs` of each that nothing disturbed; where that cannot be had, what there is after twice as many.

    A job that fails is not run again, and one without a run is not in the result. `between` looks at the machine, each
    time that all have run.
    """
    collected = {each: Runs() for each in jobs}
    failing: set[Job] = set()
    with parts.output.progress(what, total=runs) as update:
        for attempt in parts.of(range(TRIES * runs)):
            wanting = [each for each in jobs if each not in failing and len(collected[each].good) < runs]
            if not wanting:
                break
            update(completed=min(len(of.good) for of in collected.values()), description=what)
            for each in parts.of(wanting):
                failing.add(each)
                with parts.part(each.name):
                    result = each.run(attempt)
                    of = collected[each]
                    (of.good if result["share"] >= UNDISTURBED else of.disturbed).append(result)
                    failing.remove(each)
            if between and not parts.interrupted:
                between()
    return {each: of for each, of in collected.items() if of.used}


def no_transactions(collected: dict[Job, Runs]) -> str | None:
    """Why regime rtm ran as its fallback, or None: it did not, or did not run."""
    return next((why for runs in collected.values() if (why := runs.first("no_transactions"))), None)


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


def counted_metrics(result: Mapping[str, Any]) -> dict[str, float]:
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
