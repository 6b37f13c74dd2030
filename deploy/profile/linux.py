# SPDX-License-Identifier: BSD-2-Clause
"""The profile of the Linux guest that stands beside Skerry in a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.emulator.plugin import arguments, plugin
from deploy.load.comparison import Comparison
from deploy.load.linux_guest.guest import build_guest, on_host
from deploy.load.linux_guest.machine import LinuxRun, Options
from deploy.load.linux_guest.result import loaded
from deploy.load.measure import LINUX_PATIENCE
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.profile.linux_symbols import VDSO, Mapped, mapped, reported
from deploy.profile.programs import read_blocks
from deploy.profile.tally import Owner, Profile, tally

LAYOUT = "spanning"  # one kernel


def options(
    accel: qemu.Accel, timeout: Patience, binary: str, out: Path, window: Mapping[str, str] = {},
    on_event: Callable[[Event], None] | None = None, build: Path = BUILD,
) -> Options:  # fmt: skip
    """`window`: when the plugin counts; nothing: between the marks of the clients."""
    counting = arguments(build / plugin("profile"), {"out": str(out)} | dict(window))
    return Options(accel, timeout, binary=binary, on_event=on_event, symbols=True, extra=counting)


def profile(
    job: Comparison, workload: str, on_event: Callable[[Event], None] | None = None, build: Path = BUILD
) -> tuple[Profile, dict[str, Any]]:
    """Profiles the interval in which all clients run; returns also the entry of "results"."""
    with TemporaryDirectory(prefix="skerry-profile-") as folder:
        out = Path(folder) / "blocks"
        how = options(qemu.TCG_COUNTED, job.timeout.times(LINUX_PATIENCE), job.binary, out, {}, on_event, build)
        with LinuxRun(build_guest(), job.deployment(LAYOUT, workload), how) as run:
            run.wait_done()
            entry = loaded(run, {})
            programs = owners(run, Path(folder), build)
        counted = tally(read_blocks(out), programs, round(entry["metrics"]["operations"]))
    entry["metrics"] |= {"instructions_per_op": counted.instructions / counted.operations} | counted.metrics()
    return counted, entry


def owners(run: LinuxRun, folder: Path, build: Path = BUILD) -> list[Owner]:
    """Returns the owners of all code that a run can have executed. `folder` gets a file that lives as long as they are
    used."""
    kernel, vdso = reported(run.symbols)
    image = folder / VDSO
    image.write_bytes(vdso)
    programs = mapped(run.events.of("map"), image, lambda path: on_host(path, build))
    libc = next((program for program in programs if program.name.startswith("libc.so")), None)
    static = [Mapped(name, on_host(path, build), library=libc)
              for name, path in (("ycsb", "/bin/ycsb"), ("init", "/init"))]
    return [kernel, *programs, *static]
