# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench redis`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Annotated, Any

import typer

from deploy.base import host, process
from deploy.base.partial import Parts
from deploy.base.terminal import Json, Output, Quiet, places
from deploy.base.timeouts import Patience
from deploy.bench import regimes
from deploy.bench.redis import architecture, measure as experiment
from deploy.bench.redis.plot import plot_redis
from deploy.bench.redis.table import instance_table, tables
from deploy.cli import options
from deploy.cli.experiments import Locks, Plot
from deploy.cli.parameters import takes
from deploy.compare.tables import linux_table
from deploy.deployment import WORKLOADS
from deploy.deployment.planner import plan
from deploy.emulator import lockstep, run
from deploy.emulator.machine_file import RANGE, chosen
from deploy.load import measure
from deploy.load.case import cases, needed as needed_by
from deploy.load.comparison import Comparison
from deploy.machine import kvm, qemu
from deploy.results.result import document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.model import ranges

MOST_CORES = 32

Cores = Annotated[str, typer.Option("--cores", metavar="LIST",
                                    help="Numbers of cores: 4; 1,2,4; 1..4 is each of them.")]
Stack = Annotated[
    str, typer.Option("--stack", metavar="process,inproc",
                      help="lwIP in a process of its own, inside each process, or both.")
]
Workload = Annotated[str, typer.Option("--workload", metavar="C", help="YCSB core workload: a, b, c or f.")]
MODELLED_RECORDS, MODELLED_OPERATIONS = 50, 100
MODELLED_SILENCE = 1200.0  # seconds in which a run on a modelled machine must come to its end
Records = Annotated[int | None, typer.Option(
    "--records", metavar="N", min=1, max=1 << 22,
    help=f"Records of 1 kB in each Redis ({experiment.RECORDS:,}; {MODELLED_RECORDS} on a modelled machine).")]
Operations = Annotated[int | None, typer.Option(
    "--operations", metavar="N", min=1,
    help=f"Operations of each client ({experiment.OPERATIONS:,}; {MODELLED_OPERATIONS} on a modelled machine).")]
Clients = Annotated[int, typer.Option("--clients", metavar="N", min=1, max=16,
                                      help="Clients of each Redis, on its core.")]
Baseline = Annotated[
    str | None, typer.Option("--baseline", metavar="linux",
                             help="The same on Linux, too; both then in the host's time.")
]
Figure = Annotated[
    str | None, typer.Option("--figure", metavar="6",
                             help="Elphinstone's Figure 6: what runs on which core, here and there.")
]
Pong = Annotated[bool | None, typer.Option(
    "--pong/--no-pong", help="Time from power-on to the first +PONG, too: the default, but not of a modelled machine.")]


@dataclass(frozen=True)
class RedisOptions:
    lock: Locks = None
    cores: Cores = experiment.CORES
    stack: Stack = "process"
    workload: Workload = "c"
    records: Records = None
    operations: Operations = None
    clients: Clients = experiment.CLIENTS
    baseline: Baseline = None
    pong: Pong = None
    figure: Figure = None
    machine: options.ModelledMachine = None
    quick: options.Quick = False
    icount: options.Icount = False
    accel: options.Accel = "auto"
    timeout: options.Timeout = None
    plot: Plot = None
    quiet: Quiet = False
    json: Json = None


@takes(RedisOptions)
def redis(args: RedisOptions) -> None:
    """Redis, its lwIP and the network driver as separate processes, under YCSB, on 1 to n cores under every lock
    (Elphinstone, Figures 6 and 7; Peters, Figures 3 and 4).

    Under the emulator cores go in step and each counts its own instructions as cycles, but for --icount and --baseline.
    With --machine the emulator has the price list of that machine, and throughput its range under half and double line
    costs.
    """
    cores, baseline, json = args.cores, args.baseline, args.json
    process.heed_signals()
    if args.figure:
        _architecture(args.figure, json, args.quiet)
        return
    modelled = chosen(args.machine, args.quick, {
        "--icount": args.icount, "--baseline": baseline, "--accel": args.accel != "auto", "--pong": args.pong,
    })
    request = experiment.Request(
        _names(args.lock), _sizes(cores), experiment.stacks(args.stack), _workload(args.workload),
        args.records or (MODELLED_RECORDS if modelled else experiment.RECORDS),
        args.operations or (MODELLED_OPERATIONS if modelled else experiment.OPERATIONS),
        args.clients, Patience(MODELLED_SILENCE, args.timeout) if modelled else Patience(limit=args.timeout),
        modelled, RANGE if modelled and not args.quick else (1.0,),
    )
    if baseline not in (None, "linux"):
        raise InputError("--baseline", f"'{baseline}' is not linux")
    jobs = request.jobs()
    if not jobs:
        raise InputError("--lock", f"'{regimes.BASELINE}' requires --cores to include 1, and --cores is {cores}")
    for job in jobs:  # what the machine cannot be is said before anything is built
        plan(job.deployment(experiment.LAYOUT, request.workload))
    json, picture = places("redis", json, args.plot)
    output = Output(args.quiet, json)
    kvm.check_choice(args.accel, args.icount)
    if modelled:
        run.check_installed()
    needed = [needed_by(cases(job)) | needs.clocks(modelled) for job in jobs]
    ensure_built(output, reduce(or_, needed, needs.PLOTS | (needs.BESIDE_LINUX if baseline else needs.NOTHING)))
    load, outside, stepped = _modes(jobs[-1], args.accel, args.icount, bool(baseline), max(request.cores))
    output.line(f"Mode: {load.description}.")
    parts = Parts(output)
    points = _measure(jobs, load, stepped, parts)
    ranged = experiment.ranges_of(points)
    points = [point for point in points if point.line_factor == 1]
    parts.require(points)
    if args.pong is not False and not modelled:
        _pongs(points, jobs, outside, parts)
    linux = _linux(request, load, outside, parts) if baseline else []
    for table in tables(points, ranged):
        output.table(table)
    output.table(instance_table(points, linux))
    for other in linux:
        if first := next((point for point in points if point.size == other["cores"]), None):
            output.table(linux_table(replace(first.result, metrics=first.metrics), other))
    if any(point.late for point in points):
        output.line(f"The host was so busy that cores got out of step {sum(point.late for point in points)} times.")
    entries = [*(point.to_json() | _range(point, ranged) for point in points), *linux]
    output.results(document("bench redis", host_description(load, qemu.BINARY), [], entries) | parts.to_json())
    plot_redis(points, load.description, picture)
    output.line(f"Plot: {picture}." if json == "-" else f"Results: {json}. Plot: {picture}.")
    parts.finish()


def _architecture(figure: str, json: str | None, quiet: bool) -> None:
    """A drawing, of what every boot here has: nothing runs for it."""
    if figure != "6":
        raise InputError("--figure", f"'{figure}' is not 6; Figure 7 is bench redis itself")
    output, found = Output(quiet, json), architecture.places()
    output.table(architecture.table(found))
    differ = [str(place.core) for place in found if not place.same]
    output.line(f"Not as in the paper: core {', '.join(differ)}." if differ else "Every core has the paper's programs.")
    output.results(document("bench redis", {}, [], [place.to_json() for place in found]))


def _range(point: experiment.Point, ranged: experiment.Ranges) -> dict[str, Any]:
    return {"range": {"ops_per_mcycle": list(ranged[point.key])}} if point.key in ranged else {}


def _names(lock: str | None) -> list[str]:
    """The regimes named, or every one; the one without a lock only where it is wanted or all are."""
    named = None if lock is None else {word.strip() for word in lock.split(",")}
    return [name for name in regimes.chosen(lock) if named is None or name in named]


def _sizes(text: str) -> list[int]:
    sizes = ranges.cores(text)
    if max(sizes) > MOST_CORES:
        raise InputError("--cores", f"{max(sizes)} cores; {MOST_CORES} are the most")
    return sizes


def _workload(text: str) -> str:
    if text.lower() not in WORKLOADS:
        raise InputError("--workload", f"'{text}' is not one of {', '.join(WORKLOADS)}")
    return text.lower()


def _modes(
    job: Comparison, accel: str, icount: bool, beside: bool, most: int
) -> tuple[qemu.Accel, qemu.Accel, bool]:
    """How the load runs, how what is timed from outside does, and whether cores go in step."""
    load, outside = measure.accelerators(job, accel, icount)
    if job.modelled:
        return load, outside, True
    if not load.emulated and most > host.cpu().cores:
        raise InputError("--cores", f"{most} virtual cores do not run in parallel on {host.cpu().cores}")
    if load.emulated and not icount and not beside:
        return lockstep.mode(most), outside, True
    return load, outside, False


def _measure(jobs: Sequence[Comparison], load: qemu.Accel, stepped: bool, parts: Parts) -> list[experiment.Point]:
    points = []
    with parts.output.progress("Booting", total=len(jobs)) as update:
        for done, job in enumerate(parts.of(jobs)):
            lines = f", line costs x {job.line_factor:g}" if job.line_factor != 1 else ""
            name = f"kernel {job.lock}, {job.shape.cpus} cores, stack {job.stack}{lines}"
            update(completed=done, description=name)
            with parts.part(name):
                points.append(experiment.measure(job, load, stepped))
    return points


def _pongs(
    points: Sequence[experiment.Point], jobs: Sequence[Comparison], outside: qemu.Accel, parts: Parts
) -> None:
    """Of each stack, the last point's machine: it is the boot that takes the time, not the lock."""
    of_point = {(job.stack, job.lock, job.shape.cpus): job for job in jobs if job.line_factor == 1}
    for point in parts.of({point.stack: point for point in points}.values()):
        name = f"stack {point.stack}: from power-on to the first +PONG"
        with parts.output.progress(name), parts.part(name):
            point.result.metrics["boot_to_pong_s"] = measure.boot_to_pong(of_point[point.key], experiment.LAYOUT,
                                                                          outside)


def _linux(
    request: experiment.Request, load: qemu.Accel, outside: qemu.Accel, parts: Parts
) -> list[dict[str, Any]]:
    found = []
    for cores in parts.of(request.cores):
        job = request.job(request.locks[0], cores, request.stacks[0])
        with parts.output.progress(f"Linux, {cores} cores"), parts.part(f"Linux, {cores} cores"):
            found.append(measure.linux(job, request.workload, load, outside))
    return found
