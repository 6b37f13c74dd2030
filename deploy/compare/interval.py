# SPDX-License-Identifier: BSD-2-Clause
"""Intervals of a ratio at 95 %, from its values on some images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import mean, stdev

# The 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
      2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip


def _quantile(freedom: int) -> float:
    return _T[freedom - 1] if freedom <= len(_T) else 1.960 + 2.46 / freedom


_MOST = 500.0  # of a logarithm: what programs print has ratios below it, and its number can be drawn


def factor(logarithm: float) -> float:
    """Returns the number of a natural logarithm, within what can be drawn: programs may print anything."""
    return exp(max(-_MOST, min(_MOST, logarithm)))


@dataclass(frozen=True)
class Interval:
    low: float
    high: float

    @property
    def undecided(self) -> bool:
        """Whether 1 is within: neither side does more for certain."""
        return self.low <= 1 <= self.high

    def __str__(self) -> str:
        return f"{self.low:.2f} to {self.high:.2f}"


def prediction(ratios: Sequence[float]) -> Interval | None:
    """Returns where the ratio of one more image lies with a probability of 95 %, if logarithms of ratios are normal: a
    t-interval of a prediction, mean ± t s √(1 + 1/n). None for fewer than two."""
    return _around_mean(ratios, 1.0)


def of_mean(ratios: Sequence[float]) -> Interval | None:
    """Returns where the mean over all images lies: a t-interval of the mean of logarithms, mean ± t s √(1/n)."""
    return _around_mean(ratios, 0.0)


def _around_mean(ratios: Sequence[float], more: float) -> Interval | None:
    if len(ratios) < 2:
        return None
    logs = [log(ratio) for ratio in ratios]
    half = _quantile(len(logs) - 1) * stdev(logs) * sqrt(more + 1 / len(logs))
    return Interval(factor(mean(logs) - half), factor(mean(logs) + half))
