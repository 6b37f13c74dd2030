# SPDX-License-Identifier: BSD-2-Clause
"""`skerry plan`."""

import re
from pathlib import Path
from typing import Annotated

import typer

from deploy import model_results, model_tables
from deploy.commands.model import Lock, Transfer, check_plot
from deploy.commands.model_simulate import Attempts
from deploy.options import Cores, Sockets
from deploy.output import Json, Output, Quiet
from topology.errors import InputError
from topology.machine import Machine, Shape
from topology.model import published, ranges, regimes
from topology.model.plan import Advice, Planner, Throughput
from topology.model.regimes import ClosedForm
from topology.model.simulation.holding import Transfers
from topology.model.simulation.transactions import Elision, Transactions

From = Annotated[
    str | None, typer.Option("--from", metavar="live|FILE", help="The machine: this one, or hwloc's XML of another.")
]
Service = Annotated[
    float, typer.Option("--service", metavar="CYCLES", help="From hand-over to hand-over in a shared cache; rtm: of an entry.")
]
Remote = Annotated[
    float | None,
    typer.Option("--remote-service", metavar="CYCLES", help="The same in a larger cluster (--service times 613/358)."),
]
Rate = Annotated[float | None, typer.Option("--rate", metavar="N", help="Kernel entries per second of one core.")]
Ghz = Annotated[float | None, typer.Option("--ghz", metavar="GHZ", help="Clock, with --rate (live: this machine's).")]
Delay = Annotated[float | None, typer.Option("--delay", metavar="CYCLES", help="In place of --rate: between two entries.")]
Loss = Annotated[float, typer.Option("--loss", metavar="P", help="Per cent of the work that the lock may cost.")]
Conflict = Annotated[
    float | None, typer.Option("--conflict", metavar="P", min=0, max=1, help="rtm: chance that two overlapping entries conflict.")
]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the curve: .png, .svg or .pdf.")]

ENTRIES = 6_000  # simulated for each cluster size: good for about a per cent
REMOTE = published.BOUNDS[1] / published.SERVICE


def plan(
    source: From = None,
    sockets: Sockets = None,
    cores: Cores = None,
    lock: Lock = "clh",
    service: Service = published.SERVICE,
    remote_service: Remote = None,
    transfer: Transfer = regimes.TRANSFER,
    conflict: Conflict = None,
    attempts: Attempts = 3,
    rate: Rate = None,
    ghz: Ghz = None,
    delay: Delay = None,
    loss: Loss = 5.0,
    plot: Plot = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """How large may a cluster be before its lock costs more than --loss per cent, and which layout is that?

    The machine is this one, hwloc's XML of another (--from), or --sockets of --cores. Takes clh, mcs and ticket
    by their closed forms, and rtm by simulation (needs --conflict).
    """
    output = Output(quiet, json)
    check_plot(plot)
    regimes.check(lock, also=("rtm",))
    if not 0 < loss < 100:
        raise InputError("--loss", f"{loss:g} is not between 0 and 100 per cent")
    near = ranges.positive(service, "--service")
    far = ranges.positive(remote_service, "--remote-service") if remote_service is not None else near * REMOTE
    if far < near:
        raise InputError("--remote-service", f"{far:g} is below --service, {near:g}")
    pause = _delay(rate, ghz, delay, near, source in (None, "live") and not (sockets or cores))
    machine = _machine(source, sockets, cores)
    if lock == "rtm":
        if conflict is None:
            raise InputError("--lock rtm", "needs --conflict: no closed form tells how often entries conflict")
        done = _elided(machine, near, far, pause, conflict, attempts)
    else:
        done = _queued(ClosedForm(lock, near, ranges.cycles(str(transfer), "--transfer")), far / near, pause)
    planner = Planner(machine, pause + near, done)
    with output.progress("Planning"):
        advice = planner.advise(loss / 100)
    _print(output, machine, lock, near, far, pause, loss, advice)
    if plot:
        from deploy.model_plot import plot_plan

        plot_plan(advice, loss / 100, f"{machine.name}: {lock}, delay {pause:,.0f} cycles", plot)
        output.step(f"Plot: {plot}")
    model = "simulation" if lock == "rtm" else regimes.NAMES[lock]
    document = model_results.document("plan", model_results.planned(lock, model, pause, near, loss / 100, advice))
    document["machine"] = machine.name
    document["advice"] = {
        "largest_cluster": advice.largest,
        "layout": advice.layout,
        "clusters": list(advice.sizes),
        "loss": advice.loss,
        "limit": loss / 100,
        "remote_service_cycles": far,
    }
    output.results(document)


def _machine(source: str | None, sockets: int | None, cores: int | None) -> Machine:
    from topology import hwloc
    from topology.machine import emulated

    if sockets or cores:
        if source:
            raise InputError("--from", "is a machine already; not with --sockets or --cores")
        return emulated(Shape(sockets or Shape.sockets, cores or Shape.cores))
    return hwloc.live() if source in (None, "live") else hwloc.read_xml(Path(source))


def _delay(rate: float | None, ghz: float | None, delay: float | None, service: float, live: bool) -> float:
    """Cycles that a core spends outside the lock between two entries."""
    if (rate is None) == (delay is None):
        raise InputError("--rate", "say how often a core enters the kernel: --rate a second, or --delay in cycles")
    if delay is not None:
        if ghz is not None:
            raise InputError("--ghz", "belongs to --rate; --delay is in cycles already")
        return ranges.cycles(str(delay), "--delay")
    assert rate is not None
    hertz = 1e9 * ranges.positive(ghz, "--ghz") if ghz is not None else _clock() if live else None
    if hertz is None:
        raise InputError("--rate", "is per second; --ghz of that machine turns it into cycles")
    between = hertz / ranges.positive(rate, "--rate") - service
    if between < 0:
        most = hertz / service
        raise InputError("--rate", f"{rate:g}: a core with a service time of {service:g} cycles enters {most:,.0f} times at most")
    return between


def _clock() -> float | None:
    """Hertz of this machine's TSC: Linux takes its BogoMIPS from there, two a cycle."""
    found = re.search(r"^bogomips\s*: *([\d.]+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE | re.IGNORECASE)
    return float(found[1]) / 2 * 1e6 if found and float(found[1]) else None


def _queued(form: ClosedForm, factor: float, pause: float) -> Throughput:
    """Beyond a shared cache everything costs `factor` times as much."""
    beyond = ClosedForm(form.lock, form.service * factor, form.transfer * factor)
    return lambda n, crosses: (beyond if crosses else form).steady(pause, n).throughput


def _elided(machine: Machine, near: float, far: float, pause: float, conflict: float, attempts: int) -> Throughput:
    """Transactions of `near` cycles; an entry that falls back to the lock moves its lines as well."""

    def throughput(n: int, crosses: bool) -> float:
        line = far / near * published.TABLE_1["x86"]["L1"].same_socket if crosses else None
        fallback = Transfers(hold=near, per_socket=n) if line is None else Transfers(near, same_socket=line, per_socket=n)
        return Transactions(n, pause, Elision(conflict, attempts, fallback=fallback), seed=1).run(ENTRIES).throughput.mean

    return throughput


def _print(
    output: Output, machine: Machine, lock: str, near: float, far: float, pause: float, loss: float, advice: Advice
) -> None:
    output.table(model_tables.plan_curve(advice, loss / 100))
    sizes = ", ".join(f"{advice.sizes.count(s)} x {s}" for s in dict.fromkeys(advice.sizes))
    whole = " (all of this machine)" if advice.largest == len(machine.cores) else ""
    output.line(f"Largest cluster: {advice.largest} cores{whole} lose no more than {loss:g} % to {lock}.")
    output.line(f"Layout: {advice.layout}, clusters of {sizes} cores, the worst of which loses {advice.loss:.2%}.")
    if near == published.SERVICE:
        output.line(f"The service time, {near:g} cycles, is Elphinstone's Xeon, not this machine: `skerry model fit` finds yours.")
    output.line(
        f"Assumed: every core enters at random, {pause:,.0f} cycles apart on average, and all alike; a hand-over costs "
        f"{near:g} cycles where all cores share a last-level cache and {far:g} in any larger cluster. "
        "A layout along the caches is preferred to size=N. What clusters cost each other in messages is not counted."
    )
