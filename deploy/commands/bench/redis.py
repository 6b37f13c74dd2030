# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench redis`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from deploy import comparison, host, kvm, options, process, qemu
from deploy.bench import in_step, regimes
from deploy.bench import redis as experiment
from deploy.bench.redis_table import instance_table, tables
from deploy.commands.bench.common import Locks, Plot, places
from deploy.comparison import Comparison
from deploy.deployment import WORKLOADS
from deploy.expand import plan
from deploy.output import Json, Output, Quiet
from deploy.render import linux_table
from deploy.results import document, host_description
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.model import ranges

MOST_CORES = 32

Cores = Annotated[str, typer.Option("--cores", metavar="LIST", help="Numbers of cores: 4; 1,2,4; 1..4 is each of them.")]
Stack = Annotated[
    str, typer.Option("--stack", metavar="process,inproc", help="lwIP in a process of its own, inside each process, or both.")
]
Workload = Annotated[str, typer.Option("--workload", metavar="C", help="YCSB core workload: a, b, c or f.")]
Records = Annotated[int, typer.Option("--records", metavar="N", min=1, max=1 << 22, help="Records of 1 kB in each Redis.")]
Operations = Annotated[int, typer.Option("--operations", metavar="N", min=1, help="Operations of each client.")]
Clients = Annotated[int, typer.Option("--clients", metavar="N", min=1, max=16, help="Clients of each Redis, on its core.")]
Baseline = Annotated[
    str | None, typer.Option("--baseline", metavar="linux", help="The same on Linux, too; both then in the host's time.")
]
Pong = Annotated[bool, typer.Option("--pong/--no-pong", help="Time from power-on to the first +PONG, too.")]


def redis(
    lock: Locks = None,
    cores: Cores = experiment.CORES,
    stack: Stack = "process",
    workload: Workload = "c",
    records: Records = experiment.RECORDS,
    operations: Operations = experiment.OPERATIONS,
    clients: Clients = experiment.CLIENTS,
    baseline: Baseline = None,
    pong: Pong = True,
    icount: options.Icount = False,
    accel: options.Accel = "auto",
    timeout: options.Timeout = 300.0,
    plot: Plot = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Redis, its lwIP and the network driver as separate processes, under YCSB, on 1 to n cores under every lock
    (Elphinstone, Figures 6 and 7; Peters, Figures 3 and 4).

    Under the emulator cores go in step and each counts its own instructions as cycles, but for --icount and --baseline.
    """
    process.heed_signals()
    request = experiment.Request(
        _names(lock), _sizes(cores), experiment.stacks(stack), _workload(workload), records, operations, clients, timeout
    )
    if baseline not in (None, "linux"):
        raise InputError("--baseline", f"'{baseline}' is not linux")
    jobs = request.jobs()
    if not jobs:
        raise InputError("--lock", f"'{regimes.BASELINE}' runs on one core, and --cores {cores} has none such")
    for job in jobs:  # what the machine cannot be is said before anything is built
        plan(job.deployment(experiment.LAYOUT, request.workload))
    json, picture = places("redis", json, plot)
    output = Output(quiet, json)
    kvm.check_choice(accel, icount)
    ensure_built(output)
    load, outside, stepped = _modes(jobs[-1], accel, icount, bool(baseline), max(request.cores))
    output.line(f"Mode: {load.description}.")
    points = _measure(jobs, load, stepped, output)
    if pong:
        _pongs(points, jobs, outside, output)
    linux = _linux(request, load, outside, output) if baseline else []
    for table in tables(points):
        output.table(table)
    output.table(instance_table(points, linux))
    for other in linux:
        first = next(point for point in points if point.size == other["cores"])
        output.table(linux_table(replace(first.result, metrics=first.metrics), other))
    if any(point.late for point in points):
        output.line(f"The host was so busy that cores got out of step {sum(point.late for point in points)} times.")
    entries = [*(point.to_json() for point in points), *linux]
    output.results(document("bench redis", host_description(load, qemu.BINARY), [], entries))
    from deploy.bench.redis_plot import plot_redis  # matplotlib takes long to load

    plot_redis(points, load.description, picture)
    output.line(f"Plot: {picture}." if json == "-" else f"Results: {json}. Plot: {picture}.")


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
    load, outside = comparison.accelerators(job, accel, icount)
    if not load.emulated and most > host.cpu().cores:
        raise InputError("--cores", f"{most} virtual cores do not run in parallel on {host.cpu().cores}")
    if load.emulated and not icount and not beside:
        return in_step.mode(most), outside, True
    return load, outside, False


def _measure(jobs: Sequence[Comparison], load: qemu.Accel, stepped: bool, output: Output) -> list[experiment.Point]:
    points = []
    with output.progress("Booting", total=len(jobs)) as update:
        for done, job in enumerate(jobs):
            update(completed=done, description=f"kernel {job.lock}, {job.shape.cpus} cores, stack {job.stack}")
            points.append(experiment.measure(job, load, stepped))
    return points


def _pongs(
    points: Sequence[experiment.Point], jobs: Sequence[Comparison], outside: qemu.Accel, output: Output
) -> None:
    """Of each stack, the largest machine's last lock: it is the boot that takes the time, not the lock."""
    for at in {job.stack: place for place, job in enumerate(jobs)}.values():
        with output.progress(f"stack {jobs[at].stack}: from power-on to the first +PONG"):
            seconds = comparison.boot_to_pong(jobs[at], experiment.LAYOUT, outside)
        points[at].result.metrics["boot_to_pong_s"] = seconds


def _linux(
    request: experiment.Request, load: qemu.Accel, outside: qemu.Accel, output: Output
) -> list[dict[str, Any]]:
    found = []
    for cores in request.cores:
        job = request.job(request.locks[0], cores, request.stacks[0])
        with output.progress(f"Linux, {cores} cores"):
            found.append(comparison.linux(job, request.workload, load, outside))
    return found
