# SPDX-License-Identifier: BSD-2-Clause
"""`skerry compare FILE.toml` and `--program`: any deployment in the place of Redis under YCSB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.cli import options
from deploy.compare import program_plot, programs
from deploy.compare.runs import Follower, drawn, link
from deploy.deployment import Deployment
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.programs import Programs, cases, of_file, on_each_core
from deploy.machine import kvm
from deploy.machine.events import ENDS, Event
from deploy.machine.qemu import BINARY
from deploy.results.result import document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.machines.machine import default_memory


def deployment(path: Path | None, program: str | None, machine: options.MachineOptions, lock: str | None,
               modelled: ModelledMachine | None) -> Deployment:
    """Returns the deployment of a file, or of a program on each core, on the machine of the comparison."""
    if path and program:
        raise InputError("--program", f"takes the place of a deployment file; not with {path}")
    read = of_file(path, lock) if path else Deployment()
    if modelled:
        read = read.on(modelled.shape(modelled.cores, default_memory(modelled.cores_per_socket)))
    adapted = options.adapt(read, machine, lock=lock)
    return on_each_core(program, adapted) if program else adapted


def check_options(what: object, for_redis: Mapping[str, object]) -> None:
    """`for_redis`: options of Redis and its load, with their values if these are not the usual ones."""
    if odd := [option for option, value in for_redis.items() if value]:
        raise InputError(odd[0], f"is for Redis under YCSB, not for {what}")


def compare(job: Programs, accel: str, icount: bool, images: int, quick: bool, output: Output, picture: Path) -> None:
    """Runs a job's layouts, prints tables and verdict, and writes the results. `quick`: without price sets."""
    every, modelled = cases(job), job.modelled
    if modelled:
        modelled_run.check_installed()
    made = [needs.of_map(case.plan.cluster_map, case.plan.own) for case in every]
    kernels = needs.kernels(dict.fromkeys(case.lock for case in every), transactions=modelled is not None)
    ensure_built(output, _union(made) | (kernels | needs.MODELLED if modelled else needs.NOTHING) | needs.PLOTS)
    mode = (modelled_run.mode(modelled) if modelled
            else kvm.choose(accel, job.deployment.shape.cpus, repeatable=True, icount=icount))
    count = images if modelled else 1
    output.line(f"Machine: {job.deployment.shape}. Mode: {mode.description}.")
    if modelled:
        link(drawn(every, count))
    parts = Parts(output)
    milestones = 2 * len(every[0].plan.cluster_map.applications)
    layouts = programs.measure(every, mode, count, parts, Follower(output, _follow, milestones), quick)
    parts.require(layouts)
    compared = programs.pairs(layouts, modelled)
    for pair in compared:
        output.table(pair.table())
    data = document("compare", host_description(mode, BINARY), (), [layout.to_json() for layout in layouts])
    with output.ending([pair.sentences() for pair in compared] or [programs.alone(layout) for layout in layouts]):
        output.results(data | parts.to_json() | {"ratios": [pair.to_json() for pair in compared]})
        program_plot.plot(layouts, compared, mode.description, picture)
        output.written(picture)
    parts.finish()


def _union(every: list[needs.Needs]) -> needs.Needs:
    union = needs.NOTHING
    for one in every:
        union |= one
    return union


def _follow(name: str, update: Callable[..., None]) -> Callable[[Event], None]:
    """Shows how many programs have started and ended."""
    seen = 0

    def follow(event: Event) -> None:
        nonlocal seen
        seen += event.kind in ("started", *ENDS)
        shown: dict[str, Any] = {"description": f"{name}: running"} if event.kind == "started" else {}
        update(completed=seen, **shown)

    return follow
