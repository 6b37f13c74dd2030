# SPDX-License-Identifier: BSD-2-Clause
"""Kernel addresses in a panic's report, or in a dump of registers, as functions and source lines."""

import re
from collections.abc import Mapping
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.symbols import Image
from deploy.machine.console_lines import By, lines_by
from topology import headers

_PANIC = re.compile(r"kernel panic: cluster (\d+) core (\d+): (.*)")
_BACKTRACE = re.compile(r"  backtrace:((?: 0x[0-9a-f]{16})+)")
_KERNEL_BASE = headers.macro(headers.KERNEL / "boot.h", "KERNEL_IMAGE_BASE")


def lines_of(addresses: list[int], kernel: Path) -> list[str]:
    """`function at file:line` for each address, as the image's debug information has it."""
    try:
        places = Image(kernel).places(addresses)
    except Failure:
        return [hex(a) for a in addresses]
    return [f"{a:#x} {places[a].function} at {places[a].source or '?'}" for a in addresses]


def explain(console: str, kernels: Mapping[int, Path]) -> list[str]:
    """Every panic of a kernel in the console's text with its backtrace in words. `kernels`: the image of each
    cluster."""
    explained = []
    cluster: int | None = None
    for line in lines_by(By.KERNEL, console):
        if panic := _PANIC.match(line):
            cluster = int(panic[1])
            explained.append(f"kernel panic in cluster {cluster}, core {panic[2]}: {panic[3].strip()}")
        elif (trace := _BACKTRACE.match(line)) and cluster is not None and cluster in kernels:
            addresses = [int(word, 16) for word in trace[1].split()]
            # return addresses point behind the call
            calls = [addresses[0], *(a - 1 for a in addresses[1:])]
            explained += [f"  {text}" for text in lines_of([a for a in calls if a >= _KERNEL_BASE], kernels[cluster])]
    return explained
