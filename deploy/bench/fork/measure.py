# SPDX-License-Identifier: BSD-2-Clause
"""Boots apps/forkcost with counted instructions: on Skerry, and on Linux in the same emulator."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deploy.base import process
from deploy.base.atomic_files import write_bytes
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience, Watch
from deploy.deployment import Deployment, Program
from deploy.deployment.planner import Plan, plan
from deploy.load.linux_guest import kernel
from deploy.load.linux_guest.machine import COMMAND_LINE
from deploy.machine import program_output, qemu
from deploy.machine.cpio import Archive
from deploy.machine.image import DirectBoot
from deploy.machine.run import Options, boot
from deploy.profile.programs import Block, Program as ProgramOf
from deploy.profile.run import counted, programs_of
from deploy.profile.tally import Profile, tally
from deploy.results import kinds
from topology.machines.machine import Shape
from topology.units import MIB

NAME = "forkcost"
IMAGE, FOR_LINUX = Path("apps/forkcost/forkcost.elf"), Path("apps/forkcost/forkcost-linux")
LEAST_MIB, MOST_MIB = 38, 1024
MORE = 28 * MIB  # heap beside what the program writes: the C library's
SKERRY, LINUX = "Skerry", "Linux"
ROUND = "remote_request"  # the kernel's function that interrupts other cores and waits for them
TITLES = {
    "fork": "fork, until the parent goes on",
    "child": "fork, until parent and child have gone on",
    "copy-2m": "first write to a shared 2 MiB of the heap",
    "copy-4k": "first write to a page of the program's data",
    "regain": "a write to each 2 MiB behind the child's end, mean",
}
_POLL = 0.02


@dataclass(frozen=True)
class Forks:
    """What is measured: one program alone, with so much memory."""

    mib: int
    lock: str
    timeout: Patience
    build: Path = BUILD


@dataclass(frozen=True)
class Cost:
    """Instructions of each figure of the program, medians of its rounds."""

    system: str
    figures: Mapping[str, float]
    rounds: int | None = None  # of interrupts for one fork, where the program has a core of its own

    def to_json(self, of: Forks) -> dict[str, Any]:
        metrics = {f"{name.replace('-', '_')}_instructions": value for name, value in self.figures.items()}
        if self.rounds is not None:
            metrics["interrupt_rounds"] = self.rounds
        lock = {"lock": of.lock} if self.system == SKERRY else {}
        return {"system": self.system.lower(), "workload": "fork", "mib": of.mib, "cores": 1, "emulated": True,
                "kind": kinds.COUNTED, **lock, "metrics": metrics}


def planned(of: Forks, cores: int = 1) -> Plan:
    """`cores`: of one kernel; the program has the last one."""
    heap = (of.mib * MIB + MORE) // (2 * MIB) * (2 * MIB)
    program = Program(NAME, cpu=cores - 1, heap=heap, args=(str(of.mib),), elf=of.build / IMAGE, processes=2)
    shape = Shape(1, cores, 3 * heap + 128 * MIB)
    return plan(Deployment(name=NAME, shape=shape, layout="spanning", lock=of.lock, programs=(program,), network=False))


def on_skerry(of: Forks) -> Cost:
    what = planned(of)
    with boot(what, Options(qemu.TCG_COUNTED, of.timeout, "kernel", build=of.build)) as run:
        run.wait_done()
        texts = list(program_output.collect(what.cluster_map.applications, run.console).values())
    return Cost(SKERRY, _figures(texts[0] if texts else program_output.ProgramText(), SKERRY))


def _figures(text: program_output.ProgramText, system: str) -> dict[str, float]:
    if text.wrong:
        raise Failure(f"{system}: {text.wrong}")
    if set(text.metrics) != set(TITLES):
        raise Failure(f"{system}: {NAME} has printed {', '.join(text.metrics) or 'no metric'}; its last lines: "
                      f"{' / '.join(list(text.last)[-3:]) or 'none'}")
    return {name: text.metrics[name].value for name in TITLES}


def profiled(of: Forks, cores: int) -> Profile:
    """Returns where the instructions of the last fork go, until its parent goes on."""
    blocks, programs = _blocks(of, cores)
    return tally(blocks, programs, 1, "fork")


def rounds(of: Forks) -> int:
    """Returns how often one fork interrupts other cores, where the program's core is not its manager's."""
    blocks, programs = _blocks(of, 2)
    image = next(program for program in programs if program.name.startswith("kernel-"))
    symbol = image.image.symbol(ROUND)
    return sum(block.executions for block in blocks if block.address == symbol.address)


def _blocks(of: Forks, cores: int) -> tuple[list[Block], list[ProgramOf]]:
    what = planned(of, cores)
    how = Options(qemu.TCG_COUNTED, of.timeout, "kernel", build=of.build)
    with counted(what, how, {}) as (run, blocks):
        run.wait_done()
    return blocks, programs_of(what, of.build)


def on_linux(of: Forks) -> Cost:
    """Boots Debian's kernel with the program as its first process."""
    with TemporaryDirectory(prefix="skerry-linux-") as name:
        folder = Path(name)
        command = qemu.Command(
            shape=Shape(1, 1, 3 * of.mib * MIB + 256 * MIB), accel=qemu.TCG_COUNTED, boot=_guest(of, folder),
            directory=folder, extra=("-append", f"{COMMAND_LINE} -- {of.mib} restart"))
        console = _console(command, of.timeout)
    text = program_output.ProgramText()
    for line in console.splitlines():
        text.add(line.strip())
    return Cost(LINUX, _figures(text, LINUX))


def _guest(of: Forks, folder: Path) -> DirectBoot:
    linux = kernel.fetch()
    archive = Archive()
    archive.device("/dev/console", 5, 1)
    archive.file("/init", (of.build / FOR_LINUX).read_bytes(), executable=True)
    made = DirectBoot(folder / "vmlinuz", folder / "initrd")
    write_bytes(made.kernel, linux.image.read_bytes())
    write_bytes(made.initrd, archive.finish())
    return made


def _console(command: qemu.Command, timeout: Patience) -> str:
    """Runs a machine to its end. Returns what it has written."""
    for path in (command.console, command.events):
        path.touch()
    started = time.monotonic()
    child = process.start(command.arguments(), command.log, (qemu.PRELOAD,))
    watch, written = Watch(child.pid), 0
    try:
        while child.poll() is None:
            if (size := command.console.stat().st_size) > written:
                watch.moved("the console")
                written = size
            if why := watch.overdue("no end", timeout, started):
                raise Failure(f"the Linux guest: {why}")
            time.sleep(_POLL)
    finally:
        process.stop(child)
    return command.console.read_text(errors="replace")


def with_rounds(cost: Cost, count: int) -> Cost:
    return replace(cost, rounds=count)
