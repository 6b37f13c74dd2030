# SPDX-License-Identifier: BSD-2-Clause
"""Adds the kernel's counts of a load to its timing: a plain kernel is timed, a counting one runs the same load
again.

Counting costs: a Call of clh+stat takes nearly twice the instructions of one of clh. No time of a counting kernel
stands in a comparison; from its run come counts, for each operation or each other, and the times of its locks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deploy.results.result import Result
from deploy.results.snapshots import ratio

# The metrics of a result that the counting run gives.
COUNTED = (
    "kernel_entries_per_s", "kernel_entries_per_op", "lock_conflict_ratio", "lock_mean_wait_cycles",
    "lock_mean_hold_cycles", "fallback_ratio",
)  # fmt: skip
PER_SECOND = "kernel_entries_per_s"  # the counting run's entries for each operation, at the plain run's operations


@dataclass(frozen=True)
class Counting:
    """The run beside a result from which its counts are."""

    kernel: str
    operations: int

    def to_json(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "operations": self.operations, "metrics": list(COUNTED)}

    def __str__(self) -> str:
        return (
            f"of a run beside it of {self.operations:,} operations, on kernels that count ({self.kernel}); all else is "
            f"of plain kernels."
        )


def with_counts(plain: Result, counting: Result) -> Result:
    """The plain run's figures and times, with the counts of the other."""
    pace = ratio(plain.metrics["ops_per_s"], counting.metrics["ops_per_s"])
    counted = {(core["cluster"], core["core"]): core for core in counting.per_core}
    return replace(
        plain,
        metrics=_merged(plain.metrics, counting.metrics, pace),
        per_core=[_merged(core, counted[core["cluster"], core["core"]], pace) for core in plain.per_core],
        problems=[*plain.problems, *counting.problems],
        counting=Counting(f"{counting.lock}+stat", round(counting.metrics["operations"])),
    )


def without_counts(result: Result) -> Result:
    """Removes the counts of plain kernels, which count nothing: their zeros are no figures."""
    nothing = dict.fromkeys(COUNTED)
    cores = [core | {name: None for name in nothing if name in core} for core in result.per_core]
    metrics = {**result.metrics, **{name: None for name in nothing if name in result.metrics}}
    return replace(result, metrics=metrics, per_core=cores)  # type: ignore[arg-type]


def _merged(timed: Mapping[str, Any], counted: Mapping[str, Any], pace: float) -> dict[str, Any]:
    """`pace`: how many times the operations per second of the counting run the plain one does. None stays: it was not
    counted."""
    merged = dict(timed) | {name: counted[name] for name in COUNTED if name in counted}
    per_second = counted[PER_SECOND]
    return merged | {PER_SECOND: None if per_second is None else pace * per_second}
