# SPDX-License-Identifier: BSD-2-Clause
"""Runs apps/stress, the Mach study's two programs: one cluster, and the program in the place of the root task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Program
from deploy.deployment.planner import Plan, plan
from deploy.emulator.machine_file import ModelledMachine
from deploy.machine.events import EventStream
from deploy.machine.qemu import Accel
from deploy.machine.run import Options, boot
from topology.machines.machine import Shape, default_memory

MESSAGES, MEMORY = "messages", "memory"


def machine(kernel: str, cores: int, program: str, *numbers: int, modelled: ModelledMachine | None = None) -> Plan:
    """`numbers` as apps/stress/main.c takes them."""
    shape = modelled.exactly(cores, default_memory(modelled.cores_per_socket)) if modelled else Shape(1, cores,
        default_memory(cores))
    lock, _, statistics = kernel.partition("+")
    application = Program("stress", args=(program, *map(str, numbers)), barrier=False)
    target = plan(Deployment(
        name=f"bench-mach-{program}", shape=shape, layout="spanning", lock=lock,
        statistics=bool(statistics), programs=(application,), network=False, shutdown="never",
    ))
    target.cluster_map.clusters[0].root = "stress"
    return target


def events(target: Plan, accel: Accel, patience: Patience, build: Path = BUILD,
           extra: Sequence[str] = ()) -> EventStream:
    """All that the program reports until it is done."""
    options = Options(accel, patience=patience, medium="kernel", build=build, extra=tuple(extra))
    with boot(target, options) as run:
        run.wait_done()
        return run.events
