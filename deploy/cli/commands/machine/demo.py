# SPDX-License-Identifier: BSD-2-Clause
"""`skerry demo`: what the system does, to be looked at."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from deploy.base import process
from deploy.base.choices import option
from deploy.base.paths import RESULTS
from deploy.base.terminal import Json, Output, Quiet, check_plot
from deploy.base.timeouts import Patience
from deploy.bench.failure import scene, show
from deploy.cli import options
from deploy.cli.failure_options import Lock, check_lock, check_survivors
from deploy.cli.options import takes
from deploy.deployment.planner import plan
from deploy.live import kill
from deploy.live.kill import How
from deploy.machine import kvm, qemu
from deploy.machine.run import Options, boot
from deploy.results import survival
from deploy.results.result import document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError

demo = typer.Typer(help="What Skerry does, to be looked at: failure.", no_args_is_help=True, rich_markup_mode=None)


@demo.callback()
def _demo() -> None:
    """What Skerry does, to be looked at: failure."""


@dataclass(frozen=True)
class FailureOptions:
    cluster: Annotated[int, option("--cluster N", "Cluster to end; not 0, which reports the events.", 0)] = 1
    how: Annotated[How, option("--how", "How the cluster ends.")] = How("panic")
    core: Annotated[int | None, option("--core N", "Core to crash with --how panic or hang-core (default: the "
                                       "cluster's first).", 0)] = None
    seconds: Annotated[float, option("--seconds S", "Seconds of load before the kill and after recovery.", 1.0,
                                     600.0)] = 6.0
    sockets: options.Sockets = 2
    cores: options.Cores = 2
    lock: Lock = "clh"
    accel: options.Accel = "auto"
    timeout: options.Timeout = None
    plot: Annotated[Path | None, option("--plot FILE", "File for the plot: .png, .svg or .pdf.")] = None
    quiet: Quiet = False
    json: Json = None


@demo.command("failure")
@takes(FailureOptions)
def failure(args: FailureOptions) -> None:
    """A machine under load, one of its clusters killed: see what the others do, and how it comes back.

    Boots a machine of two clusters with Redis, each under a client's load from this host, ends one of them, and draws
    the requests per second of each as it happens; without a terminal there is a line each second. At the end there are
    the figures, and the curve as a plot. The exit status is 1 if a value that was acknowledged is lost, or the cluster
    does not come back. Ctrl-C ends it and leaves nothing behind.
    """
    process.heed_signals()
    check_plot(args.plot)
    what = plan(scene.deployment(args.sockets or 2, args.cores or 2, check_lock(args.lock)))
    one = _kill(scene.mortal(what), args.cluster, args.how.value, args.core, args.seconds)
    check_survivors(what, [one.cluster], args.cores or 2)
    RESULTS.mkdir(parents=True, exist_ok=True)
    picture = args.plot or RESULTS / f"demo-failure-{time.strftime('%Y%m%d-%H%M%S')}.svg"
    output = Output(args.quiet, args.json)
    kvm.check_choice(args.accel, False)
    ensure_built(output, needs.of_map(what.cluster_map))
    mode = kvm.choose(args.accel, len(what.machine.cores))
    output.line(f"Mode: {mode.description}.")
    with output.progress("Booting"):
        running = boot(what, Options(mode, Patience(limit=args.timeout), "kernel"))
    with running as run:
        fate, survivors = show.play(run, one, args.seconds, output)
    for text in (*survival.lines(survivors), *show.sentences(fate)):
        output.line(text)
    survival.plot(survivors, picture, "the host's clock")
    output.line(f"Plot: {picture}.")
    entry = {"workload": "failure", "system": "skerry", "layout": "per-socket", "lock": args.lock,
             "emulated": mode.emulated, "kill": fate.to_json()}
    output.results(document("demo failure", host_description(mode, qemu.BINARY), [], [entry])
                   | {"survival": [s.to_json() for s in survivors]})


def _kill(mortal: list[tuple[int, int]], cluster: int, how: str, core: int | None, quiet: float) -> scene.Kill:
    """Returns the kill that the options select, checked before anything is built."""
    known = dict(mortal)
    if cluster not in known:
        such = ", ".join(map(str, known)) or "this machine has none"
        raise InputError(f"--cluster {cluster}", f"is not one that starts again: {such}")
    if core is not None and how not in kill.OF_A_CORE:
        raise InputError(f"--core {core}", f"is for --how {' and --how '.join(kill.OF_A_CORE)}")
    if core is not None and core >= known[cluster]:
        raise InputError(f"--core {core}", f"is not one of cluster {cluster}'s, 0 to {known[cluster] - 1}")
    return scene.Kill(1, cluster, how, (core or 0) if how in kill.OF_A_CORE else None, quiet)
