# SPDX-License-Identifier: BSD-2-Clause
"""Memory of this machine as the loader will find it: what Linux has online, as far as the firmware's map has it as RAM.

Linux also brings memory online that a machine without it does not have as RAM: persistent memory, memory that is
soft-reserved for a special purpose, CXL devices, modules that were plugged in since power-on.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from topology.foreign import format_spans
from topology.machines import linux
from topology.machines.parts import MemoryRange
from topology.maps.clustermap import Range
from topology.units import LARGE_PAGE, format_size

REACH = 31 << 40     # of the loader's page tables for RAM (memory.c)
SLACK = LARGE_PAGE   # holes that the loader does not mind (map_check_memory.c)
MEMMAP = Path("/sys/firmware/memmap")
IOMEM = Path("/proc/iomem")
RAM = "System RAM"
# Names of firmware's memory map in /proc/iomem; other entries are Linux's own or devices'.
_FIRMWARE = {RAM, "Reserved", "reserved", "ACPI Tables", "ACPI Non-volatile Storage", "Unusable memory"}
_LEFT_OUT = {  # types of the firmware's map (Linux, ABI/testing/sysfs-firmware-memmap)
    "Persistent Memory": "persistent memory",
    "Persistent Memory (legacy)": "persistent memory",
    "Soft Reserved": "soft-reserved memory",
}
_RESERVED, _ADDED = "memory that firmware reserves", "memory that was added since power-on"
_BEYOND = "memory beyond the loader's reach"


@dataclass(frozen=True)
class Entry:
    """A range of the firmware's map."""

    range: Range
    type: str


def of_host() -> tuple[list[MemoryRange] | None, list[str]]:
    """Returns the memory of this machine, and notes about what was left out. None: this Linux does not show where
    memory lies."""
    ranges = linux.memory()
    if ranges is None:
        return None, ["this Linux does not show where memory lies: addresses are those of QEMU's q35 board"]
    if entries := firmware_map(MEMMAP):
        return plain(ranges, entries, linux.block_size())
    try:
        known = firmware_ranges(IOMEM.read_text())
    except OSError:
        known = []
    notes = [] if known else ["the firmware's map of memory can be read by root only: what it does not have as RAM is "
                              "not left out"]
    return [part for range_ in ranges for part in clip(range_, known)], notes


def firmware_map(folder: Path) -> list[Entry]:
    """Returns the firmware's map as the kernel was given it, by address; nothing where it cannot be read."""
    entries = []
    try:
        for path in folder.iterdir():
            first, last = (int((path / name).read_text(), 16) for name in ("start", "end"))
            entries.append(Entry(Range(first, last + 1 - first), (path / "type").read_text().strip()))
    except (OSError, ValueError):
        return []
    return sorted(entries, key=lambda entry: entry.range.base)


def plain(ranges: Iterable[MemoryRange], entries: Sequence[Entry], block: int) -> tuple[list[MemoryRange], list[str]]:
    """Returns what of `ranges` is RAM by the firmware's map, and a note for each kind of memory that is not.

    Holes smaller than a block of Linux's memory are firmware's own, within blocks that begin or end as RAM.
    """
    known = [entry.range for entry in entries if entry.type == RAM]
    kept: list[MemoryRange] = []
    lost: dict[str, Counter[int]] = {}
    for range_ in ranges:
        parts = clip(range_, known)
        kept += parts
        for hole in _holes(Range(range_.base, range_.size), [Range(part.base, part.size) for part in parts]):
            for kind, size in (_kinds(hole, entries) if hole.size >= block else {}).items():
                lost.setdefault(kind, Counter())[range_.node] += size
    return kept, [f"{format_size(sum(of.values()))} of {kind} left out (NUMA node{'s' * (len(of) > 1)} "
                  f"{format_spans(of)})" for kind, of in sorted(lost.items())]


def _kinds(hole: Range, entries: Iterable[Entry]) -> dict[str, int]:
    """Returns the bytes of a hole by what the firmware's map says of them."""
    within = Range(hole.base, min(hole.end, REACH) - hole.base)
    sizes = Counter({_BEYOND: hole.end - max(REACH, hole.base), _ADDED: within.size})
    for entry in entries:
        common = min(entry.range.end, within.end) - max(entry.range.base, within.base)
        if common > 0:
            sizes[_LEFT_OUT.get(entry.type, _RESERVED)] += common
            sizes[_ADDED] -= common
    return {kind: size for kind, size in sizes.items() if size >= LARGE_PAGE}


def firmware_ranges(text: str) -> list[Range]:
    """Returns ranges that firmware says anything of, from /proc/iomem; none where Linux hides addresses, which it does
    from all but root."""
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
    """Returns the parts of a range that are in `known`, if anything is, and within the loader's reach."""
    whole = Range(range_.base, min(range_.end, REACH) - range_.base)
    if whole.size <= 0:
        return []
    parts, at = [], whole.base
    for hole in [*(_holes(whole, known) if known else []), Range(whole.end, 0)]:
        if hole.base > at:
            parts.append(MemoryRange(at, hole.base - at, range_.node))
        at = hole.end
    return parts
