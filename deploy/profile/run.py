# SPDX-License-Identifier: BSD-2-Clause
"""Runs a load of the comparison with counted instructions, under the plugin that counts blocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.base.paths import BUILD
from deploy.deployment import modules
from deploy.emulator.plugin import arguments, plugin
from deploy.load import measure
from deploy.load.case import RedisCase
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.machine.run import Options, boot
from deploy.profile import blocks
from deploy.profile.programs import Program
from deploy.profile.tally import Profile, tally
from deploy.results.result import Result


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
        counted = blocks.read(out)
    programs = [Program(name, path) for name, path in modules.collect(what.cluster_map, build, what.own).items()]
    return tally(counted, programs, round(result.metrics["operations"])), result
