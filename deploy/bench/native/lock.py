# SPDX-License-Identifier: BSD-2-Clause
"""The locks alone: what an idle one costs, how they hand over, that they exclude, why transactions abort."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.bench.native import host as native_host
from deploy.bench.native.runs import Job, Runs, collect, counted_metrics, entry, job
from deploy.bench.regimes import BASELINE

PAIRS = 200_000  # acquisitions of an idle lock, in one run
PARTS = ("enter_exit", "exclusive", "object", "bare_clh")
EXCLUSION = {"section": 0, "delay": 0, "lines": 1, "exclusive": 4, "window": 200_000_000}

# Provocations of an abort, with the cause that it should be counted under.
PROVOKED = {
    "capacity": {"lines": 20_000, "section": 0, "delay": 2000},
    "conflict": {"lines": 8, "section": 500, "delay": 0},
    "explicit": {"irrevocable": 1},
    "other": {"section": 40_000_000, "lines": 0},  # an interrupt: longer than a tick of the host's clock
}


@dataclass(frozen=True)
class Contention:
    cores: Sequence[int]
    delays: Sequence[float]
    section: int
    lines: int
    window: int = 50_000_000  # cycles

    def options(self, usable: native_host.Processors, delay: float, cores: int) -> dict[str, int | str]:
        return {
            "cpus": usable.listed(cores), "delay": round(delay), "section": self.section, "lines": self.lines,
            "window": self.window,
        }  # fmt: skip


def idle(locks: Sequence[str], runs: int, parts: Parts, usable: native_host.Processors) -> list[dict[str, Any]]:
    jobs = [job(lock, "idle", cpus=usable.listed(1), rounds=PAIRS) for lock in locks]
    collected = collect(jobs, runs, parts, "An idle lock")
    return [_idle_result(lock, collected[each]) for lock, each in zip(locks, jobs) if each in collected]


def _idle_result(lock: str, runs: Runs) -> dict[str, Any]:
    """Ratios are made in each run, then their median taken: both sides had the same machine."""

    def net(result: dict[str, Any], name: str) -> float:
        return float(result["cycles"][name]) - float(result["cycles"]["empty"])

    spread = {f"{name}_cycles": runs.spread(partial(net, name=name)) for name in PARTS}
    spread["to_bare_clh"] = runs.spread(lambda r: net(r, "enter_exit") / net(r, "bare_clh"))
    if "bare_rtm" in runs.used[0]["cycles"]:
        spread["bare_rtm_cycles"] = runs.spread(lambda r: net(r, "bare_rtm"))
        spread["to_bare_rtm"] = runs.spread(lambda r: net(r, "enter_exit") / net(r, "bare_rtm"))
        spread["bare_rtm_committed"] = runs.spread(lambda r: r["rtm_committed"])
    return entry(lock, "lock-idle", 1, runs, spread)


def contended(
    locks: Sequence[str], what: Contention, runs: int, parts: Parts, usable: native_host.Processors,
    between: Callable[[], None] | None = None,
) -> list[dict[str, Any]]:
    points = [
        (lock, delay, n) for delay in what.delays for n in what.cores for lock in locks if n == 1 or lock != BASELINE
    ]
    jobs = [job(lock, "contended", **what.options(usable, delay, n)) for lock, delay, n in points]
    counting = [job(f"{lock}+stat", "contended", **what.options(usable, delay, n)) for lock, delay, n in points]
    collected = collect(jobs, runs, parts, "Threads at one lock", between)
    counts = collect(counting, 1, parts, "The same, counted")
    return [
        _contended_result(lock, n, delay, collected[plain], counts[counted].used[0] if counted in counts else {})
        for (lock, delay, n), plain, counted in zip(points, jobs, counting) if plain in collected
    ]


def _wait(result: dict[str, Any], name: str) -> float:
    return float(result["wait"][name])


def _contended_result(lock: str, cores: int, delay: float, runs: Runs, counted: dict[str, Any]) -> dict[str, Any]:
    spread = {
        "throughput_per_cycle": runs.spread(lambda r: r["entries"] / r["window"]),
        "section_cycles": runs.spread(lambda r: r["section"]),
        **{f"{name}_cycles": runs.spread(partial(_wait, name=name)) for name in ("p50", "p99", "max")},
    }
    more = {"delay_cycles": delay, "entries": sum(r["all_entries"] for r in runs.used)}
    return entry(lock, "lock-contended", cores, runs, spread, more | counted_metrics(counted))


def exclusion(
    locks: Sequence[str], cores: int, entries: int, output: Output, usable: native_host.Processors
) -> dict[str, int]:
    """Entries that each lock kept apart, all in a row without delay; a lost one has ended the command."""
    done = dict.fromkeys((lock for lock in locks if lock != BASELINE or cores == 1), 0)
    with output.progress("Counting behind each lock", total=len(done)) as update:
        for number, lock in enumerate(done):
            update(completed=number, description=f"Counting behind {lock}")
            seed = 0
            while done[lock] < entries:
                seed += 1
                done[lock] += job(lock, "contended", cpus=usable.listed(cores), **EXCLUSION).run(seed)["all_entries"]
    return done


def aborts(cores: int, parts: Parts, usable: native_host.Processors) -> dict[str, dict[str, float]]:
    """Returns aborts of each cause and fallbacks of each entry, for each cause that is provoked."""
    jobs: dict[str, Job] = {}
    for cause, options in PROVOKED.items():
        threads = usable.listed(cores if cause == "conflict" else 1)
        jobs[cause] = job("rtm+stat", "contended", cpus=threads, **options)
    collected = collect(list(jobs.values()), 1, parts, "Provoking aborts")
    return {cause: counted_metrics(collected[each].used[0]) for cause, each in jobs.items() if each in collected}
