# SPDX-License-Identifier: BSD-2-Clause
"""`skerry model simulate`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from deploy.base.choices import option
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


@dataclass(frozen=True)
class SimulateOptions:
    delay: Annotated[str, option("--delay LIST", "Mean cycles between entries, as for predict.")] = "500,1000,4000"
    cores: Annotated[str, option("--cores LIST", "Cores of one kernel, as for predict.")] = "1,2,4,7,10,14,15,18,21,28"
    lock: Annotated[str, option("--lock REGIME", "clh, mcs, ticket or rtm.")] = "clh"
    per_socket: Annotated[int, option("--per-socket N", "Cores of a socket; the first fills first.",
                                      1)] = published.SOCKET
    hold: Annotated[float, option("--hold CYCLES", "Time under the lock when no cache "
                                  "line moves.")] = published.HOLD_ALONE
    lines: Annotated[float, option("--lines N", "Lines that each hand-over moves.")] = 2.0
    same_socket: Annotated[float, option("--same-socket CYCLES", "Cost of moving a line within "
                                         "a socket.")] = published.LINE_SAME_SOCKET
    other_socket: Annotated[float, option("--other-socket CYCLES", "Cost of moving a line "
                                          "between sockets.")] = published.LINE_OTHER_SOCKET
    transfer: Annotated[float, option("--transfer CYCLES", "ticket: cost of one "
                                      "waiter's reload.")] = published.LINE_SAME_SOCKET
    conflict: Annotated[float, option("--conflict P", "rtm: chance that two overlapping entries conflict.")] = 0.0
    attempts: Attempts = 3
    overhead: Annotated[float, option("--overhead CYCLES", "rtm: cost of begin and commit.")] = 0.0
    markov: Annotated[bool, option("--markov", "Simulate the closed form's own assumptions.")] = False
    service: Annotated[float, option("--service CYCLES", "With --markov: mean service time.")] = published.SERVICE
    entries: Annotated[int, option("--entries N", "Kernel entries of each point.", 1000, 10_000_000)] = 20_000
    seed: Annotated[int, option("--seed N", "Seed of the simulation.")] = 1
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
