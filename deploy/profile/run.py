# SPDX-License-Identifier: BSD-2-Clause
"""Runs with counted instructions, under the plugin that counts blocks: a load of the comparison, or a start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.base.paths import BUILD
from deploy.base.readiness import PATIENCE, first_pong
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Redis, modules
from deploy.deployment.engines import PROGRAMS
from deploy.deployment.planner import Plan, plan
from deploy.emulator.plugin import arguments, plugin
from deploy.load import measure
from deploy.load.case import RedisCase
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.machine.run import Options, Run, boot
from deploy.profile.programs import Block, Program, read_blocks
from deploy.profile.tally import Profile, tally
from deploy.results.result import Result
from topology.machines.machine import Machine, Shape
from topology.units import MIB


def profile(case: RedisCase, on_event: Callable[[Event], None], build: Path = BUILD) -> tuple[Profile, Result]:
    """Profiles the interval in which all clients run."""
    job = case.job
    how = Options(qemu.TCG_COUNTED, job.timeout, "kernel", binary=job.binary, build=build, on_event=on_event)
    with counted(case.plan, how, {}) as (machine, blocks):
        result = measure.finish(machine, f"{case.layout}, workload {case.workload}")
    return tally(blocks, programs_of(case.plan, build), round(result.metrics["operations"])), result


def programs_of(what: Plan, build: Path) -> list[Program]:
    return [Program(name, path) for name, path in modules.collect(what.cluster_map, build, what.own).items()]


@contextmanager
def counted(what: Plan, how: Options, window: dict[str, str]) -> Iterator[tuple[Run, list[Block]]]:
    """Boots under the plugin, which has these options; when the block has ended, the list has what was counted."""
    blocks: list[Block] = []
    with TemporaryDirectory(prefix="skerry-profile-") as folder:
        out = Path(folder) / "blocks"
        extra = arguments(how.build / plugin("profile"), {"out": str(out)} | window)
        with boot(what, replace(how, extra=extra)) as run:
            yield run, blocks
        blocks += read_blocks(out)


def server(machine: Run, what: Plan) -> tuple[str, int]:
    """Waits until the first server serves. Returns where."""
    name = what.forwards[0][0]
    machine.wait_event("serving", app=name)
    return machine.address(name)


COMMAND = "processCommand"  # Redis's function at which each command begins
_CODE = 15  # bytes that tell Redis from other programs with code at the same address


def deployment(shape: Shape | Machine, layout: str, lock: str, server: str = Redis.server) -> Deployment:
    """Returns servers alone: nobody in the machine talks to them."""
    return Deployment(name="start", shape=shape, layout=layout, lock=lock, redis=Redis(server=server, heap=64 * MIB),
                      shutdown="never")


def planned(shape: Shape | Machine, layout: str, lock: str, server: str = Redis.server) -> Plan:
    return plan(deployment(shape, layout, lock, server))


def profile_start(what: Plan, timeout: Patience, binary: str, on_event: Callable[[Event], None],
            build: Path = BUILD) -> Profile:
    loader = Program("loader", build / modules.LOADER)
    programs = programs_of(what, build)
    first, behind = (loader.image.symbol(name).address for name in ("loader_start", "loader_end"))
    redis = next(program for program in programs if program.name in PROGRAMS)
    command = redis.image.symbol(COMMAND).address
    window = {"from": f"{first:x}-{behind:x}", "to": f"{command:x}:{redis.bytes_at(command, _CODE).hex()}"}
    how = Options(qemu.TCG_COUNTED, timeout, "kernel", binary=binary, build=build, on_event=on_event)
    with counted(what, how, window) as (machine, blocks):
        first_pong(server(machine, what), machine.pid, max(PATIENCE, timeout.silence))
    return tally(blocks, [loader, *programs], 1, "start")
