# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench scale`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from deploy.base import process
from deploy.base.choices import option
from deploy.base.partial import Parts
from deploy.base.terminal import Json, Quiet
from deploy.base.timeouts import Patience
from deploy.bench import regimes
from deploy.bench.boot import Bench
from deploy.bench.destination import Destination
from deploy.bench.ipc import pingpong
from deploy.bench.native import host as native_host, measure as native
from deploy.bench.regimes import BASELINE
from deploy.bench.scale import measure as experiment
from deploy.bench.scale.figure import Choice, scale_figure
from deploy.bench.scale.fit import fits
from deploy.bench.scale.measure import Key, key_of, ranges_of
from deploy.bench.scale.present import plot_scale, tables
from deploy.cli import options
from deploy.cli.experiments import Local, Locks, OfKernel, Plot, check_emulator, check_granularity, choose_mode
from deploy.cli.options import takes
from deploy.deployment.modules import REGIMES
from deploy.emulator.machine_file import RANGE, ModelledMachine, chosen
from deploy.live.granularity import Granularity
from deploy.load.case import Case
from deploy.machine import qemu
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology import regimes as list_of_regimes
from topology.errors import InputError
from topology.grouping import check_unmanaged
from topology.model import ranges

SILENCE = 1200.0  # seconds in which a measurement must come to its end
SWITCHED = list_of_regimes.names(list_of_regimes.SWITCHED)
FIRST = "clh"  # the lock that is measured at every delay where none is named

CORES = "1..8"
ROUNDS, MODELLED_ROUNDS = 1024, 2048


@dataclass(frozen=True)
class ScaleOptions:
    lock: Locks = None
    cores: Annotated[str | None, option("--cores LIST", f"Numbers of cores: 8; 1,2,4; {CORES} is each of them.")] = None
    delays: Annotated[str, option("--delays LIST", "Mean cycles before an entry: 4000; 500,4000; "
                                  "500..32000 doubles.")] = experiment.DELAYS
    rounds: Annotated[int | None, option("--rounds N", f"Round trips of a point, all pairs together ({ROUNDS:,}; "
                                         f"{MODELLED_ROUNDS:,} on a modelled machine).", 10, 1_000_000)] = None
    sockets: Annotated[int, option("--sockets N", "Sockets with these cores.", 1)] = 1
    layout: options.NamedLayout = None
    stat: Annotated[bool, option("--stat", "Use kernels with statistics; also prints lock conflicts. Counting "
                                 "lengthens the critical section.")] = False
    granularity: OfKernel = None
    local: Local = False
    native: Annotated[bool, option("--native", "On this machine's own cores, by the hosted port.")] = False
    figure: Annotated[str | None, option("--figure 4|5", "All of Elphinstone's Figure 4 or 5 on the papers' Xeon, "
                                         "beside the paper. Resumes an interrupted run.")] = None
    machine: options.ModelledMachine = None
    quick: options.Quick = False
    icount: options.Icount = False
    accel: options.Accel = "auto"
    timeout: options.Timeout = None
    plot: Plot = None
    quiet: Quiet = False
    json: Json = None


@takes(ScaleOptions)
def scale(args: ScaleOptions) -> None:
    """Independent ping-pong on 1 to n cores, with exponential delays between entries (Elphinstone, Figures 4 and 5).

    Without --lock: clh at every delay, and every other regime at 500 and 4,000. The machine-repairman model is fitted
    to the results. Under the emulator, and with --icount, cores go in step and each counts its own instructions as
    cycles. With --machine the emulator has the price list of that machine, and a point its range under half and double
    line costs. With --figure it is all of Figure 4 (five locks, 980 points, three line costs) or 5, beside what the
    paper says.
    """
    process.heed_signals()
    check_unmanaged(args.layout)
    if args.figure:
        _figure(args, args.figure)
        return
    pauses, names = _delays(args.delays), _names(args.lock)
    check_granularity(args.granularity, args.local, names)
    if args.native:
        _run_native({name: _delays_of(name, args.lock, pauses) for name in names}, args)
        return
    modelled = chosen(args.machine, args.quick, _of_real_machines(args))
    sizes = ranges.cores(args.cores) if args.cores else _sizes(modelled, args.sockets)
    cases = _cases(args, modelled, names, pauses, sizes)  # fails before anything is built
    to = Destination.of("scale", args.json, args.plot, args.quiet)
    check_emulator(modelled, args.accel, args.icount)
    ensure_built(to.output, needs.kernels(names, *pingpong.PROGRAMS, "root", statistics=args.stat,
                                         transactions=bool(modelled)) | needs.clocks(modelled))
    mode, stepped = choose_mode(modelled, args.accel, max(sizes), args.icount)
    to.output.line(f"Mode: {mode.description}.")
    parallel = None if stepped else _Parallel(max(sizes))
    parts = Parts(to.output)
    points = _measure(cases, Bench(mode, Patience(SILENCE, args.timeout), stepped), parts)
    parts.require([point for point in points if point.line_factor == 1])
    _show(points, modelled, mode, parallel, parts, to, _chosen(args.granularity, args.local))
    to.end(parts)


def _of_real_machines(args: ScaleOptions) -> dict[str, object]:
    return {"--sockets": args.sockets > 1, "--stat": args.stat, "--icount": args.icount,
            "--accel": args.accel != "auto"}


def _cases(args: ScaleOptions, modelled: ModelledMachine | None, names: Sequence[str],
           pauses: list[float], sizes: list[int]) -> list[Case[experiment.Request]]:
    rounds = args.rounds or (MODELLED_ROUNDS if modelled else ROUNDS)
    return [
        experiment.case(_request(experiment.Request(
            name, sizes, _delays_of(name, args.lock, pauses), rounds, args.layout or "spanning", args.sockets,
            args.stat, modelled, factor, **(_chosen(args.granularity, args.local) if name in SWITCHED else {}),
        )))
        for factor in (RANGE if modelled and not args.quick else (1.0,))
        for name in names
    ]


def _figure(args: ScaleOptions, figure: str) -> None:
    fixed = {
        "--delays": args.delays != experiment.DELAYS, "--rounds": args.rounds, "--sockets": args.sockets > 1,
        "--layout": args.layout, "--stat": args.stat, "--native": args.native, "--icount": args.icount,
        "--accel": args.accel != "auto", "--timeout": args.timeout, "--granularity": args.granularity,
    }
    choice = Choice(figure, args.lock, args.cores, args.machine, args.quick)
    scale_figure(choice, fixed, args.json, args.plot, args.quiet)


def _chosen(granularity: Granularity | None, local: bool) -> dict[str, Any]:
    """Returns the chosen settings of kernels that have a choice."""
    return ({"granularity": granularity.value} if granularity else {}) | ({"local": True} if local else {})


def _measure(cases: Sequence[Case[experiment.Request]], bench: Bench, parts: Parts) -> list[experiment.Point]:
    """Returns the points of all boots. A boot that ends early leaves those before its end, and the other boots."""
    points: list[experiment.Point] = []
    ranged = len({case.job.line_factor for case in cases}) > 1
    with parts.output.progress("Booting", total=sum(case.job.points for case in cases)) as update:
        for case in parts.of(cases):
            request = case.job
            lines = f", line costs x {request.line_factor:g}" if ranged else ""
            name = f"kernel {request.lock}{lines}"
            update(completed=len(points), description=name)
            done = iter(range(len(points) + 1, len(points) + request.points + 1))
            with parts.part(name):
                finished: list[experiment.Point] = []
                try:
                    experiment.measure(case, bench, partial(_count, update, done), finished=finished, starving=True)
                finally:
                    points += finished
    return points


def _count(update: Callable[..., None], done: Iterator[int]) -> None:
    update(completed=next(done, None))


def _show(
    points: list[experiment.Point], modelled: ModelledMachine | None, mode: qemu.Accel, parallel: "_Parallel | None",
    parts: Parts, to: Destination, kept: dict[str, Any],
) -> None:
    """`kept`: what was chosen of kernels that have a choice."""
    output = to.output
    ranged = ranges_of(points)
    points = [point for point in points if point.line_factor == 1]
    fitted = fits(points)
    for table in tables(points, fitted, ranged):
        output.table(table)
    to.say_late(points)
    if kept:
        output.line(f"{', '.join(SWITCHED)}: {kept['granularity']}{', all objects local' * ('local' in kept)}.")
    entries = [one.to_json() | _about(one, modelled, ranged) | (kept if one.lock in SWITCHED else {}) for one in points]
    if parallel:
        output.line(parallel.verdict(entries))
    for point in (point for point in points if point.starved):
        output.line(f"{point.lock}, {point.cores} cores, delay {point.delay:g}: {experiment.starved_words(point)}.")
    to.write("bench scale", mode, entries, parts)
    plot_scale(points, fitted, mode.description, to.picture)


def _sizes(modelled: ModelledMachine | None, sockets: int) -> list[int]:
    """Returns the numbers of cores without --cores. On a modelled machine: a socket, the begin of the second, all."""
    if not modelled:
        return [n for n in ranges.cores(CORES) if n % sockets == 0] or [sockets]
    socket, most = modelled.cores_per_socket, min(modelled.cores, experiment.MOST_CORES)
    sizes = {1, 4, 8, socket, socket + 2, most}
    return sorted(n for n in sizes if n <= most and (n <= socket or n % 2 == 0))


def _about(point: experiment.Point, modelled: ModelledMachine | None,
           ranged: Mapping[Key, tuple[float, float]]) -> dict[str, Any]:
    """Returns the fields that accompany a modelled figure."""
    if not modelled:
        return {}
    about: dict[str, Any] = {"modelled": modelled.to_json()}
    if key_of(point) in ranged:
        about["range"] = {"throughput_per_cycle": list(ranged[key_of(point)])}
    return about


def _delays(text: str) -> list[float]:
    delays = ranges.delays(text, "--delays")
    for delay in delays:
        if not 1 <= delay <= experiment.MOST_DELAY or delay != round(delay):
            raise InputError("--delays", f"{delay:g} is not a whole number from 1 to {experiment.MOST_DELAY:,}")
    if len(delays) > experiment.MOST_POINTS:
        raise InputError("--delays", f"{len(delays)} delays; {experiment.MOST_POINTS} are the most")
    return delays


def _names(lock: str | None) -> list[str]:
    """Regimes that are to be measured, clh first and none last."""
    return sorted(regimes.named(lock), key=lambda name: (name != FIRST, name == BASELINE, REGIMES.index(name)))


def _delays_of(name: str, lock: str | None, pauses: list[float]) -> list[float]:
    """Named locks and clh: every one. Else those of Figure 5, or the ones next to them."""
    return pauses if lock is not None or name == FIRST else experiment.figure_5_delays(pauses)


def _request(request: experiment.Request) -> experiment.Request:
    if len(request.cores) > experiment.MOST_POINTS or max(request.cores) > experiment.MOST_CORES:
        raise InputError("--cores", f"{max(request.cores)} cores; {experiment.MOST_CORES} are the most")
    if request.lock == BASELINE:  # one core is all that a kernel without a lock takes
        return replace(request, cores=[1], layout="spanning", sockets=1)
    return request


def _run_native(delays: Mapping[str, Sequence[float]], args: ScaleOptions) -> None:
    """`delays`: of each lock."""
    alone = {"--machine": args.machine, "--layout": args.layout, **_of_real_machines(args),
             "--granularity": args.granularity}
    if odd := [option for option, value in alone.items() if value]:
        raise InputError(odd[0], "chooses a machine, and is not allowed with --native")
    to = Destination.of("scale", args.json, args.plot, args.quiet)
    to.end(native.scale_command(delays, native.sizes(args.cores), args.rounds or ROUNDS, to.output, to.picture))


class _Parallel:
    """Whether the host's processors run in parallel, looked at before and after: without that there is no
    contention."""

    def __init__(self, cores: int) -> None:
        self.usable = native_host.processors()
        self.parallel = native_host.Parallel([native_host.look(self.usable, cores)], cores)

    def verdict(self, entries: list[dict[str, Any]]) -> str:
        """In words; entries that say nothing about contention are marked as native ones are."""
        self.parallel.looks.append(native_host.look(self.usable, self.parallel.count))
        for entry in entries:
            if entry["cores"] > 1 and not self.parallel.real:
                entry["parallel"] = False
        return self.parallel.verdict
