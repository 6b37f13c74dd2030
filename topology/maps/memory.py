# SPDX-License-Identifier: BSD-2-Clause
"""Divides memory among clusters and channels: every byte goes to exactly one of them, near its cores."""

from collections.abc import Sequence

from topology.errors import InputError
from topology.limits import CHANNEL_PORTS, PORT_SIZE
from topology.machines.machine import Machine, MemoryRange
from topology.maps.clustermap import Range
from topology.spans import format_spans
from topology.units import LARGE_PAGE, MIB, align_down, align_up, format_size

CHANNEL_MINIMUM = 16 * MIB


def channel_size(ports: int) -> int:
    """Memory of a channel that carries so many network ports."""
    return max(CHANNEL_MINIMUM, align_up(CHANNEL_PORTS + ports * PORT_SIZE, LARGE_PAGE))


def shares(machine: Machine, groups: Sequence[Sequence[int]], layout: str) -> list[list[Range]]:
    """Each node's memory goes to the clusters that have cores on it, by the number of these cores.

    Memory of a node that has no cores goes to those of the nodes beside it.
    """
    shares_of: list[list[Range]] = [[] for _ in groups]
    for memory in machine.memory:
        nodes = machine.near.get(memory.node, frozenset({memory.node}))
        weights = [sum(machine.cores[c].node in nodes for c in members) for members in groups]
        for share, piece in zip(shares_of, _split(memory, weights)):
            if piece.size:
                share.append(piece)
    for number, share in enumerate(shares_of):
        if not share:
            nodes = frozenset(machine.cores[c].node for c in groups[number])
            raise InputError(
                f"--layout {layout}",
                f"cluster {number} would have no memory: its cores are in NUMA node {format_spans(nodes)}, which has "
                "none; a layout of larger clusters may join them to a node with memory",
                at=("layout",),
            )
    return [_joined(share) for share in shares_of]


def _split(memory: MemoryRange, weights: Sequence[int]) -> list[Range]:
    """Splits a range by weight, in order, cut between 2 MiB pages; the last one that gets any takes the rest."""
    total = sum(weights)
    last = max((i for i, weight in enumerate(weights) if weight), default=-1)
    parts, base = [], memory.base
    for i, weight in enumerate(weights):
        end = min(memory.end, align_down(base + memory.size * weight // total, LARGE_PAGE)) if total else base
        end = memory.end if i == last else max(end, base) if weight else base
        parts.append(Range(base, end - base))
        base = end
    return parts


def _joined(share: list[Range]) -> list[Range]:
    joined: list[Range] = []
    for r in sorted(share, key=lambda r: r.base):
        if joined and joined[-1].end == r.base:
            joined[-1] = Range(joined[-1].base, joined[-1].size + r.size)
        else:
            joined.append(r)
    return joined


def carve(share: list[Range], size: int, layout: str, number: int) -> Range:
    """Takes a channel from the start of a cluster's share, away from what firmware keeps at RAM's ends."""
    total = sum(r.size for r in share)
    for i, r in enumerate(share):
        base = align_up(max(r.base, LARGE_PAGE), LARGE_PAGE)
        if base + size <= r.end and size < total:
            rest = [Range(r.base, base - r.base), Range(base + size, r.end - base - size)]
            share[i : i + 1] = [piece for piece in rest if piece.size]
            return Range(base, size)
    raise InputError(f"--layout {layout}", f"cluster {number} would have {format_size(total)} of memory, "
                     f"too little beside a channel of {format_size(size)}", at=("layout",))
