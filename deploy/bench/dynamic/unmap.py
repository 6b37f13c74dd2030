# SPDX-License-Identifier: BSD-2-Clause
"""How long a mapping takes to protect while other cores do so, too (Uhlig 2007, Figure 8), by apps/pingpong:
its series, what follows from them, and what domains take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import mean
from typing import Any

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench, marked_events
from deploy.bench.dynamic.measure import UNMAP, at_plain_costs
from deploy.bench.ipc import pingpong
from deploy.emulator import lockstep, run
from deploy.emulator.lockstep import Mark
from deploy.emulator.machine_file import ModelledMachine
from deploy.machine.events import Event
from deploy.results.result import Result
from topology import headers
from topology.machines.machine import default_memory
from topology.maps.clustermap import COARSE, FINE
from topology.model.papers import UHLIG_MAPPING_GROWTH, UHLIG_SPLIT_NODE_BYTES, UHLIG_UNMAP_MORE, UHLIG_UNMAP_OVERHEAD

CALL, RETURNED = 1, 2  # marks of apps/pingpong/unmap.c
ROUNDS = 4
PAGES = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # as in the paper's figure
REGIME = "dynamic"
GUARD_KERNEL, GUARD_DOMAIN, GUARD_MAPPING = "kernel", "domain", "mapping"  # the frames' guards: enum frame_guard
EVENT = "unmap"


@dataclass(frozen=True)
class Calls:
    """All calls that protect so many pages on core 0, while so many cores do the same with one page each."""

    cores: int
    pages: int
    line_factor: float
    took: tuple[int, ...]  # each call, in cycles of the modelled machine or in the kernel's instructions

    @property
    def mapping(self) -> float:
        """Returns the time of one mapping, over all calls together."""
        return mean(self.took) / self.pages

    @property
    def extent(self) -> tuple[float, float]:
        """Returns the time of one mapping in the shortest call and in the longest."""
        return min(self.took) / self.pages, max(self.took) / self.pages


@dataclass(frozen=True)
class Job:
    """One boot, with each number of cores and each number of pages."""

    granularity: str
    guard: str
    cores: Sequence[int]
    pages: Sequence[int]
    rounds: int
    machine: ModelledMachine | None  # None: instructions of the kernel are counted, on one core
    line_factor: float = 1.0


def measure(job: Job, timeout: Patience) -> list[Calls]:
    """Returns cycles of the modelled machine; without one, instructions of the kernel on one core."""
    machine = job.machine
    shape = machine.shape(max(job.cores), default_memory(machine.cores_per_socket)) if machine else None
    words = (str(job.rounds), ",".join(map(str, job.cores)), ",".join(map(str, job.pages)), job.guard)
    target = pingpong.machine(REGIME, EVENT, *words, granularity=job.granularity, shape=shape)
    bench = Bench(run.mode(machine) if machine else lockstep.mode(1), timeout, stepped=True)
    events, moments = marked_events(target, bench, machine, job.line_factor, run.POINTS)
    points = [(n, p) for n in job.cores for p in job.pages]
    return calls(points, job.rounds, job.line_factor, events.of(EVENT), moments, counted=machine is None)


def calls(
    points: Sequence[tuple[int, int]], rounds: int, line_factor: float, events: Sequence[Event],
    moments: Sequence[Mark], counted: bool
) -> list[Calls]:
    """`points`: cores and pages. `counted`: what the kernel executed on core 0 in place of the time that passed."""
    if [(event["cores"], event["pages"], event["rounds"]) for event in events] != [(n, p, rounds) for n, p in points]:
        raise Failure("unmap: the results do not have the requested numbers of cores, pages and rounds")
    lengths, results = _lengths(moments, counted), []
    for event in events:
        took = tuple(islice(lengths, event["warm_up"] + rounds))
        if len(took) != event["warm_up"] + rounds:
            raise Failure("unmap: the emulator saw fewer calls than the program made")
        results.append(Calls(event["cores"], event["pages"], line_factor, took[event["warm_up"] :]))
    if next(lengths, None) is not None:
        raise Failure("unmap: the emulator saw more calls than the program made")
    return results


def _lengths(moments: Sequence[Mark], counted: bool) -> Iterator[int]:
    if [moment.number for moment in moments] != [CALL, RETURNED] * (len(moments) // 2):
        raise Failure("unmap: the emulator did not see each call's begin and end")
    for begin, end in zip(moments[::2], moments[1::2]):
        length = end.kernel[0] - begin.kernel[0] if counted else end.clock - begin.clock
        if length <= 0:
            raise Failure("unmap: a call took no time")
        yield length


FLAT, LINEAR = "a", "b"  # the figure's parts
MOST_RISE, LEAST_R_SQUARED = 0.1, 0.95  # limits for (a), and for (b)
FEWEST = 3  # numbers of cores of which a line says something


@dataclass(frozen=True)
class Guard:
    """A series: what guards the frames that are protected."""

    name: str
    granularity: str  # the kernel's
    guard: str  # the frames'
    part: str  # the part of the paper's figure; empty: not in the paper
    means: str

    def to_json(self) -> dict[str, Any]:
        part = {"part": self.part} if self.part else {}
        return {"figure": UNMAP, "lock": self.name, "kernel": REGIME, "granularity": self.granularity,
                "guard": self.guard} | part


EACH = Guard("each mapping", FINE, GUARD_MAPPING, FLAT,
             "each core's frames are in a fine domain of its own: a lock for each mapping")
DOMAIN = Guard("one domain", FINE, GUARD_DOMAIN, "", "all frames are in one coarse domain: its lock")
ALONE = Guard("kernel, fine", FINE, GUARD_KERNEL, "",
              "all frames are in the kernel's own domain, and the kernel is fine: each call stops all cores")
ONE = Guard("kernel, coarse", COARSE, GUARD_KERNEL, LINEAR,
            "all frames are in the kernel's own domain, and the kernel is coarse: its one lock")
GUARDS = (EACH, ONE, DOMAIN, ALONE)


@dataclass(frozen=True)
class Unmap:
    """One series with so many pages on so many cores."""

    series: Guard
    calls: Calls
    machine: ModelledMachine | None  # None: instructions are counted
    range: tuple[float, float] | None = None  # a mapping's cycles at other line costs

    @property
    def unit(self) -> str:
        return "cycles" if self.machine else "instructions"

    @property
    def metric(self) -> str:
        return f"mapping_{'' if self.machine else 'kernel_'}{self.unit}"

    def to_json(self) -> dict[str, Any]:
        calls = self.calls
        entry = Result(
            layout="spanning", lock=self.series.name, workload="unmap", clusters=1, cores=calls.cores, emulated=True,
            metrics={"pages": calls.pages, self.metric: calls.mapping, "rounds": len(calls.took)}, per_core=[],
        ).to_json()
        entry |= self.series.to_json() | {"min_max": {self.metric: list(calls.extent)}}
        entry |= {"modelled": self.machine.to_json()} if self.machine else {}
        return entry | ({"range": {self.metric: list(self.range)}} if self.range else {})


def rows_of(series: Guard, machine: ModelledMachine | None, measured: Iterable[Calls]) -> list[Unmap]:
    """One for each number of cores and pages."""
    by_point = at_plain_costs(measured, lambda one: (one.cores, one.pages), lambda one: one.mapping)
    return [Unmap(series, plain, machine, extent) for plain, extent in by_point]


@dataclass(frozen=True, eq=False)
class Trend:
    """One series with so many pages, over the numbers of cores."""

    rows: Sequence[Unmap]  # by cores, ascending

    @property
    def series(self) -> Guard:
        return self.rows[0].series

    @property
    def pages(self) -> int:
        return self.rows[0].calls.pages

    @property
    def rise(self) -> float:
        """The dearest over the cheapest, less 1."""
        values = [row.calls.mapping for row in self.rows]
        return max(values) / min(values) - 1

    @property
    def per_core(self) -> float:
        """Cycles more with each core, by least squares."""
        return _line(self._points)[0]

    @property
    def r_squared(self) -> float:
        return _line(self._points)[1]

    @property
    def _points(self) -> list[tuple[float, float]]:
        return [(row.calls.cores, row.calls.mapping) for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        metrics = {"pages": self.pages, "rise_ratio": self.rise, "cycles_per_core": self.per_core,
                   "r_squared": self.r_squared}
        return self.series.to_json() | {"cores": [row.calls.cores for row in self.rows], "metrics": metrics}


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The slope of the least squares, and the share of the variance that it explains."""
    n = len(points)
    x0, y0 = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    xx, xy, yy = (sum(f(x - x0, y - y0) for x, y in points)
                  for f in (lambda x, _: x * x, lambda x, y: x * y, lambda _, y: y * y))
    return xy / xx, xy * xy / (xx * yy) if yy else 1.0


def trends(rows: Iterable[Unmap]) -> list[Trend]:
    """Returns the trends of modelled rows with enough numbers of cores, by series and pages."""
    by: dict[tuple[Guard, int], list[Unmap]] = {}
    for row in rows:
        if row.machine:
            by.setdefault((row.series, row.calls.pages), []).append(row)
    return [Trend(sorted(some, key=lambda row: row.calls.cores)) for some in by.values() if len(some) >= FEWEST]


# ---- section 4.2: one processor ----

@dataclass(frozen=True)
class OneCore:
    """The time of a mapping on one core with a lock of its own, beside that with one lock for all."""

    fine: Unmap
    coarse: Unmap

    @property
    def pages(self) -> int:
        return self.fine.calls.pages

    @property
    def more(self) -> float:
        return self.fine.calls.mapping - self.coarse.calls.mapping

    @property
    def over(self) -> float:
        return self.fine.calls.mapping / self.coarse.calls.mapping

    @property
    def published(self) -> float | None:
        published = UHLIG_UNMAP_OVERHEAD.get(self.pages)
        return published.value if published else None

    def to_json(self) -> dict[str, Any]:
        metric = self.fine.metric
        entry = {
            "of": f"{self.fine.series.name}, {self.pages} pages", "to": self.coarse.series.name, "workload": "unmap",
            "figure": UNMAP, "cores": 1,
            "pages": self.pages, "more": {metric: self.more}, "metrics": {metric: self.over}, "emulated": True,
        }
        return entry | ({"published": {metric: self.published}} if self.published else {})


def one_core(rows: Iterable[Unmap]) -> list[OneCore]:
    """Returns the pairs by unit and pages, as far as both were measured."""
    alone = {(row.unit, row.series.name, row.calls.pages): row for row in rows if row.calls.cores == 1}
    coarse = ((unit, pages, alone.get((unit, ONE.name, pages))) for unit, name, pages in alone if name == EACH.name)
    return [OneCore(alone[unit, EACH.name, pages], other) for unit, pages, other in coarse if other]


# ---- section 4.3: memory ----

def sizes() -> dict[str, int]:
    """Bytes of a slot, which has a mapping, and of a domain, as the kernel's ABI has them."""
    return {name: 1 << headers.constant(headers.KERNEL / "syscall.h", f"{name.upper()}_BITS")
            for name in ("slot", "domain")}


# ---- in words ----

def sentences(rows: Sequence[Unmap]) -> Iterator[str]:
    every = trends(rows)
    yield from _flat([trend for trend in every if trend.series.part == FLAT])
    yield from _linear([trend for trend in every if trend.series.part == LINEAR])
    for unit in ("instructions", "cycles"):
        if pairs := [pair for pair in one_core(rows) if pair.fine.unit == unit]:
            yield _beside(pairs, "modelled cycles" if unit == "cycles" else "kernel instructions")
    if rows:
        size = sizes()
        yield (
            f"Memory: a mapping grows by nothing (its slot stays at {size['slot']} bytes), a domain takes "
            f"{size['domain']}. Paper: a mapping grows by "
            f"{UHLIG_MAPPING_GROWTH.value - 1:.0%}, a split node takes {UHLIG_SPLIT_NODE_BYTES.value:g} bytes."
        )


def _pages(count: int) -> str:
    return f"{count} page{'s' if count > 1 else ''}"


def _cores(trend: Trend) -> str:
    return f"{trend.rows[0].calls.cores} to {trend.rows[-1].calls.cores} cores"


def _flat(level: Sequence[Trend]) -> Iterator[str]:
    if not level:
        return
    worst = max(level, key=lambda trend: trend.rise)
    holds = "holds" if worst.rise <= MOST_RISE else "does not hold"
    yield (
        f"(a) is flat, to {MOST_RISE:.0%} at most: {holds}. Over {_cores(worst)} a mapping rises by {worst.rise:.1%} "
        f"at most, with {_pages(worst.pages)}."
    )


def _linear(rising: Sequence[Trend]) -> Iterator[str]:
    if not rising:
        return
    worst = min(rising, key=lambda trend: trend.r_squared)
    holds = "holds" if worst.r_squared >= LEAST_R_SQUARED else "does not hold"
    steep = min(rising, key=lambda trend: trend.pages)
    yield (
        f"(b) is linear in the cores, R² at least {LEAST_R_SQUARED}: {holds}. The least R² is {worst.r_squared:.3f}, "
        f"with {_pages(worst.pages)}; each core adds {steep.per_core:,.0f} cycles with {_pages(steep.pages)}."
    )


def _beside(pairs: Sequence[OneCore], unit: str) -> str:
    costs = ", ".join(f"{pair.more:+,.0f} ({pair.over - 1:+.0%}) with {pair.pages} pages" for pair in pairs
                      if pair.published or len(pairs) == 1)
    if not costs:
        costs = f"{pairs[-1].more:+,.0f} ({pairs[-1].over - 1:+.0%}) with {pairs[-1].pages} pages"
    published = ", ".join(f"{one.value - 1:+.0%} with {pages}" for pages, one in UHLIG_UNMAP_OVERHEAD.items())
    return (
        f"On one core a lock for each mapping costs, in {unit} a mapping, beside the kernel's one lock: {costs}. "
        f"Paper: {UHLIG_UNMAP_MORE.value:+g} cycles; {published} pages."
    )
