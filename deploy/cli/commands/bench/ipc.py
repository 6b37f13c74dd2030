# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench ipc`."""

from dataclasses import dataclass
from typing import Annotated

from deploy.base import process
from deploy.base.choices import option
from deploy.base.partial import Parts
from deploy.base.terminal import Json, Quiet
from deploy.base.timeouts import Patience
from deploy.bench import regimes as of_bench
from deploy.bench.destination import Destination
from deploy.bench.ipc import measure as experiment
from deploy.bench.ipc.present import ipc_table, plot_ipc, published_table
from deploy.bench.native import ipc as native_ipc, measure as natively
from deploy.cli import options
from deploy.cli.experiments import Local, Locks, Native, OfKernel, Plot, Runs, check_granularity
from deploy.cli.options import takes
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import chosen
from deploy.machine import kvm
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.maps.clustermap import COARSE

SILENCE = 300.0  # seconds in which a measurement must come to its end


@dataclass(frozen=True)
class IpcOptions:
    lock: Locks = None
    icount: options.Icount = False
    native: Native = False
    granularity: OfKernel = None
    local: Local = False
    rounds: Annotated[int, option("--rounds N", "Repetitions of each operation.", 1, experiment.ROUNDS_MAX)] = 1000
    runs: Runs = native_ipc.RUNS
    machine: options.ModelledMachine = None
    accel: options.Accel = "auto"
    timeout: options.Timeout = None
    plot: Plot = None
    quiet: Quiet = False
    json: Json = None


@takes(IpcOptions)
def ipc(args: IpcOptions) -> None:
    """One-way IPC and other system calls on one core, every lock regime beside none (Elphinstone, Figure 3).

    With --icount in exact instructions of the kernel, else in TSC cycles; with --native on a real core in any case.
    With --machine in cycles of one core of that modelled machine.
    """
    process.heed_signals()
    modelled = chosen(args.machine, False,
                      {"--icount": args.icount, "--native": args.native, "--accel": args.accel != "auto"})
    to = Destination.of("ipc", args.json, args.plot, args.quiet)
    output = to.output
    kvm.check_choice(args.accel, args.icount)
    locks = of_bench.chosen(args.lock)
    check_granularity(args.granularity, args.local, locks)
    if args.native:
        if args.icount or args.accel != "auto":
            raise InputError("--native", "runs on this machine, so --icount and --accel are not allowed")
        if args.granularity:
            raise InputError("--native", "measures kernels as they start, so --granularity is not allowed")
        to.end(natively.ipc_command(locks, args.rounds, args.runs, output, to.picture))
        return
    if modelled:
        modelled_run.check_installed()
    ensure_built(output, needs.kernels(locks, "pingpong", "root", transactions=bool(modelled)) | needs.clocks(modelled))
    mode = modelled_run.mode(modelled) if modelled else kvm.choose(args.accel, 1, icount=args.icount)
    output.line(f"Mode: {mode.description}.")
    parts = Parts(output)
    granularity = args.granularity.value if args.granularity else COARSE
    measured = parts.boot(locks, lambda name: f"kernel {name}", lambda name: experiment.measure(
        name, mode, args.rounds, Patience(SILENCE, args.timeout), modelled, granularity, args.local))
    parts.require(measured and measured[0].lock == locks[0])  # which all ratios are to
    output.table(ipc_table(measured))
    if (published := published_table(measured)) is not None:
        output.table(published)
    to.write("bench ipc", mode, [one.to_json() for one in measured], parts,
             ratios=[experiment.ratios(one, measured[0]) for one in measured[1:]])
    plot_ipc(measured, mode.description, to.picture)
    to.end(parts)
