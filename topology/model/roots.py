# SPDX-License-Identifier: BSD-2-Clause
"""Roots of functions of one variable."""

from collections.abc import Callable

STEPS = 60  # of a bisection


def root(function: Callable[[float], float], low: float, high: float) -> float | None:
    """Returns the root between two points; None where the function has one sign at both."""
    at_low = function(low)
    if at_low * function(high) > 0:
        return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if at_low * function(middle) > 0 else (low, middle)
    return (low + high) / 2
