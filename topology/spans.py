# SPDX-License-Identifier: BSD-2-Clause
"""Lists of numbers as Linux and libvirt write them: 0-2,5."""

from collections.abc import Iterable

from topology.foreign import NUMBERS


def format_spans(numbers: Iterable[int]) -> str:
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return ",".join(f"{a}-{b}" if a < b else str(a) for a, b in spans)


def parse_spans(text: str) -> set[int]:
    """Raises ValueError for anything else, and for more numbers, or larger ones, than machines have."""
    numbers: set[int] = set()
    left = NUMBERS
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        span = range(int(first), int(last or first) + 1)
        left -= len(span) if span.stop <= NUMBERS else NUMBERS
        if span.stop > NUMBERS or left < 0:
            raise ValueError(f"'{part.strip()[:40]}': more than {NUMBERS} numbers, or one above {NUMBERS - 1}")
        numbers |= set(span)
    return numbers
