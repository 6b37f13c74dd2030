# SPDX-License-Identifier: BSD-2-Clause
"""A simulated throughput with its confidence interval, by batch means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

BATCHES = 20
# Student's t with BATCHES - 1 degrees of freedom, two-sided.
T_95, T_999 = 2.093, 3.883


@dataclass(frozen=True)
class Estimate:
    mean: float
    half_width: float  # of the 95 % interval

    def covers(self, value: float, t: float = T_95) -> bool:
        return abs(value - self.mean) <= self.half_width * t / T_95


def throughput(times: Sequence[float], per_batch: int) -> Estimate:
    """`times`: when each batch of `per_batch` completions ended, the first when counting began."""
    spans = [b - a for a, b in zip(times, times[1:])]
    mean = per_batch / fmean(spans)
    return Estimate(mean, mean * T_95 * stdev(spans) / fmean(spans) / math.sqrt(len(spans)))
