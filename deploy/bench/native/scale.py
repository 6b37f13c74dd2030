# SPDX-License-Identifier: BSD-2-Clause
"""Independent ping-pong on each core, natively (Elphinstone, Figures 4 and 5)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deploy.base.partial import Parts
from deploy.bench.native import host as native_host
from deploy.bench.native.runs import Job, Runs, collect, counted_metrics, entry, job
from deploy.bench.regimes import BASELINE

RUNS = 7
ENTRY = 500  # cycles, roughly: how long a window must be for so many rounds
LEAST, MOST = 20_000_000, 400_000_000  # cycles of a window


def window(rounds: int, delay: float) -> int:
    return int(min(MOST, max(LEAST, 2 * rounds * (delay + ENTRY))))


def measure(
    delays_of: Mapping[str, Sequence[float]], cores: Sequence[int], rounds: int, parts: Parts, runs: int,
    usable: native_host.Processors, between: Callable[[], None] | None = None,
) -> list[dict[str, Any]]:
    """A result for each lock, delay of it, and number of cores; under `none` each core has a kernel to itself."""
    delays = sorted({delay for of in delays_of.values() for delay in of})
    points = [(lock, delay, n) for delay in delays for n in cores for lock, of in delays_of.items() if delay in of]
    jobs = [_job(lock, delay, n, rounds, usable) for lock, delay, n in points]
    collected = collect(jobs, runs, parts, "Ping-pong on every core", between)
    counting = [_job(f"{lock}+stat", delay, n, rounds, usable) for lock, delay, n in points]
    counts = collect(counting, 1, parts, "The same, counted")
    return [
        _result(lock, delay, n, collected[plain], counts[counted].used[0] if counted in counts else {})
        for (lock, delay, n), plain, counted in zip(points, jobs, counting) if plain in collected
    ]


def unlocked(
    delay: float, cores: int, rounds: int, parts: Parts, runs: int, usable: native_host.Processors
) -> dict[str, Any] | None:
    """All cores in one kernel that has no lock, which these pairs do not need: what its other lines cost."""
    each = _job(BASELINE, delay, cores, rounds, usable, unlocked=1)
    collected = collect([each], runs, parts, "One kernel without a lock")
    return None if each not in collected else _result(BASELINE, delay, cores, collected[each], {}) | {
        "clusters": 1, "layout": "spanning", "workload": "scale-unlocked",
    }  # fmt: skip


def _job(kernel: str, delay: float, cores: int, rounds: int, usable: native_host.Processors, **more: int) -> Job:
    return job(kernel, "scale", cpus=usable.listed(cores), delay=round(delay), window=window(rounds, delay), **more)


def _result(lock: str, delay: float, cores: int, runs: Runs, counted: dict[str, Any]) -> dict[str, Any]:
    spread = {
        "throughput_per_cycle": runs.spread(lambda r: r["entries"] / r["window"]),
        "measured_delay_cycles": runs.spread(lambda r: r["outside"]),
        "kernel_cycles": runs.spread(lambda r: r["inside"]),
    }
    more = {"delay_cycles": delay, "entries": sum(r["entries"] for r in runs.used)} | counted_metrics(counted)
    typical = sorted(runs.used, key=lambda r: r["entries"])[len(runs.used) // 2]
    per_core = [
        {"cluster": i if lock == BASELINE else 0, "core": i, "processor": core["cpu"],
         "throughput_per_cycle": core["entries"] / typical["window"]}
        for i, core in enumerate(typical["per_core"])
    ]  # fmt: skip
    clusters = cores if lock == BASELINE else 1
    return entry(lock, "scale", cores, runs, spread, more, clusters, per_core)
