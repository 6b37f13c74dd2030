# SPDX-License-Identifier: BSD-2-Clause
"""`skerry profile`."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from deploy.base import process
from deploy.base.choices import option, words
from deploy.base.paths import RESULTS
from deploy.base.terminal import Json, Output, Quiet
from deploy.base.timeouts import Patience
from deploy.cli import options
from deploy.cli.experiments import check_baseline
from deploy.cli.options import takes
from deploy.deployment import Deployment
from deploy.deployment.engines import REDIS
from deploy.emulator.plugin import plugin
from deploy.load.request import prepared
from deploy.profile.outside import Requests
from deploy.profile.show import Shown, profile_load, profile_outside, profile_start
from topology.errors import InputError

SILENCE = 300.0  # seconds: the plugin makes the emulator slower

OPERATIONS, REQUESTS = 1000, 3000
MOST_IN_FLIGHT = 1000


@dataclass(frozen=True)
class ProfileOptions:
    layout: Annotated[str, option("--layout L1,L2", "Layouts to profile.")] = "per-socket"
    workload: Annotated[str, option("--workload C", "YCSB core workload: a to f.")] = "c"
    lock: options.Lock = "clh"
    switch: options.Switch = None
    emulated: options.MachineOptions = options.MachineOptions()
    records: Annotated[int, option("--records N", "Records of 1 kB in each Redis.", 1, 1 << 22)] = 2000
    operations: Annotated[int | None, option("--operations N", f"Operations of each client ({OPERATIONS:,}); requests "
                                             f"from outside ({REQUESTS:,}).", 1)] = None
    clients: options.Clients = None
    server: options.Server = REDIS.name
    baseline: Annotated[str | None, option("--baseline linux", "Also profile the Linux guest under the same load.",
                                           autocompletion=words("linux"))] = None
    outside: Annotated[bool, option("--outside", "Profile GETs from outside by redis-benchmark, not YCSB.")] = False
    tap: Annotated[bool, option("--tap", "With --outside: use a tap device in a network namespace (root), not QEMU's "
                                "user network.")] = False
    connections: Annotated[int, option("--connections N", "Connections from outside.", 1, 500)] = 50
    pipeline: Annotated[str, option("--pipeline LIST", "Requests in flight on each connection from outside.")] = "1,16"
    stat: Annotated[bool, option("--stat", "Use kernels with statistics, which are slower.")] = False
    count: Annotated[int, option("--functions N", "Number of functions to show for each layout.", 0)] = 30
    flame: Annotated[Path | None, option("--flame FILE.svg", "The flame graph of the first layout.")] = None
    start: Annotated[bool, option("--start", "Profile from the loader's first instruction to the first command that a "
                                  "Redis serves.")] = False
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
    _check(args)
    RESULTS.mkdir(parents=True, exist_ok=True)
    base = RESULTS / f"profile-{time.strftime('%Y%m%d-%H%M%S')}"
    output = Output(args.quiet, args.json or str(base.with_suffix(".json")))
    shape = options.adapt(Deployment(), args.emulated, lock=args.lock).shape
    cases = prepared(
        shape, args.layout, args.workload, memory=args.emulated.memory, switch=args.switch, clients=args.clients,
        server=options.check_server(args.server),
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


def _check(args: ProfileOptions) -> None:
    """Refuses options that contradict each other, with the name of the one to leave out."""
    check_baseline(args.baseline)
    if args.start and (args.outside or args.baseline):
        raise InputError("--start", f"cannot be combined with {'--outside' if args.outside else '--baseline'}")
    if args.tap and not args.outside:
        raise InputError("--tap", "only with --outside")
    if args.outside and args.server != REDIS.name:
        raise InputError("--server", "cannot be combined with --outside")
    if (flame := args.flame) and (flame.suffix != ".svg" or not flame.resolve().parent.is_dir()):
        raise InputError(f"--flame {flame}", "must end in .svg" if flame.suffix != ".svg" else "no such folder")


def _depths(text: str) -> list[int]:
    depths = [word.strip() for word in text.split(",")]
    for word in depths:
        if not word.isdecimal() or not 1 <= int(word) <= MOST_IN_FLIGHT:
            raise InputError("--pipeline", f"'{word}' is no number from 1 to {MOST_IN_FLIGHT}")
    return list(dict.fromkeys(map(int, depths)))
