# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench lock`."""

from dataclasses import dataclass
from typing import Annotated

from deploy.base import process
from deploy.base.choices import option
from deploy.base.terminal import Json, Quiet
from deploy.bench import regimes
from deploy.bench.destination import Destination
from deploy.bench.native import lock as native_lock, measure as native
from deploy.cli import options
from deploy.cli.experiments import Locks, Plot, Runs
from deploy.cli.options import takes
from deploy.emulator.machine_file import chosen
from topology.errors import InputError
from topology.model import ranges


@dataclass(frozen=True)
class LockOptions:
    lock: Locks = None
    cores: Annotated[str | None, option("--cores LIST", "Threads: 1..4 or 1,2; else up to all cores.")] = None
    delay: Annotated[str, option("--delay LIST", "Mean cycles outside: 4000; 0,2000; 500..32000 doubles.")] = "0,2000"
    section: Annotated[int, option("--section CYCLES", "Time with the lock.", 0, 10_000_000)] = 300
    lines: Annotated[int, option("--lines N", "Shared cache lines written under the lock.", 0, 100_000)] = 4
    entries: Annotated[int, option("--entries N", "Entries to count under each lock, to check exclusion.", 1,
                                   10**10)] = 2_000_000
    runs: Runs = 7
    machine: options.ModelledMachine = None
    plot: Plot = None
    quiet: Quiet = False
    json: Json = None


@takes(LockOptions)
def lock(args: LockOptions) -> None:
    """Measure the locks alone, on real cores: idle beside a bare lock, contended, and whether they exclude.

    Threads are pinned, one to each core. They take the kernel's lock as the kernel does, without the kernel's work.
    """
    machine = args.machine
    process.heed_signals()
    if chosen(machine, False, {}):
        raise InputError(f"--machine {machine}",
                         "is not for bench lock, which measures this machine's own cores; bench scale takes it")
    to = Destination.of("lock", args.json, args.plot, args.quiet)
    locks = regimes.chosen(args.lock)
    what = native_lock.Contention(native.sizes(args.cores), ranges.delays(args.delay), args.section, args.lines)
    to.end(native.lock_command(locks, what, args.entries, args.runs, to.output, to.picture))
