# SPDX-License-Identifier: BSD-2-Clause
"""Lists of numbers as Linux and libvirt write them: 0-2,5."""

from collections.abc import Iterable


def format_spans(numbers: Iterable[int]) -> str:
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return ",".join(f"{a}-{b}" if a < b else str(a) for a, b in found)


def parse_spans(text: str) -> set[int]:
    """Raises ValueError for anything else."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
