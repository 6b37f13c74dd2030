# SPDX-License-Identifier: BSD-2-Clause
"""Plans a boot of apps/pingpong in the place of the root task: on one core, where no machine is given."""

from deploy.bench.boot import program_plan
from deploy.deployment import Program
from deploy.deployment.planner import Plan
from topology.machines.machine import Shape, default_memory

AT_HOME = {True: ("local",), False: ()}  # its last word, where objects are at home on the core of their threads

FEW_CORES = 60  # of the program that all recorded figures are of (apps/pingpong/pingpong.h)
PROGRAMS = ("pingpong", "pingpong-many")


def name(cores: int) -> str:
    """The program for a machine of so many cores."""
    return PROGRAMS[cores > FEW_CORES]


def machine(
    kernel: str, *arguments: str, memory: int = default_memory(1), granularity: str | None = None,
    shape: Shape | None = None
) -> Plan:
    shape = shape or Shape(1, 1, memory)
    program = Program(name(shape.cpus), args=arguments, barrier=False)
    return program_plan(f"bench-{arguments[0]}", kernel, shape, program, granularity=granularity)
