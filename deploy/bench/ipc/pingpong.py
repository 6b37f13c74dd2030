# SPDX-License-Identifier: BSD-2-Clause
"""Runs apps/pingpong in the place of the root task: on one core, where no machine is given."""

from collections.abc import Sequence
from pathlib import Path

from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Program
from deploy.deployment.planner import Plan, plan
from deploy.machine.events import Event
from deploy.machine.qemu import Accel
from deploy.machine.run import Options, boot
from topology.machines.machine import Shape, default_memory

AT_HOME = {True: ("local",), False: ()}  # its last word, where objects are at home on the core of their threads


def machine(
    kernel: str, *arguments: str, memory: int = default_memory(1), granularity: str | None = None,
    shape: Shape | None = None
) -> Plan:
    lock, _, statistics = kernel.partition("+")
    program = Program("pingpong", args=arguments, barrier=False)
    target = plan(Deployment(
        name=f"bench-{arguments[0]}", shape=shape or Shape(1, 1, memory), layout="spanning", lock=lock,
        statistics=bool(statistics),
        granularity=granularity, programs=(program,), network=False, shutdown="never",
    ))
    target.cluster_map.clusters[0].root = "pingpong"
    return target


def events(target: Plan, accel: Accel, patience: Patience, build: Path = BUILD,
           extra: Sequence[str] = ()) -> list[Event]:
    """All that the program reports until it is done."""
    with boot(target, Options(accel, patience=patience, medium="kernel", build=build, extra=tuple(extra))) as run:
        run.wait_done()
        return run.events.events
