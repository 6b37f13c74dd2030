# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench lines`."""

from dataclasses import dataclass
from typing import Annotated

from deploy.base import process
from deploy.base.choices import option
from deploy.base.partial import Parts
from deploy.base.terminal import Json, Quiet
from deploy.base.timeouts import Patience
from deploy.bench import regimes
from deploy.bench.destination import Destination
from deploy.bench.ipc import pingpong
from deploy.bench.lines.measure import PROTOCOLS, measure_lines
from deploy.bench.lines.table import lines_table, lock_tables
from deploy.bench.regimes import BASELINE
from deploy.bench.scale import measure as experiment
from deploy.cli import options
from deploy.cli.experiments import Locks
from deploy.cli.options import takes
from deploy.emulator import run
from deploy.emulator.machine_file import PAPERS, ModelledMachine, load
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.grouping import check_unmanaged
from topology.model import ranges

SILENCE = 1200.0
LOCK = "clh"
ROUNDS = 512


@dataclass(frozen=True)
class LinesOptions:
    lock: Locks = LOCK
    cores: Annotated[str, option("--cores LIST", "Numbers of cores: 8; 2,4.")] = "8"
    delay: Annotated[str, option("--delay LIST", "Mean cycles before an entry: 4000; 500,4000.")] = "500"
    rounds: Annotated[int, option("--rounds N", "Round trips of a point, all pairs together.", 10, 1_000_000)] = ROUNDS
    layout: options.NamedLayout = None
    machine: options.ModelledMachine = PAPERS
    top: Annotated[int, option("--top N", "Lines that the table shows.", 1, 256)] = 12
    timeout: options.Timeout = None
    quiet: Quiet = False
    json: Json = None


@takes(LinesOptions)
def lines(args: LinesOptions) -> None:
    """Which cache lines move between cores, and by which instructions, in the scaling benchmark on a modelled machine.

    A line that cores share without sharing its bytes is marked as false sharing. Of each lock, and each kind of kernel
    entry: how often it was waited for, how long it was held, and which lines moved. Two runs give the same figures.
    """
    process.heed_signals()
    check_unmanaged(args.layout)
    modelled = load(args.machine or PAPERS)
    requests = _requests(args, modelled)
    to = Destination.of("lines", args.json, None, args.quiet)
    output = to.output
    run.check_installed()
    ensure_built(output, needs.kernels([request.lock for request in requests], *pingpong.PROGRAMS, "root",
                                       statistics=True, transactions=True) | needs.MODELLED)
    mode = run.mode(modelled)
    output.line(f"Mode: {mode.description}.")
    entries = []
    parts = Parts(output)
    with output.progress("Booting", total=len(requests)) as update:
        for done, request in enumerate(parts.of(requests)):
            update(completed=done, description=f"kernel {request.lock}")
            with parts.part(f"kernel {request.lock}"):
                for point in measure_lines(request, Patience(SILENCE, args.timeout)):
                    for table in (lines_table(point, args.top), *lock_tables(point, args.top)):
                        output.table(table)
                    entries.append(point.to_json() | {"modelled": modelled.to_json()})
    parts.require(entries)
    to.write("bench lines", mode, entries, parts)
    to.end(parts, drawn=False)


def _requests(args: LinesOptions, modelled: ModelledMachine) -> list[experiment.Request]:
    """Raises InputError for what the machine cannot be."""
    sizes, delays = ranges.cores(args.cores), ranges.delays(args.delay, "--delay")
    requests = [
        experiment.Request(name, sizes, delays, args.rounds, args.layout or "spanning", modelled=modelled)
        for name in regimes.chosen(args.lock)
        if name != BASELINE or args.lock == BASELINE
    ]
    for request in requests:
        if request.lock == BASELINE and sizes != [1]:
            raise InputError("--lock none", "runs on one core; give it --cores 1")
        if not PROTOCOLS[request.lock]:
            raise InputError(f"--lock {request.lock}",
                             "nothing is known of how it uses its words: cluster-kernel/lock/regimes.toml has no "
                             "protocol for it")
        experiment.case(request)
    return requests
