# SPDX-License-Identifier: BSD-2-Clause
"""`skerry profile`."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from deploy.base import process
from deploy.base.choices import words
from deploy.base.paths import RESULTS
from deploy.base.terminal import Json, Output, Quiet
from deploy.base.timeouts import Patience
from deploy.cli import options
from deploy.cli.experiments import check_baseline
from deploy.cli.options import takes
from deploy.deployment import Deployment
from deploy.emulator.plugin import plugin
from deploy.load.request import prepared
from deploy.profile.outside import Requests
from deploy.profile.show import Shown, profile_load, profile_outside, profile_start
from topology.errors import InputError

SILENCE = 300.0  # seconds: the plugin makes the emulator slower

OPERATIONS, REQUESTS = 1000, 3000
MOST_IN_FLIGHT = 1000
Outside = Annotated[bool, typer.Option("--outside", help="Profile GETs from outside by redis-benchmark, not YCSB.")]
OverTap = (
    Annotated[bool, typer.Option("--tap",
                                 help="With --outside: use a tap device in a network namespace (root), not QEMU's user "
                                 "network.")]
)
Start = (
    Annotated[bool, typer.Option("--start",
                                 help="Profile from the loader's first instruction to the first command that a Redis "
                                 "serves.")]
)
Flame = Annotated[Path | None, typer.Option("--flame", metavar="FILE.svg", help="The flame graph of the first layout.")]


@dataclass(frozen=True)
class ProfileOptions:
    layout: Annotated[str, typer.Option("--layout", metavar="L1,L2", help="Layouts to profile.")] = "per-socket"
    workload: Annotated[str, typer.Option("--workload", metavar="C", help="YCSB core workload: a, b, c or f.")] = "c"
    lock: options.Lock = "clh"
    switch: options.Switch = None
    emulated: options.MachineOptions = options.MachineOptions()
    records: Annotated[int, typer.Option("--records", metavar="N", min=1, max=1 << 22,
                                         help="Records of 1 kB in each Redis.")] = 2000
    operations: Annotated[int | None, typer.Option(
        "--operations", metavar="N", min=1,
        help=f"Operations of each client ({OPERATIONS:,}); requests from outside ({REQUESTS:,}).")] = None
    clients: options.Clients = None
    baseline: Annotated[str | None, typer.Option(
        "--baseline", metavar="linux", help="Also profile the Linux guest under the same load.",
        autocompletion=words("linux"))] = None
    outside: Outside = False
    tap: OverTap = False
    connections: Annotated[int, typer.Option("--connections", metavar="N", min=1, max=500,
                                             help="Connections from outside.")] = 50
    pipeline: Annotated[str, typer.Option("--pipeline", metavar="LIST",
                                          help="Requests in flight on each connection from outside.")] = "1,16"
    stat: Annotated[bool, typer.Option("--stat", help="Use kernels with statistics, which are slower.")] = False
    count: Annotated[int, typer.Option("--functions", metavar="N", min=0,
                                       help="Number of functions to show for each layout.")] = 30
    flame: Flame = None
    start: Start = False
    timeout: options.Timeout = None
    quiet: Quiet = False
    json: Json = None


@takes(ProfileOptions)
def profile(args: ProfileOptions) -> None:
    """Show where the instructions of an operation go: Redis under YCSB, by program, component and function.

    A plugin of the emulator counts every instruction of the machine while all clients run; symbols name its function.
    Counts are exact and the same in each run (with --outside the host decides what arrives together: they differ by
    some percent; requests for each second of the emulator's processor time are timed beside that, without the plugin).
    Writes JSON and a flame graph, and one of Linux's that ends in -linux.svg (build/results, or where --json and
    --flame say).
    """
    baseline, outside, flame = args.baseline, args.outside, args.flame
    process.heed_signals()
    check_baseline(baseline)
    if args.start and (outside or baseline):
        raise InputError("--start", f"cannot be combined with {'--outside' if outside else '--baseline'}")
    if args.tap and not outside:
        raise InputError("--tap", "only with --outside")
    if flame and (flame.suffix != ".svg" or not flame.resolve().parent.is_dir()):
        raise InputError(f"--flame {flame}", "must end in .svg" if flame.suffix != ".svg" else "no such folder")
    RESULTS.mkdir(parents=True, exist_ok=True)
    base = RESULTS / f"profile-{time.strftime('%Y%m%d-%H%M%S')}"
    output = Output(args.quiet, args.json or str(base.with_suffix(".json")))
    shape = options.adapt(Deployment(), args.emulated, lock=args.lock).shape
    cases = prepared(
        shape, args.layout, args.workload, memory=args.emulated.memory, switch=args.switch, clients=args.clients,
        records=args.records, lock=args.lock or "clh", timeout=Patience(SILENCE, args.timeout),
        operations=args.operations or (REQUESTS if outside else OPERATIONS),
    )
    job = cases[0].job
    if len(job.workloads) != 1:
        raise InputError("--workload", "one at a time")
    plugin("profile")
    show = Shown(output, args.count, flame or base.with_suffix(".svg"))
    if args.start:
        profile_start(job, show)
    elif outside:
        profile_outside(job, [Requests(args.connections, depth, job.operations) for depth in _depths(args.pipeline)],
                        baseline is not None, args.tap, show)
    else:
        profile_load(cases, args.stat, baseline is not None, show)


def _depths(text: str) -> list[int]:
    depths = [word.strip() for word in text.split(",")]
    for word in depths:
        if not word.isdecimal() or not 1 <= int(word) <= MOST_IN_FLIGHT:
            raise InputError("--pipeline", f"'{word}' is no number from 1 to {MOST_IN_FLIGHT}")
    return list(dict.fromkeys(map(int, depths)))
