# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench`: the experiments of the papers, one command each."""

import time
from pathlib import Path
from typing import Annotated

import typer

from deploy import kvm, options, process, qemu
from deploy.bench import ipc as experiment
from deploy.bench import latency as stretches
from deploy.bench import regimes
from deploy.bench.ipc_table import ipc_table
from deploy.output import Json, Output, Quiet
from deploy.paths import BUILD
from deploy.results import document, host_description
from deploy.setup.build import ensure_built
from topology.errors import InputError

RESULTS = BUILD / "results"

bench = typer.Typer(
    help="The experiments of the papers, each with its table and JSON: ipc; and latency.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Locks = Annotated[str | None, typer.Option("--lock", metavar="LIST", help="Lock regimes: clh,mcs,ticket,none; else every one.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.")]
Rounds = Annotated[
    int, typer.Option("--rounds", metavar="N", min=1, max=experiment.ROUNDS_MAX, help="Repetitions of each operation.")
]


def _places(kind: str, json: str | None, plot: Path | None) -> tuple[str, Path]:
    """Where results and plot go; build/results where nobody says otherwise."""
    if plot and not plot.resolve().parent.is_dir():
        raise InputError(f"--plot {plot}", "no such folder")
    RESULTS.mkdir(parents=True, exist_ok=True)
    base = RESULTS / f"bench-{kind}-{time.strftime('%Y%m%d-%H%M%S')}"
    return json or str(base.with_suffix(".json")), plot or base.with_suffix(".png")


@bench.command("ipc")
def ipc(
    lock: Locks = None,
    icount: options.Icount = False,
    rounds: Rounds = 1000,
    accel: options.Accel = "auto",
    timeout: options.Timeout = 120.0,
    plot: Plot = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """One-way IPC and other system calls on one core, every lock regime beside none (Elphinstone, Figure 3).

    With --icount in exact instructions of the kernel, else in TSC cycles.
    """
    from deploy.bench.ipc_plot import plot_ipc  # matplotlib takes long to load

    process.heed_signals()
    json, picture = _places("ipc", json, plot)
    output = Output(quiet, json)
    kvm.check_choice(accel, icount)
    locks = regimes.chosen(lock)
    ensure_built(output)
    mode = kvm.choose(accel, 1, icount=icount)
    output.line(f"Mode: {mode.description}.")
    measured = []
    with output.progress("Booting", total=len(locks)) as update:
        for done, name in enumerate(locks):
            update(completed=done, description=f"kernel {name}")
            measured.append(experiment.measure(name, mode, rounds, timeout))
    output.table(ipc_table(measured))
    data = document("bench ipc", host_description(mode, qemu.BINARY), [], [one.to_json() for one in measured])
    data["ratios"] = [experiment.ratios(one, measured[0]) for one in measured[1:]]
    output.results(data)
    plot_ipc(measured, mode.description, picture)
    output.line(f"Plot: {picture}." if json == "-" else f"Results: {json}. Plot: {picture}.")


@bench.command("latency")
def latency(
    lock: Locks = None,
    timeout: options.Timeout = 120.0,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """How long an interrupt can be kept waiting by the longest operations of the kernel, one core, in instructions.

    A thread of the highest priority waits for an interrupt that comes whenever the kernel is entered; the table says
    how much later than at rest it runs, at worst: no stretch with interrupts off is longer.
    """
    process.heed_signals()
    json, _ = _places("latency", json, None)
    output = Output(quiet, json)
    locks = regimes.chosen(lock)
    ensure_built(output)
    mode = qemu.tcg_for(1, counted=True)
    output.line(f"Mode: {mode.description}.")
    measured = []
    with output.progress("Booting", total=len(locks)) as update:
        for done, name in enumerate(locks):
            update(completed=done, description=f"kernel {name}")
            measured.append(stretches.measure(name, mode, timeout))
    output.table(stretches.latency_table(measured))
    entries = [one.to_json() for one in measured]
    output.results(document("bench latency", host_description(mode, qemu.BINARY), [], entries))
    if json != "-":
        output.line(f"Results: {json}.")
