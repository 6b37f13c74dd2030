# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench mach`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from deploy.base import process
from deploy.base.choices import option
from deploy.base.partial import Parts
from deploy.base.terminal import Json, Quiet
from deploy.base.timeouts import Patience
from deploy.bench import regimes
from deploy.bench.boot import Bench
from deploy.bench.destination import Destination
from deploy.bench.mach.measure import ClassRanges, Job, Ranges, Run, Work, class_ranges_of, measure, ranges_of
from deploy.bench.mach.present import plot_mach, tables
from deploy.bench.regimes import BASELINE
from deploy.cli import options
from deploy.cli.experiments import Locks, Plot, check_emulator, choose_mode
from deploy.cli.options import takes
from deploy.emulator.machine_file import RANGE, ModelledMachine, chosen
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.headers import constant
from topology.model import ranges
from topology.model.papers import MACH_TOTAL

SILENCE = 300.0  # seconds in which a measurement must come to its end
TASKS_MAX = constant(Path("apps/stress/stress.h"), "TASKS_MAX")


@dataclass(frozen=True)
class MachOptions:
    lock: Locks = None
    cores: Annotated[str, option("--cores LIST", "Numbers of cores: 4; 2..4 is each of them; the tables are of the "
                                 "most.")] = "2..4"
    clients: Annotated[int | None, option("--clients N", "Clients of the one server (default: 2 a core).", 1,
                                          TASKS_MAX)] = None
    requests: Annotated[int, option("--requests N", "Requests of each client.", 1, 1_000_000)] = 100
    tasks: Annotated[int | None, option("--tasks N", "Tasks that write into shared memory (default: 1 a core).", 1,
                                        TASKS_MAX)] = None
    pages: Annotated[int, option("--pages N", "Pages that the tasks share copy-on-write.", 1, 256)] = 16
    rounds: Annotated[int, option("--rounds N", "Rounds of sharing.", 1, 100_000)] = 2
    pagers: Annotated[int | None, option("--pagers N", "Pagers that serve the faults (default: 1 a core).", 1,
                                         60)] = None
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
    process.heed_signals()
    modelled = chosen(args.machine, args.quick, {"--accel": args.accel != "auto"})
    names = [name for name in regimes.chosen(args.lock) if name != BASELINE]
    if not names:
        raise InputError("--lock", f"{BASELINE} has no lock to be measured, and runs on one core only")
    sizes = ranges.cores(args.cores)
    if min(sizes) < 2 or max(sizes) > TASKS_MAX:
        raise InputError("--cores", f"from 2 to {TASKS_MAX}: on one core no lock is contended")
    if modelled:
        for n in sizes:  # fails before anything is built
            modelled.exactly(n, 0)
    to = Destination.of("mach", args.json, args.plot, args.quiet)
    output = to.output
    check_emulator(modelled, args.accel, False)
    ensure_built(output, needs.kernels(names, "stress", "root", statistics=True, transactions=bool(modelled))
                 | needs.clocks(modelled))
    mode, stepped = choose_mode(modelled, args.accel, max(sizes))
    output.line(f"Mode: {mode.description}.")
    parts = Parts(output)
    jobs = _jobs(args, modelled, names, sizes)
    name = partial(_name, ranging=jobs[0].line_factor != jobs[-1].line_factor)
    runs = parts.boot(jobs, name, partial(measure, bench=Bench(mode, Patience(SILENCE, args.timeout), stepped)))
    ranged, classes = ranges_of(runs), class_ranges_of(runs)
    runs = [run for run in runs if run.line_factor == 1]
    parts.require(runs)
    for part in tables(runs, ranged, classes):
        output.line(part) if isinstance(part, str) else output.table(part)
    to.say_late(runs)
    entries = [run.to_json() | _range(run, ranged, classes) for run in runs]
    to.write("bench mach", mode, entries, parts)
    plot_mach(runs, mode.description, to.picture)
    to.end(parts)


def _jobs(args: MachOptions, modelled: ModelledMachine | None, names: Sequence[str], sizes: Sequence[int]) -> list[Job]:
    most = max(sizes)
    tasks, pagers = args.tasks or most, args.pagers or most
    work = [(name, n, Work.messages(args.clients or 2 * n, args.requests)) for name in names for n in sizes]
    work += [(name, most, Work.memory(tasks, args.pages, args.rounds, min(pagers, tasks))) for name in names]
    factors = RANGE if modelled and not args.quick else (1.0,)
    return [Job(name, n, one, modelled, factor) for factor in factors for name, n, one in work]


def _name(job: Job, ranging: bool) -> str:
    return f"kernel {job.lock}, {job.work.program}, {job.cores} cores{f', line costs x {job.line_factor:g}' * ranging}"


def _range(run: Run, ranged: Ranges, classes: ClassRanges) -> dict[str, Any]:
    if run.key not in ranged:
        return {}
    return {"range": {
        "operations_per_million_cycles": list(ranged[run.key]),
        "lock_conflict_ratio": list(classes[*run.key, MACH_TOTAL]),
    }}
