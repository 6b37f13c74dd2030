# SPDX-License-Identifier: BSD-2-Clause
"""The emulator as a modelled machine: its arguments, and what its plugin says at the guest's marks."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.deployment.modules import MODELLED_RTM
from deploy.deployment.planner import Plan
from deploy.emulator import lockstep
from deploy.emulator.lockstep import Marks
from deploy.emulator.machine_file import MOST_CORES, ModelledMachine
from deploy.machine import qemu

SINCE = (9, 2)
# The guest's marks between which all is priced; outside, instructions have their prices and memory costs nothing.
POINTS = "0"  # of apps/pingpong: from the first point's preparation on
LOAD = "1-2"  # of a load (cluster-manager/root/run/orders.c)
RTM = "rtm"
OF_NO_KERNEL = MOST_CORES - 1  # as a kernel's number: there are no more kernels than cores
PLUGIN = Path("emulator/modelled.so")
PRELOAD = BUILD / "emulator" / "modelled-preload.so"
# The same processor as where instructions are counted. What QEMU takes from the host else is fixed.
ARGUMENTS = (
    "-S", "-accel", "tcg,thread=multi", "-cpu", "max,-x2apic", "-rtc", "clock=vm,base=2026-01-01", "-seed", "1",
)


# Cores that have ids beyond those of xAPIC have x2APIC: they send interrupts by WRMSR, not by a store to a device.
X2APIC = tuple(word.replace(",-x2apic", "") for word in ARGUMENTS)
LAST_XAPIC = 254
# QEMU cuts its buffer of translated code into a part for each core; here and from there on it is twice as large.
MANY_CORES, MANY_BUFFER = 128, ",tb-size=2047"


def mode(machine: ModelledMachine) -> qemu.Accel:
    check_version()
    words = list(X2APIC if machine.last_apic > LAST_XAPIC else ARGUMENTS)
    if machine.cores >= MANY_CORES:
        words[words.index("-accel") + 1] += MANY_BUFFER
    return qemu.Accel("tcg", tuple(words), machine.header, preload=(PRELOAD,))


def check_installed() -> None:
    """Before a build, which takes minutes. Where there is no QEMU, the set-up installs one that comes with the
    build."""
    if shutil.which(qemu.BINARY):
        check_version()


def check_version() -> None:
    if (version := qemu.version()) < SINCE:
        raise Failure(
            f"QEMU {'.'.join(map(str, version))} cannot run a modelled machine; {'.'.join(map(str, SINCE))} and "
            f"later can "
            "(Debian 12 has it in bookworm-backports). --icount counts instructions instead, and prices nothing"
        )


def with_transactions(target: Plan) -> dict[str, str]:
    """Gives its kernels of regime rtm transactions that the plugin executes, and returns what the plugin is to be
    told."""
    clusters = [cluster for cluster in target.cluster_map.clusters if cluster.kernel in (RTM, MODELLED_RTM)]
    if not clusters:
        return {}
    kernels = [OF_NO_KERNEL] * len(target.cluster_map.cpus)
    for number, cluster in enumerate(clusters):
        cluster.kernel = MODELLED_RTM
        for cpu in cluster.cpus:
            kernels[cpu] = number
    return {"transactions": ":".join(map(str, kernels))}


@contextmanager
def marks(machine: ModelledMachine, target: Plan, line_factor: float = 1.0, build: Path = BUILD,
          options: Mapping[str, str] = {}, priced: str | None = None,
          later: ModelledMachine | None = None, copied: bool = False) -> Iterator[Marks]:
    """Prepares one run of the emulator with `target`'s machine, which is to be started with `arguments`, after this.

    Kernels of regime rtm become ones with transactions that the plugin executes. Fails at its end if a loop was parked
    that did not spin. `priced`: between which marks; None is all. `options` of the plugin: how it computes, not what
    things cost; an empty value leaves the option out. `later`: the machine whose prices hold from the first of `priced`
    on. `copied`: the machine stops there, for copies that go on (deploy/machine/snapshot.py).
    """
    with TemporaryDirectory(prefix="skerry-modelled-") as name:
        directory = Path(name)
        prices = directory / "machine"
        write_text(prices, machine.plugin_text(target.machine.memory, line_factor))
        values = {"machine": str(prices), "priced": priced or ""} | with_transactions(target) | dict(options)
        if later:
            values["prices"] = str(directory / "prices")
            write_text(directory / "prices", later.plugin_text(target.machine.memory, line_factor))
        values["snapshot"] = str(directory / "snapshot") if copied else ""
        marks_file = Marks(directory, build / PLUGIN, {name: value for name, value in values.items() if value})
        yield marks_file
        marks_file.check_parking()


def clocks(machine: ModelledMachine | None, stepped: bool, target: Plan, line_factor: float = 1.0, build: Path = BUILD,
           options: Mapping[str, str] = {}, priced: str | None = None) -> AbstractContextManager[Marks | None]:
    """The plugin for one run of the emulator: the modelled machine's, the one that keeps cores in step, or none."""
    if machine:
        return marks(machine, target, line_factor, build, options, priced)
    return lockstep.marks(build) if stepped else nullcontext()
