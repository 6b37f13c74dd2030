# SPDX-License-Identifier: BSD-2-Clause
"""How far a ratio depends on prices of the modelled machine that are not known: a design of experiments.

Prices form groups that move together, each from its prices' `low` (-1) to their `high` (1). A two-level design of
Plackett and Burman (Biometrika 33, 1946) says how much each group moves the logarithm of a ratio. The interval is of
price sets in which each group has a position of its own, all of them equally likely (a price's logarithm, then).

The two levels lie inside the intervals, at the points of Gauss's quadrature.

A ratio of operations per second bends near 1 and near the most that it can be, where no line can follow it. What a run
measures of both layouts' times does not bend: cycles are sums of prices. So the times are fitted, the closed model
(closed.py) says the ratio of them, and the line is of what it leaves over. Locks without a model have the line alone.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import log, sqrt
from operator import mul
from statistics import mean
from typing import Any

from deploy.compare.closed import Model
from deploy.compare.interval import Interval, factor
from deploy.emulator.machine_file import ModelledMachine

RUNS = 12
LEVEL = 1 / sqrt(3)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "cpi_user": ("cpi_user",),
    "cpi_kernel": ("cpi_kernel",),
    "tlb_walk": ("tlb_second", "tlb_walk"),
    "cr3": ("cr3",),
    "entry": ("syscall", "sysret", "swapgs", "segment_base", "wrmsr", "xsave", "transaction_begin",
              "transaction_commit", "transaction_abort"),
    "transfer": ("transfer_cluster", "transfer_socket", "transfer_machine", "l3_socket", "l3_machine"),
    "upgrade": ("upgrade_cluster", "upgrade_socket", "upgrade_machine"),
    "overlap": ("overlap_cluster", "overlap_socket", "overlap_machine"),
    "store": ("store", "reader_gap"),
    "memory": ("l2", "l3", "dram_near", "dram_far"),
    "other": ("iret", "io", "mmio", "ipi", "divide", "repeat", "atomic", "fence", "pause", "rdtsc", "cpuid"),
}
SHARE = 0.95  # of price sets, in the interval
DRAWS = 4000
NAMED = 3  # groups that the verdict names
RATE = "ops_per_s"  # what the closed model is of
_FIRST = (1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1)  # the others are this row shifted, and one at the low ends

Positions = Mapping[str, float]  # of each group, from -1 to 1
Ratios = Mapping[str, float]  # by metric


def groups(machine: ModelledMachine) -> list[str]:
    """Returns the groups with a price that has an interval."""
    return [group for group, names in GROUPS.items()
            if any(machine.prices[name].position is not None for name in names)]


def own_positions(machine: ModelledMachine) -> dict[str, float]:
    """Returns where each group of the machine file's own prices is between low and high: the mean of its prices."""
    found = {group: [position for name in GROUPS[group] if (position := machine.prices[name].position) is not None]
             for group in groups(machine)}
    return {group: mean(positions) for group, positions in found.items()}


def design(names: Sequence[str]) -> list[dict[str, float]]:
    """Returns the price sets of the design: each pair of groups has each pair of levels equally often."""
    columns = {name: place for place, name in enumerate(names)}
    return [{name: LEVEL * row[place] for name, place in columns.items()} for row in _rows()]


def _rows() -> list[tuple[int, ...]]:
    size = len(_FIRST)
    return [*(_FIRST[size - shift:] + _FIRST[:size - shift] for shift in range(size)), (-1,) * size]


def repriced(machine: ModelledMachine, positions: Positions) -> ModelledMachine:
    """The machine with the prices of these groups moved."""
    moved = {name: at for group, at in positions.items() for name in GROUPS[group]}
    return replace(machine, prices={name: replace(price, cycles=price.at(moved[name])) if name in moved else price
                                    for name, price in machine.prices.items()})


def cost(machine: ModelledMachine, group: str, position: float) -> float:
    """Returns what a group's prices cost at a position, on a scale of their mean on which the design's levels are -1
    and 1."""
    def total(at: float) -> float:
        return sum(price.at(at) / price.at(0) for name in GROUPS[group]
                   if (price := machine.prices[name]).position is not None)

    low, high = total(-LEVEL), total(LEVEL)
    return (2 * total(position) - low - high) / (high - low)


def _coefficients(values: Sequence[float]) -> list[float]:
    """Returns the mean of what the design's runs measured, and half the difference of each column's two levels."""
    columns = [sum(row[place] * value for row, value in zip(_rows(), values)) / RUNS for place in range(len(_FIRST))]
    return [mean(values), *columns]


def hypercube(names: Sequence[str], size: int, seed: int) -> list[dict[str, float]]:
    """Returns `size` price sets in which each group has each of as many equal parts of its interval once."""
    draw = random.Random(seed)
    columns = {}
    for name in names:
        cells = list(range(size))
        draw.shuffle(cells)
        columns[name] = [2 * (cell + draw.random()) / size - 1 for cell in cells]
    return [{name: columns[name][place] for name in names} for place in range(size)]


_TIMES, _LEAST = ("user", "hold", "handover", "entries"), 0.01  # of a layout in closed.py; no time is less


@dataclass(frozen=True)
class Queues:
    """The times of both layouts as linear functions of the groups' costs, and the closed model of them."""

    machine: ModelledMachine
    model: Model  # of one run: its cores
    groups: Sequence[str]
    lines: Sequence[Sequence[float]]  # of each of _TIMES of the first layout, then of the second: constant, slopes

    @staticmethod
    def of(machine: ModelledMachine, names: Sequence[str], models: Sequence[Model]) -> Queues:
        """Fits the models of the runs of design(names)."""
        sides = [[getattr(side, time) for side in (one.first, one.second) for time in _TIMES] for one in models]
        return Queues(machine, models[0], names, [_coefficients(values) for values in zip(*sides)])

    def ratio(self, positions: Positions) -> float:
        """Returns the operations per second of the first layout over those of the second."""
        costs = [1.0, *(cost(self.machine, group, positions[group]) for group in self.groups)]
        times = [max(_LEAST, sum(map(mul, line, costs))) for line in self.lines]
        first, second = dict(zip(_TIMES, times)), dict(zip(_TIMES, times[len(_TIMES):]))
        return replace(self.model, first=replace(self.model.first, **first),
                       second=replace(self.model.second, **second)).ratio


@dataclass(frozen=True)
class Surface:
    """The logarithm of a ratio as a linear function of the groups' positions, beside what `queues` say of it."""

    middle: float
    effects: Mapping[str, float]  # from the middle of a group's interval to its high end
    residual: float  # standard deviation of what is not that function
    queues: Queues | None = None

    @staticmethod
    def of(names: Sequence[str], ratios: Sequence[float], own: tuple[Positions, float],
           queues: Queues | None = None) -> Surface:
        """Fits the ratios of design(names). `own`: positions and ratio of the machine file's own prices, which are
        in no run of the design: they, and the columns that have no group, say how well the function fits."""
        known = Surface(0.0, {}, 0.0, queues)
        middle, *coefficients = _coefficients([log(ratio) - known.at(at) for ratio, at in zip(ratios, design(names))])
        surface = Surface(middle, {name: value / LEVEL for name, value in zip(names, coefficients)}, 0.0, queues)
        positions, ratio = own
        leverage = (1 + sum((positions[name] / LEVEL) ** 2 for name in names)) / RUNS
        squares = [(log(ratio) - surface.at(positions)) ** 2 / (1 + leverage)]
        squares += [RUNS * value ** 2 for value in coefficients[len(names):]]
        return replace(surface, residual=sqrt(mean(squares)))

    def at(self, positions: Positions) -> float:
        line = self.middle + sum(effect * positions[name] for name, effect in self.effects.items())
        return line + (log(self.queues.ratio(positions)) if self.queues else 0.0)

    def ends(self, group: str) -> tuple[float, float]:
        """Returns the ratio's factors at a group's low and high ends, all others being in the middle."""
        middle = dict.fromkeys(self.effects, 0.0)
        low, high = (factor(self.at({**middle, group: end}) - self.at(middle)) for end in (-1, 1))
        return low, high

    def interval(self) -> Interval:
        """Returns what SHARE of price sets have their ratio between, with the residual in each."""
        draw = random.Random(1)
        drawn = sorted(
            self.at({name: draw.uniform(-1, 1) for name in self.effects}) + draw.gauss(0, self.residual)
            for _ in range(DRAWS)
        )
        tail = round(DRAWS * (1 - SHARE) / 2)
        return Interval(factor(drawn[tail]), factor(drawn[-1 - tail]))


@dataclass(frozen=True)
class Bar:
    """The effect of a group on the ratio: factors at the low and at the high ends of its prices."""

    group: str
    prices: Mapping[str, tuple[float, float]]  # low and high
    low: float
    high: float

    @property
    def size(self) -> float:
        return max(self.low, self.high)

    def __str__(self) -> str:
        ends = next(iter(self.prices.values()))
        cycles = f" from {ends[0]:g} to {ends[1]:g} cycles" if len(self.prices) == 1 else ""
        return f"{self.group}{cycles} (x {self.low:.2f} to x {self.high:.2f})"


@dataclass(frozen=True)
class Study:
    """The ratios of two layouts over the price sets of the design."""

    machine: ModelledMachine
    ratios: Sequence[Ratios]  # of each run of the design
    own: Ratios  # at the machine file's own prices, on the same image
    median: Ratios  # at these prices, over images, of the metrics that are asked for
    models: Sequence[Model] = ()  # of each run of the design; none of locks that have no model

    @property
    def groups(self) -> list[str]:
        return groups(self.machine)

    @cached_property
    def surfaces(self) -> dict[str, Surface]:
        """Returns the surface of each metric, moved from the design's image to the median one."""
        positions = own_positions(self.machine)
        queues = Queues.of(self.machine, self.groups, self.models) if self.models else None
        surfaces = {}
        for metric, typical in self.median.items():
            own = self.own[metric]
            surface = Surface.of(self.groups, [ratios[metric] for ratios in self.ratios], (positions, own),
                                 queues if metric == RATE else None)
            surfaces[metric] = replace(surface, middle=surface.middle + log(typical / own))
        return surfaces

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        return {metric: surface.interval() for metric, surface in self.surfaces.items()}

    def tornado(self, metric: str) -> list[Bar]:
        """Returns the groups, first the one that moves the ratio most."""
        surface = self.surfaces[metric]
        bars = [Bar(group, _ends(self.machine, group), *surface.ends(group)) for group in surface.effects]
        return sorted(bars, key=lambda bar: -bar.size)

    def sentence(self, metric: str) -> str:
        """Says which prices move the ratio."""
        bars = self.tornado(metric)
        named, rest = bars[:NAMED], bars[NAMED:]
        text = f"The ratio depends most on the price{'s' * (len(named) > 1)} {', '.join(map(str, named))}"
        if rest:
            text += (f"; each of the other {len(rest)} groups of prices moves it by {100 * (rest[0].size - 1):.1f}% at "
                     f"most")
        return f"{text}."

    def to_json(self, metric: str) -> dict[str, Any]:
        """The intervals of all metrics, and what moves this one."""
        return {
            "level": SHARE, **{name: asdict(interval) for name, interval in self.intervals.items()},
            "residual": self.surfaces[metric].residual,
            "tornado": [{"group": bar.group, "low": bar.low, "high": bar.high,
                         "prices": {name: list(ends) for name, ends in bar.prices.items()}}
                        for bar in self.tornado(metric)],
            "runs": [{"positions": positions, "ratio": ratios[metric]}
                     for positions, ratios in zip(design(self.groups), self.ratios)],
        }


def _ends(machine: ModelledMachine, group: str) -> dict[str, tuple[float, float]]:
    """Low and high of each price of a group."""
    return {name: (price.low, price.high) for name in GROUPS[group]
            if (price := machine.prices[name]).low is not None and price.high is not None}
