# SPDX-License-Identifier: BSD-2-Clause
"""Plans a boot of apps/pingpong in the place of the root task: on one core, where no machine is given."""

from deploy.bench.boot import program_plan
from deploy.deployment import Program
from deploy.deployment.planner import Plan
from topology.machines.machine import Shape, default_memory

AT_HOME = {True: ("local",), False: ()}  # its last word, where objects are at home on the core of their threads


def machine(
    kernel: str, *arguments: str, memory: int = default_memory(1), granularity: str | None = None,
    shape: Shape | None = None
) -> Plan:
    program = Program("pingpong", args=arguments, barrier=False)
    return program_plan(f"bench-{arguments[0]}", kernel, shape or Shape(1, 1, memory), program, granularity=granularity)
