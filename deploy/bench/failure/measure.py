# SPDX-License-Identifier: BSD-2-Clause
"""How soon the end of a cluster is noticed and mended, and what the others feel of it: medians and worst of many
kills."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from deploy.base.timeouts import Patience
from deploy.bench.failure.scene import Fate, Kill, Scene, deployment, draw, mortal, on_stage
from deploy.deployment import Deployment
from deploy.deployment.planner import plan
from deploy.machine.qemu import Accel
from deploy.machine.run import Options, Run, boot
from topology.limits import EMULATED_PATIENCE

REPEATS, QUICK_REPEATS = 25, 2
USUAL = ("panic", "hang-core", "hang", "manager")  # as the goals name them
SAID = {
    "panic": "kernel panics", "hang-core": "a core hangs", "hang": "kernel hangs", "init": "cores are reset",
    "manager": "manager stops", "garbage": "overwrites channels",
}  # fmt: skip
# parts of the patience (watch.h) after which silence is a loss
SILENT = {"hang-core": 1.0, "hang": 1.0, "init": 1.0, "manager": 5 / 3}
CALM = UNDER_LOAD, IDLE = "under load", "idle"
HOST, TICKS, COUNTED = "host", "ticks", "counted"


@dataclass(frozen=True)
class Figure:
    """A column of the results. `of` what it is taken; `emulated` and `metal`: goals, on an idle host and where cores
    are real."""

    name: str
    title: str
    clock: str
    emulated: float
    metal: float
    of: Callable[[Fate], float | None]


FIGURES = (
    Figure("detect_ms", "order to report of the loss", HOST, 50, 1, lambda fate: fate.detect_ms),
    Figure("silent_ms", "last sign of life to verdict", TICKS, 50, 1, lambda fate: fate.silent_ms),
    Figure("fence_ms", "fence", TICKS, 20, 1, lambda fate: fate.fence_ms),
    Figure("boot_ms", "fenced to boot report", TICKS, 400, 50, lambda fate: fate.boot_ms),
    Figure("pong_ms", "order to next PONG outside", HOST, 2500, 500, lambda fate: fate.pong_ms),
    Figure("survivor_errors", "survivors' errors", COUNTED, 0, 0, lambda fate: fate.survivor_errors),
    Figure("survivor_connections_lost", "connections elsewhere, lost", COUNTED, 0, 0,
           lambda fate: fate.survivor_connections_lost),
    Figure("survivor_stall_ms", "survivors' stall, beyond usual", HOST, 100, 10, lambda fate: fate.survivor_stall_ms),
)
PATIENCE_EMULATED, PATIENCE_METAL = 100.0, 150.0  # goals of ways that silence tells: beyond the patience; in all
FIRST_STALL = 3000.0, 1000.0  # goals of a stall elsewhere, where the first cluster ends: frames from outside pass it
FIRST_ANSWER = 30.0  # seconds until a request elsewhere counts as an error then


def goals(figure: Figure, how: str, first: bool = False, silence: int | None = None) -> tuple[float, float]:
    """Returns the goals of a figure, emulated and on real machines. `first`: of the first cluster; `silence`: in ms."""
    if first and figure.name == "survivor_stall_ms":
        return FIRST_STALL
    if figure.name in ("detect_ms", "silent_ms") and how in SILENT:
        return SILENT[how] * (silence or EMULATED_PATIENCE) + PATIENCE_EMULATED, PATIENCE_METAL
    return figure.emulated, figure.metal


@dataclass
class Job:
    ways: Sequence[str]
    repeats: int
    seed: int
    accel: Accel
    timeout: Patience
    sockets: int = 2
    cores: int = 2
    lock: str = "clh"
    medium: str = "kernel"
    quiet: float = 0.0  # seconds under load without a kill, and as many without a load
    first: bool = False  # the first cluster ends, not others
    silence: int | None = None  # ms after which a silent cluster is lost; None: as the loader has it

    @property
    def deployment(self) -> Deployment:
        return deployment(self.sockets, self.cores, self.lock, silence=self.silence)


@dataclass
class Measured:
    """All kills of a machine."""

    job: Job
    fates: list[Fate] = field(default_factory=list)
    seconds: float = 0.0     # under load, all told
    false_alarms: int = 0
    clusters: int = 0
    alarms: dict[str, int] = field(default_factory=dict)  # false alarms of each kind of calm, of CALM

    def of(self, how: str) -> list[Fate]:
        return [fate for fate in self.fates if fate.kill.how == how]

    def values(self, how: str, figure: Figure) -> list[float]:
        return [value for fate in self.of(how) if (value := figure.of(fate)) is not None]

    def metrics(self, how: str) -> dict[str, float]:
        """The median under the figure's own name, the worst beside it; of errors the sum. What nobody measured is not
        there."""
        metrics: dict[str, float] = {"kills": len(self.of(how))}
        for figure in FIGURES:
            if not (values := self.values(how, figure)):
                continue
            if figure.clock == COUNTED:
                metrics[figure.name] = sum(values)
            else:
                metrics |= {figure.name: median(values), figure.name.replace("_ms", "_worst_ms"): max(values)}
        fates = self.of(how)
        return metrics | {
            "survivor_requests": sum(fate.survivor_requests for fate in fates),
            "survivor_connections": sum(fate.survivor_connections for fate in fates),
            "survivor_longest_ms": max(fate.survivor_longest_ms for fate in fates),
            "usual_longest_ms": max(fate.usual_longest_ms for fate in fates),
        }

    def _calm(self) -> dict[str, float]:
        names = {name: f"false_alarms_{name.replace(' ', '_')}" for name in self.alarms}
        return {names[name]: float(count) for name, count in self.alarms.items()} | ({"calm_seconds": self.job.quiet}
            if self.alarms else {})

    def to_json(self) -> list[dict[str, Any]]:
        job = self.job
        common = {
            "layout": "per-socket", "lock": job.lock, "system": "skerry", "workload": "failure",
            "clusters": self.clusters, "cores": job.sockets * job.cores, "ended": "first" if job.first else "others",
            **({"emulated": True} if job.accel.emulated else {}),
        }  # fmt: skip
        return [
            common | {
                "how": how, "seed": job.seed, "metrics": self.metrics(how), "per_core": [],
                "goals": {figure.name: dict(zip(("emulated_idle", "kvm_and_metal"),
                                                goals(figure, how, job.first, job.silence))) for figure in FIGURES},
                "clocks": {figure.name: figure.clock for figure in FIGURES},
                "kills": [fate.to_json() for fate in self.of(how)],
            }
            for how in self.job.ways if self.of(how)
        ] + [common | {
            "how": "none", "metrics": {"false_alarms": self.false_alarms, "seconds": self.seconds} | self._calm(),
            "per_core": [], "goals": {"false_alarms": {"emulated_idle": 0, "kvm_and_metal": 0}},
        }]  # fmt: skip


def kills(job: Job, clusters: Sequence[tuple[int, int]]) -> Iterator[Kill]:
    """Yields the kills, in turn by way, so that changes on the host affect all ways alike."""
    for number in range(job.repeats * len(job.ways)):
        yield draw(job.seed, number + 1, clusters, [job.ways[number % len(job.ways)]])


def _stage(run: Run, job: Job) -> AbstractContextManager[Scene]:
    return on_stage(run, job.seed, FIRST_ANSWER, first=True) if job.first else on_stage(run, job.seed)


def measure(job: Job, update: Callable[..., None], tell: Callable[[str], None]) -> Measured:
    """One boot, all kills."""
    what = plan(job.deployment)
    measured = Measured(job, clusters=len(what.cluster_map.clusters))
    with boot(what, Options(job.accel, job.timeout, job.medium)) as run, _stage(run, job) as scene:
        begun = time.monotonic()
        for one in kills(job, mortal(what, job.first)):
            update(completed=one.number - 1, description=str(one))
            fate = scene.kill(one)
            measured.fates.append(fate)
            tell(f"{one.number}: {one}: told after {fate.detect_ms / 1e3:.2f} s, PONG after {fate.pong_ms / 1e3:.2f} s")
        measured.false_alarms = scene.false_alarms
        measured.seconds = time.monotonic() - begun
        if job.quiet:
            for name in CALM:
                update(description=f"without a kill, {name}")
                if name == IDLE:
                    scene.idle()
                measured.alarms[name] = scene.watch(job.quiet)
                scene.check()
    return measured


def quick(job: Job) -> Job:
    return replace(job, repeats=min(job.repeats, QUICK_REPEATS))
