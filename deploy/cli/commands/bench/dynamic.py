# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench dynamic`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from deploy.base import export, process
from deploy.base.atomic_files import write_text
from deploy.base.choices import option
from deploy.base.terminal import Json, Output, Quiet, check_target
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.destination import Destination
from deploy.bench.dynamic import forkjoin, measure as experiment, unmap
from deploy.bench.dynamic.measure import FORK_JOIN, IPC, LOAD, TITLES, UNMAP, WAKE, ForkJoin, Ipc, Load
from deploy.bench.dynamic.present import fork_join_table, ipc_table, load_table, plot_dynamic, sentences, unmap_tables
from deploy.bench.dynamic.unmap import GUARDS, Guard, Unmap
from deploy.bench.ipc import measure as ipc, pingpong
from deploy.bench.scale import measure as scale
from deploy.cli import options
from deploy.cli.experiments import Plot
from deploy.cli.options import takes
from deploy.emulator import lockstep, run
from deploy.emulator.machine_file import PAPERS, RANGE, ModelledMachine, chosen, load
from deploy.machine import qemu
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.maps.clustermap import COARSE
from topology.model import ranges

COUNTED = (IPC, UNMAP)  # figures of which one core is counted
SILENCE = 1200.0  # seconds in which a measurement must come to its end
IPC_ROUNDS, LOAD_ROUNDS = 200, 2048
FORK_JOIN_CORES, UNMAP_MOST_CORES = "2..16", 16  # as there


@dataclass(frozen=True)
class Wanted:
    """The selected figures, and the machine for them."""

    figures: Sequence[str]
    machine: ModelledMachine | None  # None: instructions are counted, and nothing else
    counts: bool  # Figures 6 and 8 in instructions, on one core
    factors: Sequence[float]  # factors of line costs
    join_cores: Sequence[int] = ()
    load_cores: Sequence[int] = ()
    unmap_cores: Sequence[int] = ()

    @property
    def series(self) -> list[experiment.Series]:
        return [one for one in experiment.SERIES if any(figure in one.figures for figure in self.figures)]

    @property
    def kernels(self) -> list[str]:
        return list(dict.fromkeys([*(one.kernel for one in self.series),
                                   *([unmap.REGIME] if UNMAP in self.figures else [])]))


@dataclass
class Found:
    ipc: list[Ipc] = field(default_factory=list)
    joins: list[ForkJoin] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    unmaps: list[Unmap] = field(default_factory=list)

    def to_json(self) -> list[dict[str, Any]]:
        every: list[Ipc | ForkJoin | Load | Unmap] = [*self.ipc, *self.joins, *self.unmaps, *self.loads]
        return [one.to_json() for one in every]

    def ratios(self) -> dict[str, Any]:
        """Returns ratios and trends of the results, as the results file has them."""
        ratios = {"ratios": [*experiment.ipc_ratios(self.ipc), *(one.to_json() for one in experiment.pairs(self.joins)),
                             *(one.to_json() for one in unmap.one_core(self.unmaps))]}
        trends = [trend.to_json() for trend in unmap.trends(self.unmaps)]
        return ratios | ({"trends": trends, "bytes": unmap.sizes()} if self.unmaps else {})


@dataclass(frozen=True)
class DynamicOptions:
    figure: Annotated[str | None, option("--figure LIST", f"Figures to measure, of {','.join(TITLES)} (default: all). "
                                         "'load' and 'wake' are not in the paper.")] = None
    cores: Annotated[str | None, option("--cores LIST", f"Numbers of cores of Figures 7 ({FORK_JOIN_CORES}) and 8, "
                                        "of 'load' and of 'wake': 8; 1,2,4; 2..16.")] = None
    machine: options.ModelledMachine = None
    quick: options.Quick = False
    icount: options.Icount = False
    timeout: options.Timeout = None
    plot: Plot = None
    csv: Annotated[Path | None, option("--csv FILE", "Metrics of all results as CSV. (Beside --json FILE stands one in "
                                       "any case.)")] = None
    quiet: Quiet = False
    json: Json = None


@takes(DynamicOptions)
def dynamic(args: DynamicOptions) -> None:
    """Regime dynamic, coarse and fine: IPC, fork and join, unmapping, and load, beside the figures of Uhlig 2007.

    Figure 6 is IPC on one core in instructions, and in cycles of a modelled machine; --icount or --machine alone take
    one of the two. Figures 7 and 8, 'load' and 'wake' are cycles of the modelled machine, by default the 2 x 14 Xeon,
    with their range under half and double line costs. Of Figure 8 one core is counted in instructions, too.
    """
    machine, json = args.machine, args.json
    process.heed_signals()
    selected = _wanted(args.figure, args.cores, machine, args.quick, args.icount)
    _check_csv(args.csv, json)
    to = Destination.of("dynamic", json, args.plot, args.quiet)
    output = to.output
    if selected.machine:
        run.check_installed()
    clocks = [machine for machine, is_wanted in ((None, selected.counts and UNMAP in selected.figures),
                                                 (selected.machine, selected.machine)) if is_wanted]
    ensure_built(output, reduce(or_, (needs.clocks(one) for one in clocks),
                                needs.kernels(selected.kernels, *pingpong.PROGRAMS, "root")))
    modes = _modes(selected)
    for mode in modes:
        output.line(f"Mode: {mode.description}.")
    measured = _measure(selected, Patience(SILENCE, args.timeout), output)
    _show(measured, output)
    data = to.write("bench dynamic", modes[-1], measured.to_json(), **measured.ratios())
    if args.csv:
        write_text(args.csv, export.table(data["results"]))
    description = ". ".join(mode.description for mode in modes)
    plot_dynamic(measured.ipc, measured.joins, measured.loads, measured.unmaps, description, to.picture)
    to.end()


def _check_csv(csv: Path | None, json: str | None) -> None:
    if csv is None:
        return
    if str(csv) == "-":
        raise InputError("--csv -", "is no file's name; --json - writes to standard output")
    check_target(csv, "--csv")
    if json and csv.resolve() == Path(json).resolve():
        raise InputError(f"--csv {csv}", "is where --json writes")


def _modes(selected: Wanted) -> list[qemu.Accel]:
    modes = [qemu.tcg_for(1, counted=True)] if selected.counts and IPC in selected.figures else []
    modes += [lockstep.mode(1)] if selected.counts and UNMAP in selected.figures else []
    return modes + ([run.mode(selected.machine)] if selected.machine else [])


def _wanted(figure: str | None, cores: str | None, machine: str | None, quick: bool, icount: bool) -> Wanted:
    asked = experiment.figures(figure) if figure is not None else list(COUNTED) if icount else list(TITLES)
    modelled = chosen(machine, False, {"--icount": icount})
    if icount:
        if odd := [name for name in asked if name not in COUNTED]:
            raise InputError("--icount",
                             f"counts instructions of one core, for Figures {' and '.join(COUNTED)} only; not for "
                             f"{TITLES[odd[0]]}")
        if quick:
            raise InputError("--quick", "is for a modelled machine, and --icount prices nothing")
    on = None if icount else modelled or load(PAPERS)
    counts = icount or not modelled and any(name in COUNTED for name in asked)
    each = _cores(cores, asked, on) if on else ((), (), ())
    selected = Wanted(asked, on, counts, (1.0,) if quick else RANGE, *each)
    if cores is not None and not selected.join_cores and not selected.load_cores and not selected.unmap_cores:
        raise InputError("--cores", f"is for {FORK_JOIN}, {UNMAP}, {LOAD} and {WAKE} of --figure")
    return selected


def _cores(text: str | None, drawn: Sequence[str],
           machine: ModelledMachine) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Returns the numbers of cores for Figure 7, for the load, and for Figure 8."""
    most = min(machine.cores, scale.MOST_CORES)
    named = ranges.cores(text) if text is not None else []
    if named and max(named) > most:
        raise InputError("--cores",
                         f"{max(named)} cores; {machine.name} has {machine.cores}, a kernel takes {scale.MOST_CORES}")
    wakes, most_join = FORK_JOIN in drawn or WAKE in drawn, min(most, forkjoin.MOST_CORES)
    if wakes and named and max(named) > most_join:
        raise InputError("--cores", f"{max(named)} cores; fork and join takes {most_join} at most")
    joins = [n for n in named or ranges.cores(FORK_JOIN_CORES) if forkjoin.FEWEST_CORES <= n <= most_join]
    if wakes and not joins:
        raise InputError("--cores" if named else "--machine",
                         f"1 core: fork and join takes {forkjoin.FEWEST_CORES} or more")
    loads = named or [n for n in (1, 2, 4, 8, machine.cores_per_socket, machine.cores) if n <= most]
    unmaps = named or [n for n in (1, 2, 4, 8, machine.cores_per_socket, UNMAP_MOST_CORES)
                       if n <= min(most, UNMAP_MOST_CORES)]
    return (
        joins if wakes else (), sorted(set(loads)) if LOAD in drawn else (),
        sorted(set(unmaps)) if UNMAP in drawn else (),
    )


def _measure(selected: Wanted, timeout: Patience, output: Output) -> Found:
    measured, machine = Found(), selected.machine
    work: list[tuple[str, Callable[[], None]]] = []
    for one in selected.series:
        if IPC in one.figures and IPC in selected.figures:
            if selected.counts:
                work.append((f"{one.name}, instructions", partial(_ipc, measured, one, None, timeout)))
            if machine:
                work.append((f"{one.name}, IPC", partial(_ipc, measured, one, machine, timeout)))
        for figure, what in ((FORK_JOIN, "fork and join"), (WAKE, "waking all")):
            if machine and figure in one.figures and figure in selected.figures:
                work.append((f"{one.name}, {what}", partial(_join, measured, one, machine, selected, timeout, figure)))
        if machine and LOAD in one.figures and selected.load_cores:
            work.append((f"{one.name}, load", partial(_load, measured, one, machine, selected, timeout)))
    if UNMAP in selected.figures:
        work += _unmap_work(measured, selected, timeout)
    with output.progress("Booting", total=len(work)) as update:
        for done, (name, do) in enumerate(work):
            update(completed=done, description=name)
            do()
    return measured


def _ipc(measured: Found, series: experiment.Series, machine: ModelledMachine | None, timeout: Patience) -> None:
    mode = run.mode(machine) if machine else qemu.tcg_for(1, counted=True)
    measured.ipc.append(Ipc(series, ipc.measure(series.kernel, mode, IPC_ROUNDS, timeout, machine,
                                                series.granularity or COARSE, series.local)))


def _join(measured: Found, series: experiment.Series, machine: ModelledMachine, selected: Wanted,
          timeout: Patience, figure: str) -> None:
    jobs = [forkjoin.Job(series.kernel, series.granularity, selected.join_cores, forkjoin.ROUNDS, machine, factor,
                         series.local, series.at_once) for factor in selected.factors]
    made = [one for job in jobs for one in forkjoin.measure(job, timeout)]
    measured.joins += experiment.fork_joins(series, machine, made, figure)


def _load(measured: Found, series: experiment.Series, machine: ModelledMachine, selected: Wanted,
          timeout: Patience) -> None:
    bench = Bench(run.mode(machine), timeout, stepped=True)
    requests = [experiment.request(series, selected.load_cores, LOAD_ROUNDS, machine, factor)
                for factor in selected.factors]
    made = [point for request in requests for point in scale.measure(scale.case(request), bench)]
    measured.loads += experiment.loads(series, machine, made)


def _unmap_work(measured: Found, selected: Wanted, timeout: Patience) -> list[tuple[str, Callable[[], None]]]:
    work: list[tuple[str, Callable[[], None]]] = []
    for one in GUARDS:
        if selected.counts:
            work.append((f"{one.name}, unmapping, instructions",
                         partial(_unmap, measured, one, None, (1,), (1.0,), timeout)))
        if machine := selected.machine:
            do = partial(_unmap, measured, one, machine, selected.unmap_cores, selected.factors, timeout)
            work.append((f"{one.name}, unmapping", do))
    return work


def _unmap(measured: Found, series: Guard, machine: ModelledMachine | None, cores: Sequence[int],
           factors: Sequence[float], timeout: Patience) -> None:
    jobs = [unmap.Job(series.granularity, series.guard, cores, unmap.PAGES, unmap.ROUNDS, machine, factor)
            for factor in factors]
    made = [calls for job in jobs for calls in unmap.measure(job, timeout)]
    measured.unmaps += unmap.rows_of(series, machine, made)


def _show(measured: Found, output: Output) -> None:
    for unit in experiment.bases(measured.ipc):
        output.table(ipc_table([row for row in measured.ipc if row.unit == unit]))
    for figure in (FORK_JOIN, WAKE):
        if rows := [row for row in measured.joins if row.figure == figure]:
            output.table(fork_join_table(rows))
    for unit in ("instructions", "cycles"):
        for table in unmap_tables([row for row in measured.unmaps if row.unit == unit]):
            output.table(table)
    if measured.loads:
        output.table(load_table(measured.loads))
    own = sentences(measured.ipc, measured.joins, measured.loads)
    for sentence in (*own, *unmap.sentences(measured.unmaps)):
        output.prose(sentence)
