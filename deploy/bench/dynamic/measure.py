# SPDX-License-Identifier: BSD-2-Clause
"""Uhlig's figures (2007, "The Mechanics of In-Kernel Synchronization"): which series each has, and what is measured of
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from deploy.bench.dynamic import forkjoin
from deploy.bench.ipc import measure as ipc
from deploy.bench.regimes import BASELINE
from deploy.bench.scale import measure as scale
from deploy.bench.scale.measure import Point
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.request import split
from deploy.results.result import Result
from topology.maps.clustermap import COARSE, FINE
from topology.model.papers import UHLIG_FIGURE_6, UHLIG_FIGURE_7

IPC, FORK_JOIN, UNMAP, LOAD, WAKE = "6", "7", "8", "load", "wake"
TITLES = {
    IPC: "Figure 6: IPC on one core",
    FORK_JOIN: "Figure 7: fork and join",
    UNMAP: "Figure 8: unmapping by several cores at once",
    LOAD: "Beyond the paper: granularity under load",
    WAKE: "Beyond the paper: one call that wakes all workers",
}
UNIPROCESSOR, MESSAGES, LOCKS = "UP", "msg", "lock"  # the paper's series


@dataclass(frozen=True)
class Series:
    name: str  # in tables, plots and results
    kernel: str  # a lock regime
    # that the root task has its kernel take before anything is measured, where there is a choice
    granularity: str | None
    paper: str  # the paper's name of it; empty: not in the paper
    figures: Sequence[str]
    local: bool = False  # objects are at home on the core of their threads, so that calls of others travel
    at_once: bool = False  # one system call signals all workers


SERIES = (
    Series("none", BASELINE, None, UNIPROCESSOR, (IPC,)),
    Series("messages", "dynamic", FINE, MESSAGES, (IPC, FORK_JOIN, LOAD), local=True),
    Series("dynamic coarse", "dynamic", COARSE, "", (IPC, FORK_JOIN, LOAD)),
    Series("dynamic fine", "dynamic", FINE, LOCKS, (IPC, FORK_JOIN, LOAD)),
    Series("clh", "clh", None, "", (IPC, LOAD, WAKE)),
    Series("clh, one call", "clh", None, "", (WAKE,), at_once=True),
    Series("fine", "fine", None, "", (IPC, LOAD, WAKE)),
    Series("fine, one call", "fine", None, "", (WAKE,), at_once=True),
)


def of(figure: str) -> list[Series]:
    """The first of Figure 6 is the one beside which the others stand."""
    return [one for one in SERIES if figure in one.figures]


def figures(text: str | None) -> list[str]:
    """Returns the figures that --figure names, or all."""
    if text is None:
        return list(TITLES)
    named = split("--figure", text, TITLES)
    return [figure for figure in TITLES if figure in named]


# ---- Figure 6 ----

INTER, INTRA = "inter", "intra"  # address spaces
WAYS = {INTER: ("call", "reply_recv"), INTRA: ("call_same_vspace", "reply_recv_same_vspace")}
SPACES = {INTER: "between two address spaces", INTRA: "within one address space"}


@dataclass(frozen=True)
class Ipc:
    series: Series
    measured: ipc.Measured

    @property
    def unit(self) -> str:
        return self.measured.unit

    def one_way(self, spaces: str) -> float:
        """The mean of Call and ReplyRecv without words."""
        return sum(self.measured.spread[name].median for name in WAYS[spaces]) / len(WAYS[spaces])

    def over(self, base: Ipc, spaces: str) -> float:
        return self.one_way(spaces) / base.one_way(spaces)

    def to_json(self) -> dict[str, Any]:
        entry = self.measured.to_json() | names(IPC, self.series)
        return entry | {"metrics": entry["metrics"]
                        | {ipc.metric(where, self.unit): self.one_way(where) for where in WAYS}}


def published_ipc(series: Series, spaces: str) -> float | None:
    """The paper's time over that of its kernel for one processor."""
    published = UHLIG_FIGURE_6.get((spaces, series.paper))
    return published.value if published else None


def bases(rows: Iterable[Ipc]) -> dict[str, Ipc]:
    """Returns the kernel for one core, by unit."""
    return {row.unit: row for row in rows if row.series.kernel == BASELINE}


def ipc_ratios(rows: Sequence[Ipc]) -> list[dict[str, Any]]:
    ratios = []
    for row in rows:
        if (base := bases(rows)[row.unit]) is row:
            continue
        metrics = {ipc.metric(where, row.unit): row.over(base, where) for where in WAYS}
        published = {ipc.metric(where, row.unit): value for where in WAYS
                     if (value := published_ipc(row.series, where))}
        ratios.append({
            "of": row.series.name, "to": base.series.name, "workload": "ipc", "figure": IPC, "metrics": metrics,
            "emulated": row.measured.emulated,
        } | ({"published": published} if published else {}))
    return ratios


# ---- Figure 7, and one call that wakes all workers ----

@dataclass(frozen=True)
class ForkJoin:
    """One series on so many cores: its latency, and the least and the most at other line costs."""

    series: Series
    latency: forkjoin.Latency
    machine: ModelledMachine
    range: tuple[float, float] | None = None
    figure: str = FORK_JOIN  # or WAKE

    @property
    def cores(self) -> int:
        return self.latency.cores

    def to_json(self) -> dict[str, Any]:
        metrics = {
            "signal_to_last_cycles": self.latency.running, "signals_made_cycles": self.latency.signalled,
            "rounds": len(self.latency.rounds),
        }
        entry = Result(
            layout="spanning", lock=self.series.name, workload="forkjoin", clusters=1, cores=self.cores, emulated=True,
            metrics=metrics, per_core=[],
        ).to_json()
        entry |= names(self.figure, self.series) | {"modelled": self.machine.to_json(),
                                                  "min_max": {"signal_to_last_cycles": list(self.latency.extent)}}
        return entry | ({"range": {"signal_to_last_cycles": list(self.range)}} if self.range else {})


class Priced(Protocol):
    """A measurement of one point at one price of moving lines."""

    @property
    def line_factor(self) -> float: ...


P = TypeVar("P", bound=Priced)


def at_plain_costs(measured: Iterable[P], key: Callable[[P], Any],
                   cycles: Callable[[P], float]) -> Iterator[tuple[P, tuple[float, float] | None]]:
    """Yields each point at plain line costs, with its range where there are other costs."""
    by_key: dict[Any, list[P]] = {}
    for one in measured:
        by_key.setdefault(key(one), []).append(one)
    for all_costs in by_key.values():
        values = [cycles(one) for one in all_costs]
        plain = next(one for one in all_costs if one.line_factor == 1)
        yield plain, (min(values), max(values)) if len(values) > 1 else None


def fork_joins(series: Series, machine: ModelledMachine, latencies: Iterable[forkjoin.Latency],
               figure: str = FORK_JOIN) -> list[ForkJoin]:
    """One for each number of cores."""
    by_cores = at_plain_costs(latencies, lambda one: one.cores, lambda one: one.running)
    return [ForkJoin(series, plain, machine, extent, figure) for plain, extent in by_cores]


@dataclass(frozen=True)
class Beside:
    """Messages and locks on so many cores: how many times longer messages take, here and in the paper."""

    messages: ForkJoin
    locks: ForkJoin

    @property
    def ours(self) -> float:
        return self.messages.latency.running / self.locks.latency.running

    @property
    def published(self) -> float | None:
        published = UHLIG_FIGURE_7.get(self.locks.cores)
        return published.value if published else None

    def to_json(self) -> dict[str, Any]:
        metric = "signal_to_last_cycles"
        entry = {
            "of": f"{self.messages.series.name}, {self.messages.cores} cores", "to": self.locks.series.name,
            "workload": "forkjoin", "figure": FORK_JOIN,
            "cores": self.locks.cores, "metrics": {metric: self.ours}, "emulated": True,
        }
        return entry | ({"published": {metric: self.published}} if self.published else {})


def pairs(rows: Iterable[ForkJoin]) -> list[Beside]:
    """Returns messages beside locks for each number of cores; empty where one of the two was not measured."""
    by = {(row.series.paper, row.cores): row for row in rows}
    return [Beside(by[MESSAGES, row.cores], row) for (paper, _),
            row in by.items() if paper == LOCKS and (MESSAGES, row.cores) in by]


# ---- granularity under load ----

DELAY = 500.0  # cycles: the shortest of Elphinstone's Figure 4, where cores meet most often


@dataclass(frozen=True)
class Load:
    """One series on so many cores."""

    series: Series
    point: Point
    machine: ModelledMachine
    range: tuple[float, float] | None = None  # entries in a cycle

    def to_json(self) -> dict[str, Any]:
        entry = self.point.to_json() | names(LOAD, self.series) | {"modelled": self.machine.to_json()}
        return entry | ({"range": {"throughput_per_cycle": list(self.range)}} if self.range else {})


def request(series: Series, cores: Sequence[int], rounds: int, machine: ModelledMachine,
            line_factor: float) -> scale.Request:
    return scale.Request(
        series.kernel, cores, [DELAY], rounds, modelled=machine, line_factor=line_factor,
        granularity=series.granularity, local=series.local,
    )


def loads(series: Series, machine: ModelledMachine, points: Sequence[Point]) -> list[Load]:
    ranged: Mapping[scale.Key, tuple[float, float]] = scale.ranges_of(points)
    return [Load(series, point, machine, ranged.get(scale.key_of(point))) for point in points if point.line_factor == 1]


def crossing(rows: Iterable[Load], first: str, second: str) -> int | None:
    """The fewest cores at which the series `second` does more than `first`; None: at none that was measured."""
    by = {(row.series.name, row.point.cores): row.point.throughput for row in rows}
    sizes = [cores for name, cores in by if name == second and by[second, cores] > by.get((first, cores), float("inf"))]
    return min(sizes, default=None)


def names(figure: str, series: Series) -> dict[str, Any]:
    """Returns the keys that place an entry of the results. Its lock is the series; kernel and granularity say of
    what."""
    entry: dict[str, Any] = {"figure": figure, "lock": series.name, "kernel": series.kernel}
    return entry | ({"granularity": series.granularity} if series.granularity else {}) | ({"local": True}
        if series.local else {})
