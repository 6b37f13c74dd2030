# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench mach`."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from deploy.base import host, process
from deploy.base.partial import Parts
from deploy.base.terminal import Json, Output, Quiet, places
from deploy.base.timeouts import Patience
from deploy.bench import regimes
from deploy.bench.mach.measure import ClassRanges, Ranges, Run, Work, class_ranges_of, measure, ranges_of
from deploy.bench.mach.plot import plot_mach
from deploy.bench.mach.table import tables
from deploy.bench.regimes import BASELINE
from deploy.cli import options
from deploy.cli.experiments import Locks, Plot
from deploy.cli.parameters import takes
from deploy.emulator import lockstep, run as modelled_run
from deploy.emulator.machine_file import RANGE, chosen
from deploy.machine import kvm, qemu
from deploy.results.result import document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.headers import constant
from topology.model import ranges
from topology.model.papers import MACH_TOTAL

SILENCE = 300.0  # seconds in which a measurement must come to its end
TASKS_MAX = constant(Path("apps/stress/stress.h"), "TASKS_MAX")

Cores = Annotated[str, typer.Option("--cores", metavar="LIST",
                                    help="Numbers of cores: 4; 2..4 is each of them; the tables are of the most.")]
Clients = Annotated[int | None, typer.Option("--clients", metavar="N", min=1, max=TASKS_MAX,
                                             help="Clients of the one server (default: 2 a core).")]
Requests = Annotated[int, typer.Option("--requests", metavar="N", min=1, max=1_000_000,
                                       help="Requests of each client.")]
Tasks = Annotated[int | None, typer.Option("--tasks", metavar="N", min=1, max=TASKS_MAX,
                                           help="Tasks that write into shared memory (default: 1 a core).")]
Pages = Annotated[int, typer.Option("--pages", metavar="N", min=1, max=256,
                                    help="Pages that the tasks share copy-on-write.")]
Rounds = Annotated[int, typer.Option("--rounds", metavar="N", min=1, max=100_000, help="Rounds of sharing.")]
Pagers = Annotated[int | None, typer.Option("--pagers", metavar="N", min=1, max=60,
                                            help="Pagers that serve the faults (default: 1 a core).")]


@dataclass(frozen=True)
class MachOptions:
    lock: Locks = None
    cores: Cores = "2..4"
    clients: Clients = None
    requests: Requests = 100
    tasks: Tasks = None
    pages: Pages = 16
    rounds: Rounds = 2
    pagers: Pagers = None
    machine: options.ModelledMachine = None
    quick: options.Quick = False
    accel: options.Accel = "auto"
    timeout: options.Timeout = None
    plot: Plot = None
    quiet: Quiet = False
    json: Json = None


@takes(MachOptions)
def mach(args: MachOptions) -> None:
    """The Mach study's two programs and its Tables 1 to 4: how often each lock is taken and contended.

    n clients call one server with empty messages; tasks write into memory that they share copy-on-write, and a
    user-level pager serves the faults. Under the emulator cores go in step and each counts its own instructions.
    With --machine the emulator has the price list of that machine, and throughput its range under half and double line
    costs.
    """
    json = args.json
    process.heed_signals()
    modelled = chosen(args.machine, args.quick, {"--accel": args.accel != "auto"})
    names = [name for name in regimes.chosen(args.lock) if name != BASELINE]
    if not names:
        raise InputError("--lock", f"{BASELINE} has no lock to be measured, and runs on one core only")
    sizes = ranges.cores(args.cores)
    if min(sizes) < 2 or max(sizes) > TASKS_MAX:
        raise InputError("--cores", f"from 2 to {TASKS_MAX}: on one core no lock is contended")
    if modelled:
        for n in sizes:  # what the machine cannot be is said before anything is built
            modelled.exactly(n, 0)
    json, picture = places("mach", json, args.plot)
    output = Output(args.quiet, json)
    kvm.check_choice(args.accel, False)
    if modelled:
        modelled_run.check_installed()
    ensure_built(output, needs.kernels(names, "stress", "root", statistics=True, transactions=bool(modelled))
                 | needs.clocks(modelled))
    mode, stepped = (modelled_run.mode(modelled), True) if modelled else _mode(args.accel, max(sizes))
    output.line(f"Mode: {mode.description}.")
    most = max(sizes)
    wanted = [(name, n, Work.messages(args.clients or 2 * n, args.requests)) for name in names for n in sizes]
    wanted += [(name, most,
                Work.memory(args.tasks or most, args.pages, args.rounds, min(args.pagers or most, args.tasks or most)))
               for name in names]
    runs: list[Run] = []
    parts = Parts(output)
    factors = RANGE if modelled and not args.quick else (1.0,)
    with output.progress("Booting", total=len(factors) * len(wanted)) as update:
        for factor, (name, n, work) in parts.of(product(factors, wanted)):
            lines = f", line costs x {factor:g}" if len(factors) > 1 else ""
            one = f"kernel {name}, {work.program}, {n} cores{lines}"
            update(completed=len(runs), description=one)
            with parts.part(one):
                patience = Patience(SILENCE, args.timeout)
                runs.append(measure(name, n, work, mode, stepped, patience, modelled=modelled, line_factor=factor))
    ranged, classes = ranges_of(runs), class_ranges_of(runs)
    runs = [run for run in runs if run.line_factor == 1]
    parts.require(runs)
    for part in tables(runs, ranged, classes):
        if isinstance(part, str):
            output.line(part)
        else:
            output.table(part)
    if any(run.late for run in runs):
        output.line(f"The host was so busy that cores got out of step {sum(run.late for run in runs)} times.")
    entries = [run.to_json() | _range(run, ranged, classes) for run in runs]
    output.results(document("bench mach", host_description(mode, qemu.BINARY), [], entries) | parts.to_json())
    plot_mach(runs, mode.description, picture)
    output.line(f"Plot: {picture}." if json == "-" else f"Results: {json}. Plot: {picture}.")
    parts.finish()


def _range(run: Run, ranged: Ranges, classes: ClassRanges) -> dict[str, Any]:
    if run.key not in ranged:
        return {}
    return {"range": {
        "operations_per_million_cycles": list(ranged[run.key]),
        "lock_conflict_ratio": list(classes[*run.key, MACH_TOTAL]),
    }}


def _mode(accel: str, most: int) -> tuple[qemu.Accel, bool]:
    if not (mode := kvm.choose(accel, most)).emulated:
        if most > host.cpu().cores:
            raise InputError("--cores", f"{most} virtual cores do not run in parallel on {host.cpu().cores}")
        return mode, False
    return lockstep.mode(most), True
