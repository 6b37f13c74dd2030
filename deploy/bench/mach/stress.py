# SPDX-License-Identifier: BSD-2-Clause
"""Plans a boot of apps/stress, the Mach study's two programs: one cluster, and the program in the place of the root
task."""

from __future__ import annotations

from deploy.bench.boot import program_plan
from deploy.deployment import Program
from deploy.deployment.planner import Plan
from deploy.emulator.machine_file import ModelledMachine
from topology.machines.machine import Shape, default_memory

MESSAGES, MEMORY = "messages", "memory"


def machine(kernel: str, cores: int, program: str, *numbers: int, modelled: ModelledMachine | None = None) -> Plan:
    """`numbers` as apps/stress/main.c takes them."""
    shape = modelled.exactly(cores, default_memory(modelled.cores_per_socket)) if modelled else Shape(1, cores,
        default_memory(cores))
    application = Program("stress", args=(program, *map(str, numbers)), barrier=False)
    return program_plan(f"bench-mach-{program}", kernel, shape, application)
