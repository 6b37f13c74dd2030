# SPDX-License-Identifier: BSD-2-Clause
"""Lists of numbers as people write them: `4000`, `500,4000`, `500..32000`."""

import math
import re

from topology.errors import InputError

MOST_CORES = 1024
MOST_DELAYS = 64
LEAST_CYCLES, MOST_CYCLES = 1e-6, 1e12


def cores(text: str, option: str = "--cores") -> list[int]:
    """`1..28` is every number of cores from 1 to 28."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:\.\.(\d{1,9}))?\s*", part)
        if not match:
            raise InputError(option, f"'{part.strip()}' is neither a number of cores nor a range as 1..28")
        low, high = int(match[1]), int(match[2] or match[1])
        if not 1 <= low <= high <= MOST_CORES:
            raise InputError(option, f"'{part.strip()}' is not within 1..{MOST_CORES}, lower end first")
        numbers += range(low, high + 1)
    return sorted(set(numbers))


def delays(text: str, option: str = "--delay") -> list[float]:
    """`500..32000` doubles: 500, 1000, 2000 ... as the papers' figures do; the upper end always belongs to it."""
    values: list[float] = []
    for part in text.split(","):
        low_text, dots, high_text = part.partition("..")
        low = cycles(low_text, option)
        if not dots:
            values.append(low)
            continue
        high = cycles(high_text, option)
        if not 0 < low <= high:
            raise InputError(option, f"'{part.strip()}' does not go from a number above 0 upwards")
        doublings = math.ceil(math.log2(high / low) - 1e-9)
        values += [low * 2**i for i in range(doublings)] + [high]
    if len(set(values)) > MOST_DELAYS:
        raise InputError(option, f"{len(set(values))} delays; {MOST_DELAYS} are the most")
    return sorted(set(values))


def cycles(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(option, f"'{text.strip()}' is not a number of cycles") from None
    return at_least_0(value, option)


def positive(value: float, option: str) -> float:
    if not LEAST_CYCLES <= value <= MOST_CYCLES:
        raise InputError(option, f"{value:g} is too large" if value > MOST_CYCLES else f"{value:g} is not above 0")
    return value


def at_least_0(value: float, option: str) -> float:
    if not 0 <= value <= MOST_CYCLES:  # refuses nan as well
        raise InputError(option, f"{value:g} is not between 0 and {MOST_CYCLES:.0e}")
    return value


def probability(value: float, option: str) -> float:
    if not 0 <= value <= 1:  # refuses nan as well
        raise InputError(option, f"{value:g} is not between 0 and 1")
    return value


def bounds(text: str, option: str = "--bounds") -> tuple[float, float] | None:
    """`323,613`: the least and the most service time; `none`."""
    if text.strip() == "none":
        return None
    low, comma, high = text.partition(",")
    limits = cycles(low, option), cycles(high, option) if comma else 0.0
    if not 0 < limits[0] <= limits[1]:
        raise InputError(option, f"'{text}' is not two service times, the smaller first, as 323,613")
    return limits
