# SPDX-License-Identifier: BSD-2-Clause
"""This machine as the loader will find it: what Linux shows of it in whole blocks, less what firmware does not have."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from topology.errors import InputError
from topology.machines import linux
from topology.machines.machine import Machine, MemoryRange
from topology.machines.sources import LIVE, read_machine
from topology.maps.clustermap import Range
from topology.units import LARGE_PAGE

REACH = 31 << 40     # of the loader's page tables for RAM (memory.c)
SLACK = LARGE_PAGE   # holes that the loader does not mind (map_check_memory.c)
IOMEM = Path("/proc/iomem")
# Names of firmware's memory map there; other entries are Linux's own or devices'.
_FIRMWARE = {
    *("System RAM", "Reserved", "reserved", "Soft Reserved"),
    *("ACPI Tables", "ACPI Non-volatile Storage", "Unusable memory"),
}


def read(smt: bool = True) -> Machine:
    if linux.memory() is None:
        raise InputError("--live",
                         "this Linux does not show where memory lies: /sys/devices/system/memory is not there")
    machine = read_machine(LIVE, smt)
    try:
        known = firmware_ranges(IOMEM.read_text())
    except OSError:
        known = []
    memory = [part for range_ in machine.memory for part in clip(range_, known)]
    return replace(machine, memory=tuple(memory))


def firmware_ranges(text: str) -> list[Range]:
    """Ranges that firmware says anything of; none where Linux hides addresses, which it does from all but root."""
    ranges = []
    for first, last, name in re.findall(r"^ *([0-9a-f]+)-([0-9a-f]+) : (.*)$", text, re.MULTILINE):
        if name in _FIRMWARE and int(last, 16):
            ranges.append(Range(int(first, 16), int(last, 16) + 1 - int(first, 16)))
    return sorted(ranges, key=lambda range_: range_.base)


def _holes(whole: Range, known: Iterable[Range]) -> list[Range]:
    """Lists the parts of `whole` that none of `known` covers and that are more than slack, rounded out to large
    pages."""
    holes, at = [], whole.base
    for range_ in [*known, Range(whole.end, 0)]:
        end = min(max(range_.base, at), whole.end)
        if end - at > SLACK:
            first, last = at // LARGE_PAGE * LARGE_PAGE, -(-end // LARGE_PAGE) * LARGE_PAGE
            holes.append(Range(first, last - first))
        at = max(at, range_.end)
    return holes


def clip(range_: MemoryRange, known: Sequence[Range]) -> list[MemoryRange]:
    """Returns the parts of a range that exist and are within the loader's reach."""
    whole = Range(range_.base, min(range_.end, REACH) - range_.base)
    if whole.size <= 0:
        return []
    parts, at = [], whole.base
    for hole in [*(_holes(whole, known) if known else []), Range(whole.end, 0)]:
        if hole.base > at:
            parts.append(MemoryRange(at, hole.base - at, range_.node))
        at = hole.end
    return parts
