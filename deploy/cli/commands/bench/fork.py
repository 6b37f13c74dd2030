# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench fork`."""

from dataclasses import dataclass
from typing import Annotated

from deploy.base import process
from deploy.base.choices import option, words
from deploy.base.partial import Parts
from deploy.base.terminal import Json, Quiet
from deploy.base.timeouts import Patience
from deploy.bench.destination import Destination
from deploy.bench.fork import measure as experiment
from deploy.bench.fork.measure import LEAST_MIB, MOST_MIB, Cost, Forks
from deploy.bench.fork.present import fork_table
from deploy.cli import options
from deploy.cli.experiments import check_baseline
from deploy.cli.options import takes
from deploy.machine import qemu
from deploy.profile.present import components, functions
from deploy.setup import needs
from deploy.setup.build import ensure_built

SILENCE = 300.0  # seconds in which a boot must come to its end


@dataclass(frozen=True)
class ForkOptions:
    mib: Annotated[int, option("--mib N", "Memory of the program that forks, in MiB.", LEAST_MIB, MOST_MIB)] = 100
    lock: options.Lock = "clh"
    baseline: Annotated[str | None, option("--baseline linux", "Also measure Linux, in the same emulator.",
                                           autocompletion=words("linux"))] = None
    count: Annotated[int, option("--functions N", "Number of functions to show of the last fork.", 0)] = 10
    timeout: options.Timeout = None
    quiet: Quiet = False
    json: Json = None


@takes(ForkOptions)
def fork(args: ForkOptions) -> None:
    """What fork() costs in instructions, and the first writes behind it.

    One program alone on one core forks nine times; figures are medians, the same in each run. A plugin of the emulator
    counts the functions of its last fork, and on two cores how often that interrupts the other one.
    """
    process.heed_signals()
    check_baseline(args.baseline)
    to = Destination.of("fork", args.json, None, args.quiet)
    output = to.output
    of = Forks(args.mib, args.lock or "clh", Patience(SILENCE, args.timeout))
    linux = needs.of_targets(str(experiment.FOR_LINUX)) if args.baseline else needs.NOTHING
    ensure_built(output, needs.kernels([of.lock], "root") | needs.plugin("profile") | needs.COMPILER
                 | needs.of_targets(str(experiment.IMAGE)) | linux)
    output.line(f"Mode: {qemu.TCG_COUNTED.description}.")
    parts, costs = Parts(output), list[Cost]()
    with output.progress("Booting"), parts.part(experiment.SKERRY):
        costs.append(experiment.with_rounds(experiment.on_skerry(of), experiment.rounds(of)))
        profile = experiment.profiled(of, 1)
    parts.require(costs)
    if args.baseline:
        with output.progress("Booting Linux"), parts.part(experiment.LINUX):
            costs.append(experiment.on_linux(of))
    output.table(components(profile, "A fork, until its parent goes on, by component"))
    if args.count:
        output.table(functions(profile, "The same, by function", args.count))
    output.table(fork_table(costs, of))
    to.write("bench fork", qemu.TCG_COUNTED, [cost.to_json(of) for cost in costs], parts)
    to.end(parts, drawn=False)
