# SPDX-License-Identifier: BSD-2-Clause
"""`skerry model simulate`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import typer

from deploy.base.terminal import Json, Output, Quiet
from deploy.cli.model_options import Attempts
from deploy.cli.options import takes
from deploy.report import model_present, model_results
from topology.errors import InputError
from topology.model import published, ranges, regimes, repairman
from topology.model.regimes import ClosedForm
from topology.model.simulation.holding import Markovian, TicketTransfers, Transfers
from topology.model.simulation.lock import Elision, QueueLock, Transactions
from topology.model.simulation.outcome import Cores as Simulation

Delay = Annotated[str, typer.Option("--delay", metavar="LIST", help="Mean cycles between entries, as for predict.")]
Cores = Annotated[str, typer.Option("--cores", metavar="LIST", help="Cores of one kernel, as for predict.")]
Hold = Annotated[float, typer.Option("--hold", metavar="CYCLES", help="Time under the lock when no cache line moves.")]
Near = Annotated[float, typer.Option("--same-socket", metavar="CYCLES", help="Cost of moving a line within a socket.")]
Far = Annotated[float, typer.Option("--other-socket", metavar="CYCLES", help="Cost of moving a line between sockets.")]
Reload = Annotated[float, typer.Option("--transfer", metavar="CYCLES", help="ticket: cost of one waiter's reload.")]
Overhead = Annotated[float, typer.Option("--overhead", metavar="CYCLES", help="rtm: cost of begin and commit.")]
Service = Annotated[float, typer.Option("--service", metavar="CYCLES", help="With --markov: mean service time.")]


@dataclass(frozen=True)
class SimulateOptions:
    delay: Delay = "500,1000,4000"
    cores: Cores = "1,2,4,7,10,14,15,18,21,28"
    lock: Annotated[str, typer.Option("--lock", metavar="REGIME", help="clh, mcs, ticket or rtm.")] = "clh"
    per_socket: Annotated[
        int, typer.Option("--per-socket", metavar="N", min=1, help="Cores of a socket; the first fills first.")
    ] = published.SOCKET
    hold: Hold = published.HOLD_ALONE
    lines: Annotated[float, typer.Option("--lines", metavar="N", help="Lines that each hand-over moves.")] = 2.0
    same_socket: Near = published.LINE_SAME_SOCKET
    other_socket: Far = published.LINE_OTHER_SOCKET
    transfer: Reload = published.LINE_SAME_SOCKET
    conflict: Annotated[
        float,
        typer.Option("--conflict", metavar="P", help="rtm: chance that two overlapping entries conflict."),
    ] = 0.0
    attempts: Attempts = 3
    overhead: Overhead = 0.0
    markov: Annotated[bool, typer.Option("--markov", help="Simulate the closed form's own assumptions.")] = False
    service: Service = published.SERVICE
    entries: Annotated[int, typer.Option("--entries", metavar="N", min=1000, max=10_000_000,
                                         help="Kernel entries of each point.")] = 20_000
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.")] = 1
    quiet: Quiet = False
    json: Json = None


@takes(SimulateOptions)
def simulate(args: SimulateOptions) -> None:
    """Simulate the lock event by event, and set it beside the closed form.

    The lock is held for --hold cycles and for --lines cache lines that come from the core that had it last
    (defaults: Elphinstone's Table 1). The closed form beside it knows one service time: clh and mcs the mean that
    the simulation found, ticket that of one socket; for rtm it is the throughput of undisturbed cores.
    """
    output = Output(args.quiet, args.json)
    regimes.check(args.lock, also=() if args.markov else ("rtm",))
    sizes, pauses = ranges.cores(args.cores), ranges.delays(args.delay)
    moves = (
        ranges.positive(args.hold, "--hold"), ranges.at_least_0(args.lines, "--lines"),
        ranges.at_least_0(args.same_socket, "--same-socket"), ranges.at_least_0(args.other_socket, "--other-socket"),
        args.per_socket,
    )
    reload, fallback = ranges.at_least_0(args.transfer, "--transfer"), Transfers(*moves)
    elision = Elision(ranges.probability(args.conflict, "--conflict"), args.attempts,
                      ranges.at_least_0(args.overhead, "--overhead"), fallback)
    form = ClosedForm(args.lock if args.lock != "rtm" else "clh", ranges.positive(args.service, "--service"), reload)
    collapses = regimes.collapses(args.lock)

    def make(n: int, pause: float) -> Simulation:
        if args.lock == "rtm":
            return Transactions(n, pause, elision, args.seed)
        if args.markov:
            return QueueLock(n, pause, Markovian(form.service, reload if collapses else 0.0), args.seed)
        return QueueLock(n, pause, TicketTransfers(*moves, reload=reload) if collapses else fallback, args.seed)

    def closed(n: int, pause: float, service: float) -> float:
        if args.markov:
            return form.steady(pause, n).throughput
        if args.lock == "rtm":
            return n / (pause + elision.length)
        if collapses:
            return ClosedForm(args.lock, args.hold + args.lines * args.same_socket, reload).steady(pause, n).throughput
        return repairman.steady(service, pause, n).throughput

    results = _run(output, sizes, pauses, args.lock, args.entries, make, closed)
    output.table(model_present.simulations(args.lock, results))
    output.results(model_results.document("model simulate", results))


def _run(
    output: Output, sizes: list[int], pauses: list[float], lock: str, entries: int,
    make: Callable[[int, float], Simulation], closed: Callable[[int, float, float], float],
) -> list[dict[str, object]]:
    points = [(pause, n) for pause in pauses for n in sizes]
    if len(points) * entries > 1_000_000_000:
        raise InputError("--entries", f"{len(points)} points of {entries} entries would take hours")
    results = []
    with output.progress("Simulating", total=len(points)) as update:
        for number, (pause, n) in enumerate(points, 1):
            outcome = make(n, pause).run(entries)
            results.append(model_results.simulated(lock, pause, outcome, closed(n, pause, outcome.service)))
            update(completed=number)
    return results
