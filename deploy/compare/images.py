# SPDX-License-Identifier: BSD-2-Clause
"""One layout beside another on several images, which differ in what no program chooses.

An image is a kernel and a salt. The first image has the kernel that is built, each other one that kernel linked anew,
its objects in an order of its own (deploy/setup/relink.py). The salt draws inside the emulator: places of code in
caches of instructions, colours of caches, moments of starts (emulator/modelled/plugin.c). Both layouts have the same
images, so that what they share cancels out of the ratio; two runs of one layout beside each other, the control, have
different ones, or nothing would differ.

Every image has a kernel of its own, so that images are independent draws and their t-interval holds however large the
part of the kernel is in the variance, and that of the salt: in Redis's ratio 0.35 % and 1.1 % (standard deviations, of
eight kernels with two salts each). Salts of one kernel alone would leave out the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from deploy.compare.interval import Interval, of_mean, prediction
from deploy.compare.prices import RUNS
from deploy.compare.tables import ratios
from deploy.results.result import Result

IMAGES, QUICK_IMAGES = 8, 4  # by default
CONTROL_IMAGES = IMAGES + RUNS  # of a control, which has no price sets: as many runs
RANGED = ("ops_per_s", "p50_us", "p99_us")  # ratios that have an interval


@dataclass(frozen=True)
class Draw:
    """One image's results under both layouts, each with its salt, and the seed of its kernel's link; 0: as built."""

    salts: tuple[int, int]
    first: Result
    second: Result
    kernels: tuple[int, int] = (0, 0)

    @cached_property
    def ratios(self) -> dict[str, float]:
        return ratios(self.first, self.second)

    def to_json(self) -> dict[str, Any]:
        figures = {metric: [self.first.metrics[metric], self.second.metrics[metric]] for metric in RANGED}
        return {"kernels": list(self.kernels), "salts": list(self.salts), "ratio": self.ratios["ops_per_s"]} | figures


@dataclass(frozen=True)
class Spread:
    """A ratio over images: its median, where one more image's lies, and where the mean of all lies."""

    median: float
    interval: Interval | None
    mean: Interval | None

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(median(values), prediction(values), of_mean(values))

    @property
    def whiskers(self) -> tuple[float, float]:
        """Returns how far the interval reaches below and above the median."""
        low, high = (self.interval.low, self.interval.high) if self.interval else (self.median, self.median)
        return max(0.0, self.median - low), max(0.0, high - self.median)

    def to_json(self) -> dict[str, float]:
        known = {"": self.interval, "mean_": self.mean}
        return {"median": self.median} | {f"{name}{end}": getattr(interval, end) for name, interval in known.items()
                                          if interval for end in ("low", "high")}

    def __str__(self) -> str:
        return f"{self.median:.3f}" + (f" ({self.interval.low:.3f} to {self.interval.high:.3f})"
                                       if self.interval else "")


@dataclass(frozen=True)
class Images:
    draws: tuple[Draw, ...]

    @property
    def control(self) -> bool:
        """Whether both sides are the same layout, whose ratio must be 1."""
        return any(draw.salts[0] != draw.salts[1] for draw in self.draws)

    def spread(self, metric: str) -> Spread:
        return Spread.of([draw.ratios[metric] for draw in self.draws])

    def spreads(self, metrics: Iterable[str] = RANGED) -> dict[str, Spread]:
        return {metric: self.spread(metric) for metric in metrics}

    def to_json(self) -> dict[str, Any]:
        spreads = {metric: spread.to_json() for metric, spread in self.spreads().items()}
        return {"count": len(self.draws), "level": 0.95, **spreads, "draws": [draw.to_json() for draw in self.draws]}
