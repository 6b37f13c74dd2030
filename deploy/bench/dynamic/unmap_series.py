# SPDX-License-Identifier: BSD-2-Clause
"""Uhlig's Figure 8 and what his sections 4.2 and 4.3 say of it: its series, what follows from them, and what domains
take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deploy.base.paths import ROOT
from deploy.bench.dynamic import unmap
from deploy.bench.dynamic.measure import UNMAP, at_plain_costs
from deploy.emulator.machine_file import ModelledMachine
from deploy.results.result import Result
from topology.maps.clustermap import COARSE, FINE
from topology.model.papers import UHLIG_MAPPING_GROWTH, UHLIG_SPLIT_NODE_BYTES, UHLIG_UNMAP_MORE, UHLIG_UNMAP_OVERHEAD

KERNEL = unmap.REGIME
FLAT, LINEAR = "a", "b"  # the figure's parts
MOST_RISE, LEAST_R_SQUARED = 0.1, 0.95  # limits for (a), and for (b)
FEWEST = 3  # numbers of cores of which a line says something
SYSCALLS = ROOT / "cluster-kernel" / "include" / "skerry" / "syscall.h"


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
        return {"figure": UNMAP, "lock": self.name, "kernel": KERNEL, "granularity": self.granularity,
                "guard": self.guard} | part


EACH = Guard("each mapping", FINE, unmap.MAPPING, FLAT,
             "each core's frames are in a fine domain of its own: a lock for each mapping")
DOMAIN = Guard("one domain", FINE, unmap.DOMAIN, "", "all frames are in one coarse domain: its lock")
ALONE = Guard("kernel, fine", FINE, unmap.KERNEL, "",
              "all frames are in the kernel's own domain, and the kernel is fine: each call stops all cores")
ONE = Guard("kernel, coarse", COARSE, unmap.KERNEL, LINEAR,
            "all frames are in the kernel's own domain, and the kernel is coarse: its one lock")
GUARDS = (EACH, ONE, DOMAIN, ALONE)


@dataclass(frozen=True)
class Unmap:
    """One series with so many pages on so many cores."""

    series: Guard
    calls: unmap.Calls
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


def rows_of(series: Guard, machine: ModelledMachine | None, measured: Iterable[unmap.Calls]) -> list[Unmap]:
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
    text = SYSCALLS.read_text()
    by_name = {}
    for name in ("SLOT", "DOMAIN"):
        match = re.search(rf"\b{name}_BITS = (\d+),", text)
        assert match, f"{SYSCALLS}: no {name}_BITS"
        by_name[name.lower()] = 1 << int(match[1])
    return by_name


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
