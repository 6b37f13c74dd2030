# SPDX-License-Identifier: BSD-2-Clause
"""Boots one program in the place of the root task, and reads what it and the emulator's plugin report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Program
from deploy.deployment.planner import Plan, plan
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import ModelledMachine
from deploy.emulator.run import clocks
from deploy.machine.events import EventStream
from deploy.machine.qemu import Accel
from deploy.machine.run import Options, boot
from topology.machines.machine import Machine, Shape


@dataclass(frozen=True)
class Bench:
    """The emulator that experiments are booted in, and the clock that times them."""

    accel: Accel
    timeout: Patience
    stepped: bool = False  # the emulator's cores go in step, or by a machine's prices; else the clock is the TSC
    build: Path = BUILD


def program_plan(name: str, kernel: str, shape: Shape | Machine, program: Program, *, layout: str = "spanning",
                 granularity: str | None = None) -> Plan:
    """`kernel`: a lock regime, with +stat for kernels that count. `granularity`: of a kernel that has a choice."""
    lock, _, statistics = kernel.partition("+")
    target = plan(Deployment(
        name=name, shape=shape, layout=layout, lock=lock, statistics=bool(statistics), granularity=granularity,
        programs=(program,), network=False, shutdown="never",
    ))
    for cluster in target.cluster_map.clusters:
        cluster.root = program.program
    return target


def events(target: Plan, bench: Bench, extra: Sequence[str] = ()) -> EventStream:
    """Returns all that the program reports until it is done. `extra`: arguments of the emulator."""
    options = Options(bench.accel, bench.timeout, "kernel", build=bench.build, extra=tuple(extra))
    with boot(target, options) as run:
        run.wait_done()
        return run.events


def marked_events(target: Plan, bench: Bench, modelled: ModelledMachine | None, line_factor: float = 1.0,
                  priced: str | None = None) -> tuple[EventStream, list[Mark]]:
    """Returns also the moments at which the plugin saw the program's marks; none where the clock is the TSC."""
    with clocks(modelled, bench.stepped, target, line_factor, bench.build, priced=priced) as marks:
        reported = events(target, bench, marks.arguments if marks else ())
        return reported, marks.read() if marks else []
