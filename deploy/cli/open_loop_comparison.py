# SPDX-License-Identifier: BSD-2-Clause
"""`skerry compare --open-loop`: latency over offered load, both layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from deploy.base.partial import Parts
from deploy.compare import open_loop, open_loop_plot
from deploy.compare.runs import Follower, drawn, link
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.case import RedisCase, needed
from deploy.machine import qemu
from deploy.results.result import document, host_description
from deploy.setup.build import ensure_built
from topology.errors import InputError


@dataclass(frozen=True)
class OpenLoopOptions:
    open_loop: Annotated[bool, typer.Option(
        "--open-loop", help="Let operations arrive at fixed rates, from a fifth of what a closed loop does to more than"
        f" that: latency over load. {open_loop.IMAGES} images by default, {open_loop.OPERATIONS} operations of each "
        "client.")] = False
    p99_bound: Annotated[int | None, typer.Option(
        "--p99-bound", metavar="US", min=1,
        help="With --open-loop: say at which load p99 passes so many microseconds (five times the lowest median).",
    )] = None

def check_options(args: OpenLoopOptions, layouts: Sequence[str], workload: str, modelled: ModelledMachine | None,
                  refused: Mapping[str, object]) -> None:
    """`refused`: options that do not fit, with their values if these are not the usual ones."""
    if not args.open_loop:
        raise InputError("--p99-bound", "is of an open loop (--open-loop)")
    if not modelled:
        raise InputError("--open-loop", "is for a modelled machine (--machine)")
    if odd := [name for name, value in refused.items() if value]:
        raise InputError("--open-loop", f"is of Redis at fixed rates; not with {', '.join(odd)}")
    if len(set(layouts)) != 2:
        raise InputError("--layout", "an open loop is of two different layouts")
    if "," in workload:
        raise InputError("--workload", "an open loop is of one workload")


def compare(cases: Sequence[RedisCase], args: OpenLoopOptions, quick: bool, images: int | None, shown: Follower,
            picture: Path) -> None:
    """Runs the closed loop and the sweep, prints table and sentences, and writes results and plot."""
    job, output = cases[0].job, shown.output
    assert job.modelled
    modelled_run.check_installed()
    ensure_built(output, needed(cases))
    accel = modelled_run.mode(job.modelled)
    output.line(f"Machine: {job.shape}; {open_loop.clients(cases[0])} clients. Mode: {accel.description}.")
    parts = Parts(output)
    images = images or (open_loop.QUICK_IMAGES if quick else open_loop.IMAGES)
    link(drawn(cases, images))
    measured = open_loop.measure(cases, accel, quick, images, args.p99_bound, parts, shown)
    parts.require(measured)
    assert measured
    output.table(measured.table())
    data = document("compare", host_description(accel, qemu.BINARY), []) | parts.to_json()
    with output.ending([measured.sentences()]):
        output.results(data | {"open_loop": measured.to_json() | {"modelled": job.modelled.to_json()}})
        open_loop_plot.plot(measured, accel.description, picture)
        output.written(picture)
    parts.finish()
