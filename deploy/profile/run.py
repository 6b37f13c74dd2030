# SPDX-License-Identifier: BSD-2-Clause
"""Runs with counted instructions, under the plugin that counts blocks: a load of the comparison, or a start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.base.paths import BUILD
from deploy.base.readiness import PATIENCE, first_pong
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Redis, modules
from deploy.deployment.planner import Plan, plan
from deploy.emulator.plugin import arguments, plugin
from deploy.load import measure
from deploy.load.case import RedisCase
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.machine.run import Options, boot
from deploy.profile.programs import Program, read_blocks
from deploy.profile.tally import Profile, tally
from deploy.results.result import Result
from topology.machines.machine import Machine, Shape
from topology.units import MIB


def profile(case: RedisCase, on_event: Callable[[Event], None], build: Path = BUILD) -> tuple[Profile, Result]:
    """Profiles the interval in which all clients run."""
    job, what = case.job, case.plan
    with TemporaryDirectory(prefix="skerry-profile-") as folder:
        out = Path(folder) / "blocks"
        how = Options(
            qemu.TCG_COUNTED, job.timeout, "kernel", binary=job.binary, build=build, on_event=on_event,
            extra=arguments(build / plugin("profile"), {"out": str(out)}),
        )
        with boot(what, how) as machine:
            result = measure.finish(machine, f"{case.layout}, workload {case.workload}")
        counted = read_blocks(out)
    programs = [Program(name, path) for name, path in modules.collect(what.cluster_map, build, what.own).items()]
    return tally(counted, programs, round(result.metrics["operations"])), result


COMMAND = "processCommand"  # Redis's function at which each command begins
_CODE = 15  # bytes that tell Redis from other programs with code at the same address


def deployment(shape: Shape | Machine, layout: str, lock: str) -> Deployment:
    """Redis, and nobody in the machine that talks to it."""
    return Deployment(name="start", shape=shape, layout=layout, lock=lock, redis=Redis(heap=64 * MIB), shutdown="never")


def planned(shape: Shape | Machine, layout: str, lock: str) -> Plan:
    return plan(deployment(shape, layout, lock))


def profile_start(what: Plan, timeout: Patience, binary: str, on_event: Callable[[Event], None],
            build: Path = BUILD) -> Profile:
    loader = Program("loader", build / modules.LOADER)
    programs = {name: Program(name, path) for name, path in modules.collect(what.cluster_map, build, what.own).items()}
    first, behind = (loader.image.symbol(name).address for name in ("loader_start", "loader_end"))
    redis = programs["redis-server"]
    command = redis.image.symbol(COMMAND).address
    with TemporaryDirectory(prefix="skerry-profile-") as folder:
        out = Path(folder) / "blocks"
        options = {"out": str(out), "from": f"{first:x}-{behind:x}",
                   "to": f"{command:x}:{redis.bytes_at(command, _CODE).hex()}"}
        how = Options(
            qemu.TCG_COUNTED, timeout, "kernel", binary=binary, build=build, on_event=on_event,
            extra=arguments(build / plugin("profile"), options),
        )
        with boot(what, how) as machine:
            server = what.forwards[0][0]
            machine.wait_event("serving", app=server)
            first_pong(machine.address(server), machine.pid, max(PATIENCE, timeout.silence))
        counted = read_blocks(out)
    return tally(counted, [loader, *programs.values()], 1, "start")
