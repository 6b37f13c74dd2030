# SPDX-License-Identifier: BSD-2-Clause
"""`skerry compare`."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from deploy import comparison, kvm, options, process
from deploy.completion import words
from deploy.comparison import Comparison
from deploy.deployment import WORKLOADS, Deployment
from deploy.events import Event
from deploy.expand import plan
from deploy.output import Json, Output, Quiet
from deploy.paths import BUILD
from deploy.render import comparison_table, layout_table, linux_table, pairs, ratio_json
from deploy.qemu import Accel
from deploy.results import Result, document, host_description
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.layouts import NAMES
from topology.network_check import MAX_PORTS
from topology.units import parse_size

RESULTS = BUILD / "results"

Workload = Annotated[str, typer.Option("--workload", metavar="A,C", help="YCSB core workloads, of a, b, c, f.")]
Layouts = Annotated[str, typer.Option("--layout", metavar="L1,L2", help="The layouts to compare.", autocompletion=words(*options.LAYOUTS))]
Records = Annotated[int, typer.Option("--records", metavar="N", min=1, max=1 << 22, help="Records of 1 kB in each Redis.")]
Operations = Annotated[int, typer.Option("--operations", metavar="N", min=1, help="Operations of each client.")]
Clients = Annotated[int, typer.Option("--clients", metavar="N", min=1, max=16, help="Clients of each Redis, on its core.")]

Baseline = Annotated[str | None, typer.Option("--baseline", metavar="linux", help="Run the same on Linux as well.", autocompletion=words("linux"))]


def compare(
    workload: Workload = "c",
    layout: Layouts = ",".join(comparison.LAYOUTS),
    lock: options.Lock = "clh",
    sockets: options.Sockets = None,
    cores: options.Cores = None,
    memory: options.Memory = None,
    topology: options.Topology = None,
    smt: options.Smt = None,
    records: Records = 10_000,
    operations: Operations = comparison.OPERATIONS,
    clients: Clients = 2,
    baseline: Baseline = None,
    accel: options.Accel = "auto",
    icount: options.Icount = False,
    medium: options.Boot = "iso",
    timeout: options.Timeout = 150.0,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Run one kernel per socket beside one kernel spanning the machine: Redis under YCSB.

    Prints a table for each and their ratio, writes JSON and a plot (build/results, or beside --json FILE). Fails if one
    operation is lost or wrong.
    """
    process.heed_signals()
    started = time.strftime("%Y%m%d-%H%M%S")
    RESULTS.mkdir(parents=True, exist_ok=True)
    output = Output(quiet, json or str(RESULTS / f"compare-{started}.json"))
    shape = options.adapt(Deployment(), sockets, cores, memory, topology, None, lock, smt).shape
    given = parse_size(memory, "--memory") if memory else None
    job = Comparison(
        shape=comparison.with_room(shape, given, records, clients),
        layouts=_split("--layout", layout, None),
        workloads=_split("--workload", workload.lower(), WORKLOADS),
        lock=lock or "clh",
        records=records,
        operations=operations,
        clients=clients,
        timeout=timeout,
        medium=options.check_boot(medium),
    )
    if baseline not in (None, "linux"):
        raise InputError("--baseline", f"'{baseline}' is not linux")
    kvm.check_choice(accel, icount)
    _check(job)
    ensure_built(output)
    load, outside = comparison.accelerators(job, accel, icount)
    _say_mode(job, load, outside, output)
    results = _run(job, load, outside, output)
    linux = [_linux(job, workload, load, outside, output) for workload in job.workloads if baseline]
    _publish(results, linux, host_description(load, job.binary), output, started)


def _split(option: str, text: str, allowed: tuple[str, ...] | None) -> list[str]:
    found = [part.strip() for part in text.split(",")]
    for part in found:
        if not part or (allowed and part not in allowed):
            raise InputError(option, f"'{part}' is not one of {', '.join(allowed) if allowed else NAMES}")
    return list(dict.fromkeys(found))


def _check(job: Comparison) -> None:
    """Everything that can be wrong with the request, before anything is built or booted."""
    servers = max(1, job.shape.cpus - 1)
    if servers * (1 + job.clients) >= MAX_PORTS:  # the network card has one, too
        fitting = (MAX_PORTS - 1) // servers - 1
        what = f"{servers} instances with {job.clients} each need {servers * (1 + job.clients) + 1} network ports of {MAX_PORTS}"
        raise InputError("--clients", f"{what}; " + (f"--clients {fitting} fits" if fitting else "a smaller machine would fit"))
    for layout, workload in comparison.steps(job):
        try:
            plan(job.deployment(layout, workload))
        except InputError as error:
            if "kernel" not in error.problem or error.culprit.startswith("--"):
                raise
            raise InputError(f"--lock {job.lock}", f"{layout}: {error.culprit}: {error.problem}") from None


def _say_mode(job: Comparison, load: Accel, outside: Accel, output: Output) -> None:
    output.line(f"Machine: {job.shape}. Mode: {load.description}.")
    if load.icount:
        output.line("A core that waits for its turn counts as busy: CPU utilisation and lock waits are upper bounds.")
    if outside is not load:
        output.line(f"Power-on to +PONG is timed with: {outside.description}.")


def _run(job: Comparison, load: Accel, outside: Accel, output: Output) -> list[Result]:
    results = []
    pongs: dict[str, float] = {}
    for layout, workload in comparison.steps(job):
        name = f"{layout}, workload {workload.upper()}"
        with output.progress(f"{name}: booting", total=_milestones(job)) as update:
            result = comparison.measure(job, load, layout, workload, _follow(name, update))
        if layout not in pongs:
            with output.progress(f"{layout}: from power-on to the first +PONG"):
                pongs[layout] = comparison.boot_to_pong(job, layout, outside)
        result.metrics["boot_to_pong_s"] = pongs[layout]
        output.table(layout_table(result))
        results.append(result)
    return results


def _linux(job: Comparison, workload: str, load: Accel, outside: Accel, output: Output) -> dict[str, Any]:
    with output.progress(f"Linux, workload {workload.upper()}"):
        return comparison.linux(job, workload, load, outside)


def _milestones(job: Comparison) -> int:
    """Events of one run: starts, serving instances, results."""
    servers = max(1, job.shape.cpus - 1)
    return 2 + servers * (2 + 2 * job.clients)


def _follow(name: str, update: Callable[..., None]) -> Callable[[Event], None]:
    seen = 0

    def follow(event: Event) -> None:
        nonlocal seen
        summary = event.kind == "result" and event.get("data", {}).get("event") == "ycsb"
        seen += event.kind in ("started", "serving") or summary
        doing = "measured" if summary else "loading and measuring" if event.kind == "started" else None
        update(completed=seen, **({"description": f"{name}: {doing}"} if doing else {}))

    return follow


def _publish(
    results: list[Result], linux: list[dict[str, Any]], on: dict[str, Any], output: Output, started: str
) -> None:
    from deploy.plot import plot  # matplotlib takes long to load, and other commands load this module

    beside = pairs(results)
    for first, second in beside:
        output.table(comparison_table(first, second))
    for other in linux:
        output.table(linux_table(next(r for r in results if r.workload == other["workload"]), other))
    data = document("compare", on, results, linux)
    data["ratios"] = [ratio_json(first, second) for first, second in beside]
    output.results(data)
    written = Path(output.json_to) if output.json_to not in (None, "-") else None
    picture = written.with_suffix(".png") if written else RESULTS / f"compare-{started}.png"
    plot(results, on["mode"], picture)
    output.line(f"Results: {written}. Plot: {picture}." if written else f"Plot: {picture}.")
