# SPDX-License-Identifier: BSD-2-Clause
"""`skerry profile`."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from deploy import comparison, options, process, qemu
from deploy.commands.bench.common import RESULTS
from deploy.commands.compare import Clients, prepared
from deploy.comparison import Comparison
from deploy.deployment import Deployment
from deploy.events import Event
from deploy.files import write_text
from deploy.output import Json, Output, Quiet
from deploy.patience import Patience
from deploy.plugin import plugin
from deploy.profile import starting
from deploy.profile.flame import svg
from deploy.profile.run import profile as measure
from deploy.profile.table import components, functions
from deploy.profile.tally import Profile
from deploy.results import Result, document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError

SILENCE = 300.0  # seconds: the plugin makes the emulator slower

Workload = Annotated[str, typer.Option("--workload", metavar="C", help="YCSB core workload: a, b, c or f.")]
Records = Annotated[int, typer.Option("--records", metavar="N", min=1, max=1 << 22, help="Records of 1 kB in each Redis.")]
Operations = Annotated[int, typer.Option("--operations", metavar="N", min=1, help="Operations of each client.")]
Functions = Annotated[int, typer.Option("--functions", metavar="N", min=0, help="Show so many functions of each layout.")]
Stat = Annotated[bool, typer.Option("--stat", help="With kernels that count, which are slower.")]
Start = Annotated[bool, typer.Option("--start", help="From the loader's first instruction to the first command that a Redis serves.")]
Flame = Annotated[Path | None, typer.Option("--flame", metavar="FILE.svg", help="The flame graph of the first layout.")]


def profile(
    layout: Annotated[str, typer.Option("--layout", metavar="L1,L2", help="Layouts to profile.")] = "per-socket",
    workload: Workload = "c",
    lock: options.Lock = "clh",
    switch: options.Switch = None,
    sockets: options.Sockets = None,
    cores: options.Cores = None,
    memory: options.Memory = None,
    topology: options.Topology = None,
    smt: options.Smt = None,
    records: Records = 2000,
    operations: Operations = 1000,
    clients: Clients = None,
    stat: Stat = False,
    count: Functions = 30,
    flame: Flame = None,
    start: Start = False,
    timeout: options.Timeout = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Show where the instructions of an operation go: Redis under YCSB, by program, component and function.

    A plugin of the emulator counts every instruction of the machine while all clients run; symbols name its function.
    Counts are exact and the same in each run. Writes JSON and a flame graph (build/results, or where --json and --flame say).
    """
    process.heed_signals()
    if flame and (flame.suffix != ".svg" or not flame.resolve().parent.is_dir()):
        raise InputError(f"--flame {flame}", "must end in .svg" if flame.suffix != ".svg" else "no such folder")
    RESULTS.mkdir(parents=True, exist_ok=True)
    base = RESULTS / f"profile-{time.strftime('%Y%m%d-%H%M%S')}"
    output = Output(quiet, json or str(base.with_suffix(".json")))
    shape = options.adapt(Deployment(), sockets, cores, memory, topology, None, lock, smt).shape
    picture = flame or base.with_suffix(".svg")
    job = prepared(
        shape, memory, layout, workload, switch, records, clients,
        lock=lock or "clh", operations=operations, patience=Patience(SILENCE, timeout),
    )
    if start:
        _start(job, count, picture, output)
        return
    if len(job.workloads) != 1:
        raise InputError("--workload", "one at a time")
    plugin("profile")
    ensure_built(output, needs.of_comparison(job) | needs.plugin("profile"))
    output.line(f"Machine: {job.shape}. Mode: {qemu.TCG_COUNTED.description}, each block of code counted by a plugin.")
    found = [_measure(job, name, stat, output) for name in job.layouts]
    for name, (counted, _) in zip(job.layouts, found):
        output.table(components(counted, f"{name}: instructions of an operation by component"))
        if count:
            output.table(functions(counted, f"{name}: by function", count))
    first = found[0][0]
    write_text(picture, svg(first, f"{job.layouts[0]}, YCSB {workload.upper()}: {first.instructions / first.operations:,.0f} instructions/operation"))
    data = document("profile", host_description(qemu.TCG_COUNTED, job.binary), [result for _, result in found])
    for entry, (counted, _) in zip(data["results"], found):
        entry["profile"] = _to_json(counted)
    output.results(data)
    output.line(f"Flame graph: {picture}." if json == "-" else f"Results: {output.json_to}. Flame graph: {picture}.")


def _start(job: Comparison, count: int, picture: Path, output: Output) -> None:
    """The same of a start, where there is no load."""
    plugin("profile")
    what = starting.planned(job.shape, job.layouts[0], job.lock)
    ensure_built(output, needs.of_map(what.cluster_map, what.own) | needs.plugin("profile"))
    output.line(f"Machine: {job.shape}. Mode: {qemu.TCG_COUNTED.description}, each block of code counted by a plugin.")
    with output.progress("booting", total=1) as update:
        counted = starting.profile(what, job.patience, job.binary, lambda event: update(completed=int(event.kind == "serving")))
    title = f"{job.layouts[0]}: from the loader's first instruction to the first command served"
    output.table(components(counted, f"{title}, by component"))
    if count:
        output.table(functions(counted, "By function", count))
    write_text(picture, svg(counted, f"{title}: {counted.instructions:,} instructions"))
    entry = {"layout": job.layouts[0], "lock": job.lock, "metrics": {"instructions_to_serve": counted.instructions}, "profile": _to_json(counted)}
    output.results(document("profile-start", host_description(qemu.TCG_COUNTED, job.binary), []) | {"results": [entry]})
    output.line(f"Flame graph: {picture}." if output.json_to == "-" else f"Results: {output.json_to}. Flame graph: {picture}.")


def _measure(job: Comparison, layout: str, stat: bool, output: Output) -> tuple[Profile, Result]:
    servers = comparison.servers(job)
    with output.progress(f"{layout}: booting", total=2 + servers * (2 + 2 * job.clients)) as update:
        seen = 0

        def follow(event: Event) -> None:
            nonlocal seen
            seen += event.kind in ("started", "serving", "result")
            update(completed=seen, description=f"{layout}: loading and counting" if event.kind == "started" else f"{layout}: counting")

        counted, result = measure(replace(job, layouts=(layout,)), layout, job.workloads[0], stat, follow)
    result.metrics |= {"instructions_per_op": counted.instructions / counted.operations} | counted.metrics()
    return counted, result


def _to_json(counted: Profile) -> dict[str, Any]:
    return {
        "operations": counted.operations,
        "functions": [vars(line) for line in counted.lines],
    }
