# SPDX-License-Identifier: BSD-2-Clause
"""Memory of a machine, divided among clusters: every byte goes to one cluster or channel, near its cores."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from topology.foreign import format_spans
from topology.layouts import AT, Unfit
from topology.machines.machine import Machine, MemoryRange, beside, homes
from topology.maps.clustermap import ClusterMap, Range
from topology.units import LARGE_PAGE, align_down, align_up, format_size


def shares(machine: Machine, groups: Sequence[Sequence[int]], layout: str) -> list[list[Range]]:
    """Returns each cluster's memory, a list for each of `groups`. Raises Unfit where a cluster would have none.

    A node's memory goes to the clusters that have cores on it, by the number of these cores; that of a node without
    cores to the nodes beside it. Cores of a node without memory count at the nearest nodes of their cluster that have
    some, else of their socket, else of the machine.
    """
    weights = [_weights(machine, members) for members in groups]
    shares_of: list[list[Range]] = [[] for _ in groups]
    for memory in machine.memory:
        for share, piece in zip(shares_of, _split(memory, [weight[memory.node] for weight in weights])):
            if piece.size:
                share.append(piece)
    for number, share in enumerate(shares_of):
        if not share:
            nodes = {machine.cores[place].node for place in groups[number]}
            raise Unfit(f"--layout {layout}",
                        f"cluster {number} would have no memory: its cores are in NUMA node {format_spans(nodes)}, "
                        f"too small to be divided into pages of {format_size(LARGE_PAGE)} for all of its clusters",
                        at=AT)
    return [_joined(share) for share in shares_of]


def _weights(machine: Machine, members: Sequence[int]) -> Counter[int]:
    """Returns for each node how many cores of a cluster its memory serves, fractions where a core has several nodes."""
    places = Counter((machine.cores[place].socket, machine.cores[place].node) for place in members)
    own = {node for _, node in places}
    own |= {memory for node in own for memory in beside(machine, node)}
    weights: Counter[int] = Counter()
    for (socket, node), count in places.items():
        shared = beside(machine, node)  # as well as what is its own
        for memory in shared:
            weights[memory] += count
        nearest = homes(machine, socket, node, own) - shared
        for memory in nearest:
            weights[memory] += Fraction(count, len(nearest))  # type: ignore[assignment]  # numbers, as a Counter adds
    return weights


def _split(memory: MemoryRange, weights: Sequence[int | Fraction]) -> list[Range]:
    """Splits a range by weight, in order, cut between 2 MiB pages; the last one that gets any takes the rest."""
    total = sum(weights)
    last = max((i for i, weight in enumerate(weights) if weight), default=-1)
    parts, base = [], memory.base
    for i, weight in enumerate(weights):
        end = min(memory.end, align_down(int(base + memory.size * weight // total), LARGE_PAGE)) if total else base
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
    raise Unfit(f"--layout {layout}", f"cluster {number} would have {format_size(total)} of memory, "
                f"too little beside a channel of {format_size(size)}", at=AT)


def distant(cluster_map: ClusterMap) -> list[str]:
    """Returns a note for each cluster whose cores' nodes have no memory, so that all it has is of other nodes."""
    notes = []
    filled, homed = {m.node for m in cluster_map.memory}, {cpu.node for cpu in cluster_map.cpus}
    for cluster in cluster_map.clusters:
        own = {cluster_map.cpus[place].node for place in cluster.cpus}
        nodes = sorted({m.node for m in cluster_map.memory if any(r.overlaps(m) for r in cluster.memory)})
        if cluster_map.machines > 1 or own & filled or not homed.issuperset(nodes):
            continue
        far = {node: min(cluster_map.distances.get((mine, node), 0) for mine in own) for node in nodes}
        listed = " and of ".join(f"node {node}" + (f", distance {far[node]}" if far[node] else "") for node in nodes)
        notes.append(f"cluster {cluster.number} has memory of {listed}: there is none in NUMA node "
                     f"{format_spans(own)}, where its cores are")
    return notes
