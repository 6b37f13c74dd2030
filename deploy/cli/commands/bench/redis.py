# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench redis`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any

from deploy.base import process
from deploy.base.choices import option
from deploy.base.partial import Parts
from deploy.base.terminal import Json, Output, Quiet
from deploy.base.timeouts import Patience
from deploy.bench import regimes
from deploy.bench.boot import Bench
from deploy.bench.destination import Destination
from deploy.bench.redis import architecture, measure as experiment
from deploy.bench.redis.present import instance_table, plot_redis, tables
from deploy.cli import options
from deploy.cli.experiments import Locks, Plot, check_baseline, check_emulator, check_parallel
from deploy.cli.options import takes
from deploy.compare.tables import linux_table
from deploy.deployment import STACKS, WORKLOADS
from deploy.emulator import lockstep
from deploy.emulator.machine_file import RANGE, ModelledMachine, chosen
from deploy.load import measure
from deploy.load.case import RedisCase, needed as needed_by
from deploy.load.comparison import Comparison
from deploy.load.request import split
from deploy.machine import qemu
from deploy.results.result import document
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.model import ranges

MOST_CORES = 32

MODELLED_RECORDS, MODELLED_OPERATIONS = 50, 100
MODELLED_SILENCE = 1200.0  # seconds in which a run on a modelled machine must come to its end


@dataclass(frozen=True)
class RedisOptions:
    lock: Locks = None
    cores: Annotated[str, option("--cores LIST", "Numbers of cores: 4; 1,2,4; 1..4 is each "
                                 "of them.")] = experiment.CORES
    stack: Annotated[str, option("--stack process,inproc", "lwIP in a process of its own, inside each process, "
                                 "or both.")] = "process"
    workload: Annotated[str, option("--workload C", "YCSB core workload: a to f.")] = "c"
    records: Annotated[int | None, option("--records N", f"Records of 1 kB in each Redis ({experiment.RECORDS:,}; "
                                          f"{MODELLED_RECORDS} on a modelled machine).", 1, 1 << 22)] = None
    operations: Annotated[int | None, option("--operations N", f"Operations of each client ({experiment.OPERATIONS:,}; "
                                             f"{MODELLED_OPERATIONS} on a modelled machine).", 1)] = None
    clients: Annotated[int, option("--clients N", "Clients of each Redis, on its core.", 1, 16)] = experiment.CLIENTS
    baseline: Annotated[str | None, option("--baseline linux", "The same on Linux, too; both then in the "
                                           "host's time.")] = None
    time_pong: Annotated[bool | None, option("--pong/--no-pong", "Time from power-on to the first +PONG, too: the "
                                             "default, but not of a modelled machine.")] = None
    figure: Annotated[str | None, option("--figure 6", "Elphinstone's Figure 6: what runs on which core, here and "
                                         "there.")] = None
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
    process.heed_signals()
    if args.figure:
        _architecture(args.figure, args.json, args.quiet)
        return
    baseline = args.baseline
    modelled = chosen(args.machine, args.quick, {
        "--icount": args.icount, "--baseline": baseline, "--accel": args.accel != "auto", "--pong": args.time_pong,
    })
    request = _request(args, modelled)
    check_baseline(baseline)
    cases = request.cases()  # fails before anything is built
    if not cases:
        raise InputError("--lock", f"'{regimes.BASELINE}' requires --cores to include 1, and --cores is {args.cores}")
    to = Destination.of("redis", args.json, args.plot, args.quiet)
    check_emulator(modelled, args.accel, args.icount)
    needed = [needed_by([case]) | needs.clocks(modelled) for case in cases]
    ensure_built(to.output, reduce(or_, needed, needs.PLOTS | (needs.BESIDE_LINUX if baseline else needs.NOTHING)))
    load, outside, stepped = _modes(cases[-1].job, args.accel, args.icount, bool(baseline), max(request.cores))
    to.output.line(f"Mode: {load.description}.")
    parts = Parts(to.output)
    points = parts.boot(cases, _name, lambda case: experiment.measure(case, Bench(load, request.timeout, stepped)))
    ranged = experiment.ranges_of(points)
    points = [point for point in points if point.line_factor == 1]
    parts.require(points)
    if args.time_pong is not False and not modelled:
        points = _with_pongs(points, cases, outside, parts)
    linux = _linux(request, load, outside, parts) if baseline else []
    _show(points, ranged, linux, to)
    entries = [*(point.to_json() | _range(point, ranged) for point in points), *linux]
    to.write("bench redis", load, entries, parts)
    plot_redis(points, load.description, to.picture)
    to.end(parts)


def _request(args: RedisOptions, modelled: ModelledMachine | None) -> experiment.Request:
    return experiment.Request(
        regimes.named(args.lock), _sizes(args.cores), split("--stack", args.stack, STACKS), _workload(args.workload),
        args.records or (MODELLED_RECORDS if modelled else experiment.RECORDS),
        args.operations or (MODELLED_OPERATIONS if modelled else experiment.OPERATIONS),
        args.clients, Patience(MODELLED_SILENCE, args.timeout) if modelled else Patience(limit=args.timeout),
        modelled, RANGE if modelled and not args.quick else (1.0,),
    )


def _show(points: Sequence[experiment.Point], ranged: experiment.Ranges, linux: Sequence[dict[str, Any]],
          to: Destination) -> None:
    for table in tables(points, ranged):
        to.output.table(table)
    to.output.table(instance_table(points, linux))
    for other in linux:
        if first := next((point for point in points if point.size == other["cores"]), None):
            to.output.table(linux_table(first.result.with_metrics(first.metrics), other))
    to.say_late(points)


def _architecture(figure: str, json: str | None, quiet: bool) -> None:
    """A drawing, of what every boot here has: nothing runs for it."""
    if figure != "6":
        raise InputError("--figure", f"'{figure}' is not 6; Figure 7 is bench redis itself")
    output, placed = Output(quiet, json), architecture.places()
    output.table(architecture.table(placed))
    differ = [str(place.core) for place in placed if not place.same]
    output.line(f"Not as in the paper: core {', '.join(differ)}." if differ else "Every core has the paper's programs.")
    output.results(document("bench redis", {}, [], [place.to_json() for place in placed]))


def _range(point: experiment.Point, ranged: experiment.Ranges) -> dict[str, Any]:
    return {"range": {"ops_per_mcycle": list(ranged[point.key])}} if point.key in ranged else {}


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
    job: Comparison, accel: str, icount: bool, with_linux: bool, most: int
) -> tuple[qemu.Accel, qemu.Accel, bool]:
    """Returns the mode of the load, that for timings from outside, and whether cores go in step."""
    load, outside = measure.accelerators(job, accel, icount)
    if job.modelled:
        return load, outside, True
    if not load.emulated:
        check_parallel(most)
    if load.emulated and not icount and not with_linux:
        return lockstep.mode(most), outside, True
    return load, outside, False


def _name(case: RedisCase) -> str:
    job = case.job
    lines = f", line costs x {job.line_factor:g}" if job.line_factor != 1 else ""
    return f"kernel {job.lock}, {job.shape.cpus} cores, stack {job.stack}{lines}"


def _with_pongs(
    points: Sequence[experiment.Point], cases: Sequence[RedisCase], outside: qemu.Accel, parts: Parts
) -> list[experiment.Point]:
    """Boots the last point's machine of each stack: it is the boot that takes the time, not the lock."""
    jobs = {(case.job.stack, case.job.lock, case.job.shape.cpus): case.job for case in cases}
    seconds = {}
    for point in parts.of({point.stack: point for point in points}.values()):
        name = f"stack {point.stack}: from power-on to the first +PONG"
        with parts.output.progress(name), parts.part(name):
            seconds[point.key] = measure.boot_to_pong(jobs[point.key], experiment.LAYOUT, outside)
    return [point.with_metrics({"boot_to_pong_s": seconds[point.key]}) if point.key in seconds else point
            for point in points]


def _linux(
    request: experiment.Request, load: qemu.Accel, outside: qemu.Accel, parts: Parts
) -> list[dict[str, Any]]:
    entries = []
    for cores in parts.of(request.cores):
        job = request.job(request.locks[0], cores, request.stacks[0])
        with parts.output.progress(f"Linux, {cores} cores"), parts.part(f"Linux, {cores} cores"):
            entries.append(measure.linux(job, request.workload, load, outside))
    return entries
