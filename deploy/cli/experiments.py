# SPDX-License-Identifier: BSD-2-Clause
"""Options that mean the same in the experiments' commands, and their checks."""

from collections.abc import Collection
from typing import Annotated

from deploy.base import host
from deploy.base.choices import option, words
from deploy.base.terminal import Plot as Plot
from deploy.deployment.modules import REGIMES
from deploy.emulator import lockstep, run
from deploy.emulator.machine_file import ModelledMachine
from deploy.live.granularity import Granularity
from deploy.machine import kvm
from deploy.machine.qemu import Accel
from topology import regimes
from topology.errors import InputError
from topology.maps.clustermap import FINE, GRANULARITIES

Locks = Annotated[str | None, option("--lock LIST", f"Lock regimes: {','.join(REGIMES)}; else every one.")]
Native = Annotated[bool, option("--native", "On this machine's own cores: the kernel as a library, pinned threads.")]
Runs = Annotated[int, option("--runs N", "Natively: repetitions; medians are shown.", 1, 1000)]
OfKernel = Annotated[Granularity | None, option("--granularity", "Granularity of --lock "
                                                f"{','.join(regimes.names(regimes.SWITCHED))} kernels from their start "
                                                "(coarse).", metavar="|".join(GRANULARITIES),
                                                autocompletion=words(*GRANULARITIES))]
Local = Annotated[bool, option("--local", "With --granularity fine: all objects have their home on the core that uses "
                               "them.")]


def choose_mode(modelled: ModelledMachine | None, accel: str, most: int, icount: bool = False) -> tuple[Accel, bool]:
    """Returns how guests run, and whether their cores are to go in step. One counter for all (-icount) would show no
    waiting."""
    if modelled:
        return run.mode(modelled), True
    if not icount and not (mode := kvm.choose(accel, most)).emulated:
        check_parallel(most)
        return mode, False
    return lockstep.mode(most), True


def check_emulator(modelled: ModelledMachine | None, accel: str, icount: bool) -> None:
    kvm.check_choice(accel, icount)
    if modelled:
        run.check_installed()


def check_baseline(baseline: str | None) -> None:
    if baseline not in (None, "linux"):
        raise InputError("--baseline", f"'{baseline}' is not linux")


def check_parallel(most: int) -> None:
    if most > host.cpu().cores:
        raise InputError("--cores", f"{most} virtual cores do not run in parallel on {host.cpu().cores}")


def check_granularity(granularity: Granularity | None, local: bool, locks: Collection[str]) -> None:
    if granularity and not set(locks) & set(regimes.names(regimes.SWITCHED)):
        raise InputError("--granularity",
                         f"is for --lock {','.join(regimes.names(regimes.SWITCHED))}, not for {','.join(locks)}")
    if local and (granularity is None or granularity.value != FINE):
        raise InputError("--local", f"needs --granularity {FINE}: otherwise no object has a home")
