# SPDX-License-Identifier: BSD-2-Clause
"""The model against what is published and measured: a row for each, whether or not it comes out well."""

import math
import resource
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.ipc import measure as ipc
from deploy.bench.ipc.measure import ONE_WAY
from deploy.bench.regimes import BASELINE
from deploy.bench.scale import measure as experiment
from deploy.bench.scale.fit import curves
from deploy.bench.scale.measure import Point
from deploy.emulator import run
from deploy.emulator.machine_file import ModelledMachine, Price
from topology.model import fit as fitting, papers, published, ranges, repairman
from topology.model.papers import Between, Published

PAPER = "Elphinstone 2016"
FIGURE_3_POINTS = 0.08  # error of a ratio that the goal allows
HOST_LOCKS, HOST_DELAYS = ("clh", "ticket", "mcs", "fine"), (4000.0, 500.0, 125.0)
MEDIAN_GOAL, WORST_GOAL = 0.12, 0.35
SPEED = {500.0: 20e6, 4000.0: 100e6}  # instructions a second of the host's CPU time, 28 cores
# The hosted port, which runs natively, does without modes, address spaces and the state of the FPU.
NOT_HOSTED = ("syscall", "sysret", "swapgs", "segment_base", "cr3", "xsave", "tlb_second", "tlb_walk")


@dataclass(frozen=True)
class Row:
    group: str  # as --rows of bench validate names it
    name: str
    unit: str
    reference: float | None = None
    source: str = ""
    modelled: float | None = None
    bounds: tuple[float, float] | None = None  # where the reference is a range, or the goal is
    goal: str = ""
    met: bool | None = None
    noisy: bool = False
    not_run: str = ""
    spread: tuple[float, float] | None = None  # `modelled` under half and double line costs
    price: float | None = None  # the machine file's price
    kind: str = "predicted"
    machine: ModelledMachine | None = None  # the row's owner; None: that of its group

    @property
    def error(self) -> float | None:
        return None if self.modelled is None or not self.reference else self.modelled / self.reference - 1

    def to_json(self, machine: ModelledMachine) -> dict[str, Any]:
        metrics = {"reference": self.reference, "modelled": self.modelled, "error": self.error, "price": self.price}
        entry: dict[str, Any] = {
            "workload": "validate", "system": "skerry", "emulated": True, "row": self.name, "group": self.group,
            "unit": self.unit, "metrics": {name: value for name, value in metrics.items() if value is not None},
            "source": self.source, "basis": self.kind, "modelled": (self.machine or machine).to_json(),
        }
        spread = {"modelled": self.spread} if self.spread else None
        more = {"bounds": self.bounds, "range": spread, "goal": self.goal, "met": self.met, "noisy": self.noisy,
                "not_run": self.not_run}
        return entry | {name: value for name, value in more.items() if value not in (None, "", False) or name == "met"}


def ranged(make: Callable[[float], Iterable[Row]], factors: Sequence[float] = (1.0,)) -> Iterator[Row]:
    """The rows at the machine file's line costs, each with its spread over all `factors` of these costs.

    `make` yields the same rows in the same order for every factor; the first factor is 1.
    """
    assert factors[0] == 1.0
    for row, *others in zip(*map(make, factors), strict=True):
        assert all(other.name == row.name for other in others)
        values = [one.modelled for one in (row, *others) if one.modelled is not None]
        yield replace(row, spread=(min(values), max(values))) if others and values else row


def within(name: str, unit: str, bounds: tuple[float, float], modelled: float, source: str,
           goal: str = "inside") -> Row:
    low, high = bounds
    return Row("paper", name, unit, None, source, modelled, bounds, goal, low <= modelled <= high)


def close(group: str, name: str, unit: str, aim: float, modelled: float, source: str, goal: float,
          noisy: bool = False) -> Row:
    return Row(group, name, unit, aim, source, modelled, None, f"<= {goal:.0%}", abs(modelled / aim - 1) <= goal, noisy)


def against(group: str, name: str, unit: str, paper: Published | Between, modelled: float, goal: float = 0.0) -> Row:
    """`goal`: how far off the published value is allowed to be; where a range is published, inside."""
    if isinstance(paper, Between):
        return Row(group, name, unit, None, paper.source, modelled, (paper.low, paper.high), "inside",
                   paper.low <= modelled <= paper.high)
    return close(group, name, unit, paper.value, modelled, paper.source, goal)


# ---- the papers' machine ----

Measure = Callable[[experiment.Request], list[Point]]


def measure(request: experiment.Request) -> list[Point]:
    assert request.modelled
    bench = Bench(run.mode(request.modelled), Patience(1200.0), stepped=True)
    return experiment.measure(experiment.case(request), bench)


def at_line_cost(scale: Measure, factor: float) -> Measure:
    return lambda request: scale(replace(request, line_factor=factor))


def paper_rows(machine: ModelledMachine, rounds: int, scale: Measure = measure) -> Iterator[Row]:
    """Yields the rows of the paper; only for the machine file of the papers' Xeon."""
    socket, most = machine.cores_per_socket, machine.cores
    sizes = [n for n in (1, 2, 4, 6, 8, 10, 12, 14) if n <= socket]
    points = scale(experiment.Request("clh", sizes, [2000.0], rounds, modelled=machine))
    (curve,) = curves(points)
    fitted = fitting.fit(curve)
    yield close("paper", "service time of the lock, one socket, delay 2,000", "cycles", published.SERVICE,
                fitted.service.value, f"{PAPER}, 5.1.2: least squares, up to 14 cores", 0.05)
    delays = [500.0, 4000.0, 8000.0, 16000.0, 32000.0]
    points = scale(experiment.Request("clh", [1, socket, most], delays, rounds, modelled=machine))
    at = {(point.cores, point.delay): point.throughput for point in points}
    for cores, where in ((socket, "one socket"), (most, "two sockets")):
        yield within(f"saturated: cycles for each entry, {where}, delay 500", "cycles", published.BOUNDS,
                     1 / at[cores, 500.0], f"{PAPER}, 5.1.2: least and most mean holding time")
    yield _span(at, most)


def spanning_delay(at: Mapping[tuple[int, float], float], cores: int) -> float:
    """The mean delay from which on a workload scales to so many cores, by the paper's own measure.

    At a delay of 4,000 it calls 14 cores scaling; by its fit each of them does a certain part then of what one does
    alone. The delay at which all cores do that part, between those that were measured, on a logarithmic scale.
    """
    def part(one: float, all_cores: float, count: int) -> float:
        return all_cores / (count * one)

    fit = [repairman.steady(published.SERVICE, published.SPANS_SOCKET, n).throughput for n in (1, published.SOCKET)]
    least = part(fit[0], fit[1], published.SOCKET)
    delays = sorted({delay for n, delay in at if n == cores})
    parts = [part(at[1, delay], at[cores, delay], cores) for delay in delays]
    for place in range(1, len(delays)):
        below, above = parts[place - 1], parts[place]
        if below < least <= above:
            share = (least - below) / (above - below)
            return float(math.exp(math.log(delays[place - 1]) + share * math.log(delays[place] / delays[place - 1])))
    return delays[0] if parts[0] >= least else math.inf


def _span(at: Mapping[tuple[int, float], float], cores: int) -> Row:
    delay, paper = spanning_delay(at, cores), published.SPANS_MACHINE
    row = Row("paper", "delay from which on a workload scales to both sockets", "cycles", paper, f"{PAPER}, 5.1.3",
              None if math.isinf(delay) else delay, None, "inside a factor of 1.5", paper / 1.5 <= delay <= paper * 1.5)
    return row if row.modelled else replace(row, met=False,
                                            not_run="more than the longest delay that was measured, 32,000")


def figure_rows(machine: ModelledMachine, rounds: int, scale: Measure = measure) -> Iterator[Row]:
    """Figures 4 and 5, all points. Of Figure 4 the text has the lines: the fit within a socket, two bounds beyond
    it."""
    socket, most = machine.cores_per_socket, machine.cores
    sizes = [n for n in (1, 2, 4, 8, 14, 16, 20, 28) if n <= most]
    for point in scale(experiment.Request("clh", sizes, ranges.delays(published.DELAYS), rounds, modelled=machine)):
        name = f"Figure 4: delay {point.delay:g}, {point.cores} cores"
        unit, ours = "entries in 1,000 cycles", 1000 * point.throughput
        slow, fast, fit = (
            1000 * repairman.steady(service, point.delay, point.cores).throughput
            for service in (*reversed(published.BOUNDS), published.SERVICE)
        )
        if point.cores <= socket:
            yield close("figures", name, unit, fit, ours, f"{PAPER}, Figure 4a: fit with a service time of 358", 0.1)
        else:
            yield Row("figures", name, unit, None, f"{PAPER}, Figure 4b: bounds for 613 and 323 cycles", ours,
                      (slow, fast), "inside", slow <= ours <= fast)
    yield _peak(machine, rounds, scale)
    at = {}
    for lock in ("clh", "fine", "rtm"):
        for point in scale(experiment.Request(lock, [1, socket, most], [published.SPANS_SOCKET], rounds,
                                              modelled=machine)):
            at[lock, point.cores] = point.throughput
    yield against("figures", f"Figure 5: fine, {most} cores over one", "times", papers.FIGURE_5_FINE,
                 at["fine", most] / at["fine", 1], 0.05)
    rtm, fine = (at[lock, most] / at[lock, 1] for lock in ("rtm", "fine"))
    yield against("figures", f"Figure 5: rtm over fine, each over its own core, {most} cores", "times",
                 papers.FIGURE_5_RTM, rtm / fine, 0.05)
    share = at["clh", most] / at["clh", socket]
    yield Row("figures", f"Figure 5: clh, {most} cores over {socket}", "times", None,
              f"{PAPER}, 5.1.4: a lower plateau on both sockets", share, (0.0, 1.0), "below 1", share < 1)


def _peak(machine: ModelledMachine, rounds: int, scale: Measure) -> Row:
    """On how many cores the curve of a delay of 1,000 cycles has its maximum."""
    paper = papers.FIGURE_4_PEAK
    sizes = list(range(4, machine.cores_per_socket + 1))
    points = scale(experiment.Request("clh", sizes, [1000.0], rounds, modelled=machine))
    best = max(points, key=lambda point: point.throughput).cores
    return Row("figures", "Figure 4: delay 1,000, cores of the peak", "cores", paper.value, paper.source, float(best),
               None, "within 2 cores", abs(best - paper.value) <= 2)


def ipc_rows(machine: ModelledMachine, rounds: int) -> Iterator[Row]:
    """One-way IPC of each lock over none, on one core."""
    accel = run.mode(machine)
    locks = (BASELINE, *ipc.FIGURE_RATIOS)
    alone = {lock: ipc.measure(lock, accel, rounds, Patience(1200.0), machine).spread[ONE_WAY].median for lock in locks}
    for lock, paper in ipc.FIGURE_RATIOS.items():
        name, goal = f"one core, one-way IPC: {lock} / none", "within 0.08"
        ratio = alone[lock] / alone[BASELINE]
        yield Row("paper", name, "ratio", paper, f"{PAPER}, Figure 3", ratio, None, goal,
                  abs(ratio - paper) <= FIGURE_3_POINTS)


# ---- this host's own cores ----


def hosted(machine: ModelledMachine) -> ModelledMachine:
    """Returns the machine without the prices of operations that the hosted port does not do."""
    free = Price(0.0, "the hosted port does without")
    return replace(machine,
                   prices={name: free if name in NOT_HOSTED else price for name, price in machine.prices.items()})


@dataclass(frozen=True)
class Native:
    """Measured: mean cycles of an entry on one core and on two."""

    alone: float
    both: float
    noisy: bool = False


def host_rows(
    machine: ModelledMachine, native: Mapping[tuple[str, float], Native], rounds: int, scale: Measure = measure
) -> Iterator[Row]:
    """Yields rows with the second core's effect modelled; the time of one core alone is measured."""
    known: dict[tuple[str, float], tuple[float, float]] = {}
    for lock in HOST_LOCKS:
        points = scale(experiment.Request(lock, [1, 2], HOST_DELAYS, rounds, modelled=hosted(machine)))
        at = {(point.cores, point.delay): point.throughput for point in points}
        for delay in HOST_DELAYS:
            of = native[lock, delay]
            predicted = of.alone + 2 / at[2, delay] - 1 / at[1, delay]
            known[lock, delay] = (predicted, of.both)
            yield replace(close("host", f"this host, 2 cores, {lock}, delay {delay:g}: cycles of an entry", "cycles",
                                of.both, predicted,
                                f"measured here (bench scale --native); one core {of.alone:.0f}", WORST_GOAL),
                                noisy=of.noisy)
    yield from host_summary(known, any(of.noisy for of in native.values()))


def host_summary(known: Mapping[tuple[str, float], tuple[float, float]], noisy: bool) -> Iterator[Row]:
    errors = [abs(predicted / measured - 1) for predicted, measured in known.values()]
    for name, value, goal in (("median", median(errors), MEDIAN_GOAL), ("worst", max(errors), WORST_GOAL)):
        yield Row("host", f"this host, 2 cores: {name} error of {len(errors)}", "share", None, "the rows above", value,
                  (0, goal), f"<= {goal:.0%}", value <= goal, noisy)
    right = sum(_order(known, delay, 0) == _order(known, delay, 1) for delay in HOST_DELAYS)
    yield Row("host", "this host, 2 cores: delays at which the order of the locks is right", "of 3",
              float(len(HOST_DELAYS)), "the rows above", float(right), None, "all", right == len(HOST_DELAYS), noisy)


def _order(known: Mapping[tuple[str, float], tuple[float, float]], delay: float, which: int) -> list[str]:
    return sorted(HOST_LOCKS, key=lambda lock: known[lock, delay][which])


def native_of(entries: Sequence[Mapping[str, Any]], real: bool) -> dict[tuple[str, float], Native]:
    """From what bench scale --native measures (native_scale.measure)."""
    by_key: dict[tuple[str, float], dict[int, Mapping[str, Any]]] = {}
    for entry in entries:
        by_key.setdefault((entry["lock"], entry["metrics"]["delay_cycles"]), {})[entry["cores"]] = entry

    def spread(entry: Mapping[str, Any]) -> bool:
        low, high = entry["min_max"]["kernel_cycles"]
        return bool(high - low > 0.25 * entry["metrics"]["kernel_cycles"]) or entry["disturbed_runs"] > 0

    return {
        key: Native(of[1]["metrics"]["kernel_cycles"], of[2]["metrics"]["kernel_cycles"],
                    not real or spread(of[1]) or spread(of[2]))
        for key, of in by_key.items()
    }


# ---- how fast it is ----


def _cpu_time() -> float:
    """Returns the processor time of all children that have ended, the emulators."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def speed_rows(machine: ModelledMachine, rounds: int, scale: Measure = measure) -> Iterator[Row]:
    """Instructions in a second of the host's CPU time; two runs of different lengths, so that the boot does not count.

    `rounds` of each core, in the shorter one.
    """
    for delay, goal in SPEED.items():
        taken = []
        for length in (rounds * machine.cores, 3 * rounds * machine.cores):
            before = _cpu_time()
            (point,) = scale(experiment.Request("clh", [machine.cores], [delay], length, modelled=machine))
            taken.append((point.metrics["instructions"], _cpu_time() - before))
        (few, short), (many, long) = taken
        row = Row("speed", f"speed, {machine.cores} cores, delay {delay:g}", "instructions/s", None,
                  "CPU time of the emulator here", goal=f">= {goal / 1e6:g} million")
        if long - short < 0.1 * long:
            yield replace(row, not_run="the host's CPU times say nothing: too little was run")
            continue
        rate = (many - few) / (long - short)
        yield replace(row, modelled=rate, met=rate >= goal)


def compare_row() -> Row:
    return Row("compare", "compare, 2 x 14, both layouts, three price levels", "min", None, "",
               goal="<= 8; --quick <= 3", not_run="takes minutes: time ./skerry compare --machine xeon-e5-2683v3")
