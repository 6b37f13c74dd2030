# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench ipc`."""

from typing import Annotated

import typer

from deploy import kvm, options, process, qemu
from deploy.bench import ipc as experiment
from deploy.bench import native as natively
from deploy.bench import native_ipc, regimes
from deploy.bench.ipc_table import ipc_table, published_table
from deploy.commands.bench.common import Locks, Native, Plot, Runs, places
from deploy.modelled import run as modelled_run
from deploy.modelled.machine import chosen
from deploy.output import Json, Output, Quiet
from deploy.patience import Patience
from deploy.results import document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError

SILENCE = 300.0  # seconds in which a measurement must come to its end

Rounds = Annotated[
    int, typer.Option("--rounds", metavar="N", min=1, max=experiment.ROUNDS_MAX, help="Repetitions of each operation.")
]


def ipc(
    lock: Locks = None,
    icount: options.Icount = False,
    native: Native = False,
    rounds: Rounds = 1000,
    runs: Runs = native_ipc.RUNS,
    machine: options.ModelledMachine = None,
    accel: options.Accel = "auto",
    timeout: options.Timeout = None,
    plot: Plot = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """One-way IPC and other system calls on one core, every lock regime beside none (Elphinstone, Figure 3).

    With --icount in exact instructions of the kernel, else in TSC cycles; with --native on a real core in any case.
    With --machine in cycles of one core of that modelled machine.
    """
    from deploy.bench.ipc_plot import plot_ipc  # matplotlib takes long to load

    process.heed_signals()
    modelled = chosen(machine, False, {"--icount": icount, "--native": native, "--accel": accel != "auto"})
    json, picture = places("ipc", json, plot)
    output = Output(quiet, json)
    kvm.check_choice(accel, icount)
    locks = regimes.chosen(lock)
    if native:
        if icount or accel != "auto":
            raise InputError("--native", "runs on this machine, so --icount and --accel are not allowed")
        natively.ipc_command(locks, rounds, runs, output, picture)
        output.line(f"Plot: {picture}." if json == "-" else f"Results: {json}. Plot: {picture}.")
        return
    if modelled:
        modelled_run.check_installed()
    ensure_built(output, needs.kernels(locks, "pingpong", "root", transactions=bool(modelled)) | needs.clocks(modelled))
    mode = modelled_run.mode(modelled) if modelled else kvm.choose(accel, 1, icount=icount)
    output.line(f"Mode: {mode.description}.")
    measured = []
    with output.progress("Booting", total=len(locks)) as update:
        for done, name in enumerate(locks):
            update(completed=done, description=f"kernel {name}")
            measured.append(experiment.measure(name, mode, rounds, Patience(SILENCE, timeout), modelled))
    output.table(ipc_table(measured))
    if (beside := published_table(measured)) is not None:
        output.table(beside)
    data = document("bench ipc", host_description(mode, qemu.BINARY), [], [one.to_json() for one in measured])
    data["ratios"] = [experiment.ratios(one, measured[0]) for one in measured[1:]]
    output.results(data)
    plot_ipc(measured, mode.description, picture)
    output.line(f"Plot: {picture}." if json == "-" else f"Results: {json}. Plot: {picture}.")
