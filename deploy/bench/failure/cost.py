# SPDX-License-Identifier: BSD-2-Clause
"""The cost of readiness for a failure where nothing fails: instructions of an operation, counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from deploy.base.paths import BUILD
from deploy.deployment import modules
from deploy.deployment.planner import plan
from deploy.load.case import case
from deploy.load.comparison import PROFILED_OPERATIONS, PROFILED_RECORDS, Comparison
from deploy.machine.events import Event
from deploy.profile.programs import UNKNOWN, Program
from deploy.profile.run import profile
from deploy.profile.tally import Profile
from topology.maps.clustermap import NEVER, ON_FAILURE

# Source files of what every cluster does so that the others can see that it lives, and to see whether they do.
WATCHING = ("cluster-kernel/core/beat.c", "cluster-manager/root/link/watch.c", "cluster-manager/root/base/signs.c",
            "cluster-manager/root/run/cluster-restart.c")
LAYOUT, WORKLOAD = "per-socket", "c"


@dataclass(frozen=True)
class Cost:
    """Two runs: one with clusters that start again, one with clusters that never do."""

    GOAL: ClassVar[float] = 0.005
    plain: float    # instructions of an operation
    ready: float
    # the part of all instructions that functions of WATCHING executed; code that was inlined elsewhere is not in it
    watching: float

    @property
    def more(self) -> float:
        return self.ready / self.plain - 1

    def to_json(self) -> dict[str, Any]:
        return {
            "system": "skerry", "layout": LAYOUT, "workload": WORKLOAD, "how": "none", "emulated": True, "per_core": [],
            "metrics": {
                "instructions_per_op": self.ready, "instructions_per_op_without": self.plain, "cost_ratio": self.more,
                "watching_ratio": self.watching,
            },
            "goals": {"cost_ratio": {"emulated_idle": self.GOAL}},
        }  # fmt: skip


def job_of(comparison: Comparison) -> Comparison:
    """Short enough for a slow emulator."""
    return replace(comparison, layouts=(LAYOUT,), workloads=(WORKLOAD,), records=PROFILED_RECORDS,
                   operations=PROFILED_OPERATIONS)


def measure(job: Comparison, on_event: Callable[[Event], None]) -> Cost:
    """Two boots under the plugin that counts every instruction; both figures are the same in each run."""
    plain, _ = profile(case(replace(job, restart=NEVER), LAYOUT, WORKLOAD), on_event)
    ready, _ = profile(case(replace(job, restart=ON_FAILURE), LAYOUT, WORKLOAD), on_event)
    return Cost(plain.instructions / plain.operations, ready.instructions / ready.operations,
                watching(ready, _functions(job)))


def watching(counted: Profile, functions: set[tuple[str, str]]) -> float:
    """The part of all instructions that these functions executed; `functions`: program and name of each."""
    mine = sum(line.instructions for line in counted.lines if (line.program, line.function) in functions)
    return mine / counted.instructions if counted.instructions else 0.0


def _functions(job: Comparison) -> set[tuple[str, str]]:
    what = plan(job.deployment(LAYOUT, WORKLOAD))
    functions: set[tuple[str, str]] = set()
    for name, path in modules.collect(what.cluster_map, BUILD, what.own).items():
        image = Program(name, path).image
        for address, source in image.files.items():
            if source != UNKNOWN and source.endswith(WATCHING) and (symbol := image.before(address)):
                functions.add((name, symbol.name))
    return functions
