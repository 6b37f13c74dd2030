# SPDX-License-Identifier: BSD-2-Clause
"""Reads what only the Linux of this machine tells: APIC ids and where memory lies."""

from pathlib import Path

from topology.machines.machine import MemoryRange

PROC = Path("/proc")
DEVICES = Path("/sys/devices/system")


def apic_ids(proc: Path = PROC) -> dict[int, int]:
    """Returns the APIC ids by Linux's number of the processor."""
    ids: dict[int, int] = {}
    cpu = 0
    for line in (proc / "cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "processor":
            cpu = int(value)
        elif key.strip() == "apicid":
            ids[cpu] = int(value)
    return ids


def block_size(devices: Path = DEVICES) -> int:
    """Returns the bytes of a memory block, which is online or offline as a whole. Raises OSError or ValueError where
    this Linux has none."""
    return int((devices / "memory" / "block_size_bytes").read_text(), 16)


def memory(devices: Path = DEVICES) -> list[MemoryRange] | None:
    """Memory blocks of each node that are online, neighbours joined; None when this Linux does not show them."""
    try:
        block = block_size(devices)
        nodes = {int(p.name[4:]): p for p in (devices / "node").glob("node[0-9]*")}
    except (OSError, ValueError):
        return None
    ranges: list[MemoryRange] = []
    for node, path in sorted(nodes.items()):
        for number in sorted(int(p.name[6:]) for p in path.glob("memory[0-9]*") if _is_online(p)):
            base = number * block
            if ranges and ranges[-1].node == node and ranges[-1].end == base:
                ranges[-1] = MemoryRange(ranges[-1].base, ranges[-1].size + block, node)
            else:
                ranges.append(MemoryRange(base, block, node))
    return ranges or None


def _is_online(block: Path) -> bool:
    try:
        return (block / "state").read_text().strip() == "online"
    except OSError:
        return True
