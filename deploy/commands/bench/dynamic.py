# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench dynamic`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from deploy import beside, options, process, qemu
from deploy.bench import dynamic as experiment, forkjoin, ipc, scale
from deploy.bench.dynamic import FORK_JOIN, IPC, LOAD, TITLES, ForkJoin, Ipc, Load
from deploy.bench.dynamic_table import fork_join_table, ipc_table, load_table, sentences
from deploy.commands.bench.common import Plot, places
from deploy.errors import Failure
from deploy.files import write_text
from deploy.modelled import run
from deploy.modelled.machine import PAPERS, RANGE, ModelledMachine, chosen, load
from deploy.output import Json, Output, Quiet, check_target
from deploy.patience import Patience
from deploy.results import document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.clustermap import COARSE
from topology.errors import InputError
from topology.model import ranges

SILENCE = 1200.0  # seconds in which a measurement must come to its end
IPC_ROUNDS, LOAD_ROUNDS = 200, 2048
FORK_JOIN_CORES = "2..16"  # as there

Figure = Annotated[
    str | None,
    typer.Option("--figure", metavar="LIST", help=f"Some of {','.join(TITLES)}; else all that this kernel can do. 'load' is not in the paper."),
]
Cores = Annotated[
    str | None, typer.Option("--cores", metavar="LIST", help=f"Numbers of cores of Figure 7 ({FORK_JOIN_CORES}) and of 'load': 8; 1,2,4; 2..16.")
]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Metrics of all results as CSV. (Beside --json FILE stands one in any case.)")]


@dataclass(frozen=True)
class Wanted:
    """What is to be measured, on what."""

    figures: Sequence[str]
    missing: Mapping[str, str]  # what of it the kernel cannot do, and why
    machine: ModelledMachine | None  # None: instructions are counted, and nothing else
    counts: bool  # Figure 6 in instructions
    factors: Sequence[float]  # of line costs
    join_cores: Sequence[int] = ()
    load_cores: Sequence[int] = ()

    @property
    def series(self) -> list[experiment.Series]:
        return [one for one in experiment.SERIES if any(figure in one.figures for figure in self.figures)]


@dataclass
class Found:
    ipc: list[Ipc] = field(default_factory=list)
    joins: list[ForkJoin] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)

    def to_json(self) -> list[dict[str, Any]]:
        every: list[Ipc | ForkJoin | Load] = [*self.ipc, *self.joins, *self.loads]
        return [one.to_json() for one in every]


def dynamic(
    figure: Figure = None,
    cores: Cores = None,
    machine: options.ModelledMachine = None,
    quick: options.Quick = False,
    icount: options.Icount = False,
    timeout: options.Timeout = None,
    plot: Plot = None,
    csv: Csv = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Regime dynamic, coarse and fine: IPC, fork and join, and load, beside the figures of Uhlig 2007.

    Figure 6 is IPC on one core in instructions, and in cycles of a modelled machine; --icount or --machine alone take one
    of the two. Figure 7 and 'load' are cycles of the modelled machine, by default the 2 x 14 Xeon, with their range under
    half and double line costs. What the kernel cannot do yet (Figure 8) is not drawn.
    """
    from deploy.bench.dynamic_plot import plot_dynamic  # matplotlib takes long to load

    process.heed_signals()
    wanted = _wanted(figure, cores, machine, quick, icount)
    _check_csv(csv, json)
    json, picture = places("dynamic", json, plot)
    output = Output(quiet, json)
    if not wanted.figures:
        raise Failure(_words(wanted.missing))
    if wanted.machine:
        run.check_installed()
    kernels = dict.fromkeys(one.kernel for one in wanted.series)
    ensure_built(output, needs.kernels(kernels, "pingpong", "root") | (needs.clocks(wanted.machine) if wanted.machine else needs.NOTHING))
    modes = [*([qemu.tcg_for(1, counted=True)] if wanted.counts else []), *([run.mode(wanted.machine)] if wanted.machine else [])]
    for mode in modes:
        output.line(f"Mode: {mode.description}.")
    found = _measure(wanted, Patience(SILENCE, timeout), output)
    _show(found, output)
    if wanted.missing:
        output.line(f"Not drawn: {_words(wanted.missing)}.")
    entries = found.to_json()
    data = document("bench dynamic", host_description(modes[-1], qemu.BINARY), [], entries)
    data["ratios"] = [*experiment.ipc_ratios(found.ipc), *(pair.to_json() for pair in experiment.beside(found.joins))]
    data["not_drawn"] = wanted.missing
    output.results(data)
    if csv:
        write_text(csv, beside.table(entries))
    plot_dynamic(found.ipc, found.joins, found.loads, ". ".join(mode.description for mode in modes), picture)
    output.line(f"Plot: {picture}." if json == "-" else f"Results: {json}. Plot: {picture}.")
    if figure and (unmet := [name for name in experiment.figures(figure) if name in experiment.MISSING]):
        raise Failure(_words({TITLES[name]: experiment.MISSING[name] for name in unmet}))


def _check_csv(csv: Path | None, json: str | None) -> None:
    if csv is None:
        return
    if str(csv) == "-":
        raise InputError("--csv -", "is no file's name; --json - writes to standard output")
    check_target(csv, "--csv")
    if json and csv.resolve() == Path(json).resolve():
        raise InputError(f"--csv {csv}", "is where --json writes")


def _words(missing: Mapping[str, str]) -> str:
    return "; ".join(f"{what}: {why}" for what, why in missing.items())


def _wanted(figure: str | None, cores: str | None, machine: str | None, quick: bool, icount: bool) -> Wanted:
    asked = experiment.figures(figure) if figure is not None else [IPC] if icount else list(TITLES)
    modelled = chosen(machine, False, {"--icount": icount})
    if icount:
        if odd := [name for name in asked if name != IPC and name not in experiment.MISSING]:
            raise InputError("--icount", f"has one counter for all cores, and is for Figure {IPC} only; not for {TITLES[odd[0]]}")
        if quick:
            raise InputError("--quick", "is for a modelled machine, and --icount prices nothing")
    drawn = [name for name in asked if name not in experiment.MISSING]
    on = None if icount else modelled or load(PAPERS)
    wanted = Wanted(
        drawn, experiment.not_drawn(asked), on, icount or not modelled and IPC in drawn, (1.0,) if quick else RANGE,
        *(_cores(cores, drawn, on) if on else ((), ())),
    )
    if cores is not None and not wanted.join_cores and not wanted.load_cores:
        raise InputError("--cores", f"is for {FORK_JOIN} and {LOAD} of --figure")
    return wanted


def _cores(text: str | None, drawn: Sequence[str], machine: ModelledMachine) -> tuple[Sequence[int], Sequence[int]]:
    """Of Figure 7, and of the load."""
    most = min(machine.cores, scale.MOST_CORES)
    given = ranges.cores(text) if text is not None else []
    if given and max(given) > most:
        raise InputError("--cores", f"{max(given)} cores; {machine.name} has {machine.cores}, a kernel takes {scale.MOST_CORES}")
    joins = [n for n in given or ranges.cores(FORK_JOIN_CORES) if forkjoin.FEWEST_CORES <= n <= most]
    if FORK_JOIN in drawn and not joins:
        raise InputError("--cores" if given else "--machine", f"1 core: fork and join takes {forkjoin.FEWEST_CORES} or more")
    loads = given or [n for n in (1, 2, 4, 8, machine.cores_per_socket, machine.cores) if n <= most]
    return joins if FORK_JOIN in drawn else (), sorted(set(loads)) if LOAD in drawn else ()


def _measure(wanted: Wanted, patience: Patience, output: Output) -> Found:
    found, machine = Found(), wanted.machine
    work: list[tuple[str, Callable[[], None]]] = []
    for one in wanted.series:
        if IPC in one.figures and IPC in wanted.figures:
            if wanted.counts:
                work.append((f"{one.name}, instructions", partial(_ipc, found, one, None, patience)))
            if machine:
                work.append((f"{one.name}, IPC", partial(_ipc, found, one, machine, patience)))
        if machine and FORK_JOIN in one.figures and wanted.join_cores:
            work.append((f"{one.name}, fork and join", partial(_join, found, one, machine, wanted, patience)))
        if machine and LOAD in one.figures and wanted.load_cores:
            work.append((f"{one.name}, load", partial(_load, found, one, machine, wanted, patience)))
    with output.progress("Booting", total=len(work)) as update:
        for done, (name, do) in enumerate(work):
            update(completed=done, description=name)
            do()
    return found


def _ipc(found: Found, series: experiment.Series, machine: ModelledMachine | None, patience: Patience) -> None:
    mode = run.mode(machine) if machine else qemu.tcg_for(1, counted=True)
    found.ipc.append(Ipc(series, ipc.measure(series.kernel, mode, IPC_ROUNDS, patience, machine, series.granularity or COARSE, series.local)))


def _join(found: Found, series: experiment.Series, machine: ModelledMachine, wanted: Wanted, patience: Patience) -> None:
    made = [
        one for factor in wanted.factors
        for one in forkjoin.measure(series.kernel, series.granularity, wanted.join_cores, forkjoin.ROUNDS, machine, factor, patience, local=series.local)
    ]  # fmt: skip
    found.joins += experiment.fork_joins(series, machine, made)


def _load(found: Found, series: experiment.Series, machine: ModelledMachine, wanted: Wanted, patience: Patience) -> None:
    made = [
        point for factor in wanted.factors
        for point in scale.measure(experiment.request(series, wanted.load_cores, LOAD_ROUNDS, machine, factor), run.mode(machine), True, patience)
    ]  # fmt: skip
    found.loads += experiment.loads(series, machine, made)


def _show(found: Found, output: Output) -> None:
    for unit in experiment.bases(found.ipc):
        output.table(ipc_table([row for row in found.ipc if row.unit == unit]))
    if found.joins:
        output.table(fork_join_table(found.joins))
    if found.loads:
        output.table(load_table(found.loads))
    for sentence in sentences(found.ipc, found.joins, found.loads):
        output.prose(sentence)
