# SPDX-License-Identifier: BSD-2-Clause
"""Sizes in bytes, as people write them."""

import re

from topology.errors import InputError

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40
PAGE = 4 * KIB
LARGE_PAGE = 2 * MIB

_SUFFIX = {"": 1, "K": KIB, "M": MIB, "G": GIB, "T": TIB}


def parse_size(text: str | int, what: str = "size") -> int:
    """`1G`, `512M`, `512MiB`, `4096` -> bytes."""
    match = re.fullmatch(r"(\d{1,25})\s*([KMGT]?)(?:iB|B)?", str(text).strip(), re.IGNORECASE | re.ASCII)
    if not match or int(match[1]) == 0:
        shown = str(text) if len(str(text)) <= 60 else f"{str(text)[:60]}…"
        raise InputError(what, f"'{shown}' is not a size such as 512M or 2G")
    return int(match[1]) * _SUFFIX[match[2].upper()]


def format_size(size: int) -> str:
    """The largest unit that divides the size: 1 GiB, 1008 MiB, 4 KiB, 17 B."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def align_down(value: int, unit: int) -> int:
    return value - value % unit


def align_up(value: int, unit: int) -> int:
    return align_down(value + unit - 1, unit)
