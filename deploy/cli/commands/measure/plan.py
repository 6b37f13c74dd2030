# SPDX-License-Identifier: BSD-2-Clause
"""`skerry plan`."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from deploy.base.choices import option
from deploy.base.terminal import Json, Output, Quiet, check_plot
from deploy.cli.model_options import Attempts, Lock, Transfer
from deploy.cli.options import Cores, From, Smt, Sockets, takes
from deploy.report import model_present, model_results
from deploy.report.model_present import plot_plan
from topology.errors import InputError
from topology.limits import MAX_CPUS
from topology.machines.machine import Machine, Shape, emulated
from topology.machines.sources import LIVE, read_machine
from topology.model import plan as planning, published, ranges, regimes
from topology.model.plan import Advice, Planner
from topology.model.regimes import ClosedForm

REMOTE = published.BOUNDS[1] / published.SERVICE


@dataclass(frozen=True)
class PlanOptions:
    source: From = None
    sockets: Sockets = None
    cores: Cores = None
    smt: Smt = None
    lock: Lock = "clh"
    service: Annotated[float, option("--service CYCLES", "From hand-over to hand-over in a shared cache; rtm: of an "
                                     "entry.")] = published.SERVICE
    remote_service: Annotated[float | None, option("--remote-service CYCLES", "Service time in a larger cluster "
                                                   "(--service times 613/358).")] = None
    transfer: Transfer = published.LINE_SAME_SOCKET
    conflict: Annotated[float | None, option("--conflict P", "rtm: chance that two overlapping "
                                             "entries conflict.")] = None
    attempts: Attempts = 3
    rate: Annotated[float | None, option("--rate N", "Kernel entries per second of one core.")] = None
    ghz: Annotated[float | None, option("--ghz GHZ", "Clock, with --rate (live: this machine's).")] = None
    delay: Annotated[float | None, option("--delay CYCLES", "Cycles between two entries, instead of --rate.")] = None
    loss: Annotated[float, option("--loss P", "Per cent of the work that the lock may cost.")] = 5.0
    plot: Annotated[Path | None, option("--plot FILE", "Write a plot of the curve: .png, .svg or .pdf.")] = None
    quiet: Quiet = False
    json: Json = None


@takes(PlanOptions)
def plan(args: PlanOptions) -> None:
    """How large may a cluster be before its lock costs more than --loss per cent, and which layout is that?

    The machine is this one, another one that --from names, or --sockets of --cores. Takes clh, mcs and ticket by
    their closed forms, and rtm by simulation (needs --conflict).
    """
    lock, loss, plot = args.lock, args.loss, args.plot
    output = Output(args.quiet, args.json)
    check_plot(plot)
    regimes.check(lock, also=("rtm",))
    if not 0 < loss < 100:
        raise InputError("--loss", f"{loss:g} is not between 0 and 100 per cent")
    near = ranges.positive(args.service, "--service")
    far = ranges.positive(args.remote_service, "--remote-service") if args.remote_service is not None else near * REMOTE
    if far < near:
        raise InputError("--remote-service", f"{far:g} is below --service, {near:g}")
    pause = _delay(args.rate, args.ghz, args.delay, near,
                   args.source in (None, LIVE) and not (args.sockets or args.cores))
    machine = _machine(args.source, args.sockets, args.cores, args.smt)
    planner = Planner(machine, pause + near, _throughput(args, near, far, pause), end=0.5 if lock == "rtm" else 1.0)
    with output.progress("Planning"):
        advice = planner.advise(loss / 100)
    _print(output, machine, lock, near, far, pause, loss, advice)
    if plot:
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


def _throughput(args: PlanOptions, near: float, far: float, pause: float) -> planning.Throughput:
    if args.lock != "rtm":
        form = ClosedForm(args.lock, near, ranges.at_least_0(args.transfer, "--transfer"))
        return planning.queued(form, far / near, pause)
    if args.conflict is None:
        raise InputError("--lock rtm", "needs --conflict: no closed form gives the rate of conflicts")
    return planning.elided(near, far / near, pause, ranges.probability(args.conflict, "--conflict"), args.attempts)


def _machine(source: str | None, sockets: int | None, cores: int | None, smt: str | None) -> Machine:
    if smt not in (None, "on", "off"):
        raise InputError("--smt", f"'{smt}' is neither on nor off")
    if not (sockets or cores):
        return read_machine(source or LIVE, smt != "off", may_connect=True)
    if source or smt:
        raise InputError("--from" if source else "--smt", "is for a real machine; not with --sockets or --cores")
    return emulated(Shape(sockets or Shape.sockets, cores or Shape.cores))


def _delay(rate: float | None, ghz: float | None, delay: float | None, service: float, live: bool) -> float:
    """Cycles that a core spends outside the lock between two entries."""
    if (rate is None) == (delay is None):
        raise InputError("--rate", "say how often a core enters the kernel: --rate a second, or --delay in cycles")
    if delay is not None:
        if ghz is not None:
            raise InputError("--ghz", "belongs to --rate; --delay is in cycles already")
        return ranges.at_least_0(delay, "--delay")
    assert rate is not None
    hertz = 1e9 * ranges.positive(ghz, "--ghz") if ghz is not None else _clock() if live else None
    if hertz is None:
        raise InputError("--rate", "is per second; --ghz of that machine turns it into cycles")
    between = hertz / ranges.positive(rate, "--rate") - service
    if between < 0:
        most = hertz / service
        raise InputError(
            "--rate", f"{rate:g}: a core with a service time of {service:g} cycles enters {most:,.0f} times at most"
        )
    return between


def _clock() -> float | None:
    """Hertz of this machine's TSC: Linux takes its BogoMIPS from there, two a cycle."""
    match = re.search(r"^bogomips\s*: *([\d.]+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE | re.IGNORECASE)
    return float(match[1]) / 2 * 1e6 if match and float(match[1]) else None


def _cores(count: int) -> str:
    return f"{count} core{'s' * (count > 1)}"


def _print(
    output: Output, machine: Machine, lock: str, near: float, far: float, pause: float, loss: float, advice: Advice
) -> None:
    output.table(model_present.plan_curve(advice, loss / 100))
    sizes = ", ".join(f"{advice.sizes.count(s)} x {_cores(s)}" for s in dict.fromkeys(advice.sizes))
    whole = " (all of this machine)" if advice.largest == len(machine.cores) else ""
    most = " (the most that a kernel runs on)" if not whole and advice.largest == MAX_CPUS else ""
    output.line(f"Largest cluster that loses {loss:g} % or less to {lock}: {_cores(advice.largest)}{whole}{most}.")
    output.line(f"Layout: {advice.layout}, {sizes}, the worst of which loses {advice.loss:.2%}.")
    if advice.loss > loss / 100:
        output.line("No layout of this machine stays within the limit; this is the one of the smallest clusters.")
    if crossing := next((point.cores for point in advice.curve if point.crosses), None):
        output.line(
            f"From {_cores(crossing)} on they have no last-level cache in common: lines move {far / near:.2f} times as "
            "long, so that the lock does fewer entries, and from where it is always taken, more cores do not do more."
        )
    for note in machine.notes:
        output.line(f"Note: {note}.")
    what = "a transaction takes" if lock == "rtm" else "a hand-over costs"
    output.line(
        f"Assumed: every core enters at random, {pause:,.0f} cycles apart on average, and all alike; {what} {near:g} "
        f"cycles, and where cores share no last-level cache lines move {far / near:.2f} times as long. "
        "A layout along the caches is preferred to size=N. What clusters cost each other in messages is not counted."
    )
    if near == published.SERVICE:
        output.line(f"{near:g} cycles is Elphinstone's Xeon, not this machine: `skerry model fit` finds yours.")
