# SPDX-License-Identifier: BSD-2-Clause
"""How large a cluster may be on a given machine before its lock costs more than a given share of the work."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from topology.errors import InputError
from topology.layouts import group
from topology.machine import Machine

# Throughput of n cores, which share a last-level cache or do not.
Throughput = Callable[[int, bool], float]
LAYOUTS = ("spanning", "per-socket", "per-numa", "per-l3")  # largest clusters first, as machines are built
NOISE = 1e-9  # of floating point


@dataclass(frozen=True)
class Point:
    cores: int
    crosses: bool  # the cluster is larger than what shares a last-level cache
    throughput: float
    loss: float    # share of the throughput that the same cores would have without waiting, next to each other


@dataclass(frozen=True)
class Advice:
    layout: str
    sizes: tuple[int, ...]  # of its clusters
    loss: float             # of its worst cluster
    largest: int            # cores, taken in the machine's order, that stay within the limit
    curve: tuple[Point, ...]


class Planner:
    def __init__(self, machine: Machine, entry: float, throughput: Throughput) -> None:
        """`entry`: cycles from one kernel entry of a core to its next when it never waits."""
        self.machine = machine
        self.entry = entry
        self.throughput = throughput
        self.known: dict[tuple[int, bool], Point] = {}

    def point(self, members: Sequence[int]) -> Point:
        caches = {self.machine.cores[place].l3 for place in members}
        crosses = len(members) > 1 and (len(caches) > 1 or None in caches)
        key = len(members), crosses
        if key not in self.known:
            done = self.throughput(*key)
            self.known[key] = Point(*key, done, max(0.0, 1 - done * self.entry / len(members)))
        return self.known[key]

    def curve(self) -> tuple[Point, ...]:
        """Clusters that take 1, 2, ... all cores in the machine's order: socket after socket, cache after cache."""
        return tuple(self.point(range(n)) for n in range(1, len(self.machine.cores) + 1))

    def worst(self, layout: str) -> tuple[tuple[int, ...], float] | None:
        """Sizes of a layout's clusters, and the loss of the worst; None where the machine cannot have the layout."""
        try:
            clusters = group(self.machine, layout)
        except InputError:
            return None
        return tuple(len(c) for c in clusters), max(self.point(c).loss for c in clusters)

    def advise(self, limit: float) -> Advice:
        """The first layout, from large clusters to small, all clusters of which stay within `limit`.

        Layouts along the machine's caches come before those of a mere size.
        """
        curve = self.curve()
        largest = max(1, sum(1 for _ in takewhile(lambda p: p.loss <= limit + NOISE, curve)))
        for layout in [*LAYOUTS, *(f"size={n}" for n in range(len(curve), 1, -1))]:
            found = self.worst(layout)
            if found and found[1] <= limit + NOISE:
                return Advice(layout, *found, largest, curve)
        return Advice("size=1", (1,) * len(curve), curve[0].loss, largest, curve)
