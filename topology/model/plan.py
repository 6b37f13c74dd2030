# SPDX-License-Identifier: BSD-2-Clause
"""Plans how large a cluster may be on a given machine before its lock costs more than a given share of the work, by its
size and by whether it is larger than what shares a last-level cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from topology.errors import InputError
from topology.grouping import WORDS, group
from topology.limits import MAX_CLUSTERS, MAX_CPUS
from topology.machines.machine import Machine
from topology.model.published import LINE_SAME_SOCKET
from topology.model.regimes import ClosedForm
from topology.model.simulation.holding import Transfers
from topology.model.simulation.lock import Elision, Transactions

# Throughput of n cores, which share a last-level cache (False) or do not (True).
Throughput = Callable[[int, bool], float]

ENTRIES = 4_000  # simulated for each size


def queued(form: ClosedForm, factor: float, delay: float) -> Throughput:
    """Returns the throughput of a closed form. Beyond a shared cache every transfer costs `factor` times as much."""
    beyond = replace(form, service=form.service * factor, transfer=form.transfer * factor)
    return lambda n, crosses: (beyond if crosses else form).steady(delay, n).throughput


def elided(length: float, factor: float, delay: float, conflict: float, attempts: int) -> Throughput:
    """Returns the simulated throughput of transactions of `length` cycles; only an entry that falls back moves the
    lock's lines.

    n / (delay + response) says the same as the simulated throughput, without the delays' own randomness.
    """

    def throughput(n: int, crosses: bool) -> float:
        line = LINE_SAME_SOCKET * (factor if crosses else 1)
        fallback = Transfers(hold=length, same_socket=line, per_socket=n)
        outcome = Transactions(n, delay, Elision(conflict, attempts, fallback=fallback), seed=1).run(ENTRIES)
        return n / (delay + outcome.response)

    return throughput


LAYOUTS = ("spanning", "per-socket", "per-numa", "per-l3")  # largest clusters first, as machines are built
NOISE = 1e-9  # of floating point


@dataclass(frozen=True)
class Point:
    cores: int
    crosses: bool  # the cluster is larger than what shares a last-level cache
    throughput: float
    loss: float  # share of the throughput that the same cores would have without waiting, next to each other


@dataclass(frozen=True)
class Advice:
    layout: str
    sizes: tuple[int, ...]  # of its clusters
    loss: float  # of its worst cluster
    largest: int  # cores, taken in the machine's order, that stay within the limit
    curve: tuple[Point, ...]


class Planner:
    def __init__(self, machine: Machine, entry: float, throughput: Throughput, end: float = 1.0) -> None:
        """`entry`: cycles from one kernel entry of a core to its next when it never waits.

        `end`: the curve stops at the first size that loses more.
        """
        self.machine = machine
        self.entry = entry
        self.throughput = throughput
        self.end = end
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
        """Clusters that take 1, 2, ... cores in the machine's order: socket after socket, cache after cache."""
        points: list[Point] = []
        most = min(len(self.machine.cores), MAX_CPUS)
        while len(points) < most and not (points and points[-1].loss > self.end):
            points.append(self.point(range(len(points) + 1)))
        return tuple(points)

    def clusters(self, layout: str) -> list[list[int]] | None:
        """None where the machine cannot have the layout."""
        try:
            clusters = group(self.machine, layout)
        except InputError:
            return None
        return clusters if len(clusters) <= MAX_CLUSTERS and max(map(len, clusters)) <= MAX_CPUS else None

    def advise(self, limit: float) -> Advice:
        """The first layout, from large clusters to small, all clusters of which stay within `limit`.

        Layouts along the machine's caches come before those of a mere size. Where nothing stays within the limit, it
        is the layout of the smallest clusters.
        """
        curve = self.curve()
        largest = max(1, sum(1 for _ in takewhile(lambda p: p.loss <= limit + NOISE, curve)))
        others = [name for name in WORDS if name not in LAYOUTS]
        layouts = [*LAYOUTS, *others, *(f"size={n}" for n in range(len(curve), 0, -1))]
        possible = [(layout, clusters) for layout in layouts if (clusters := self.clusters(layout))]
        if not possible:
            raise InputError(self.machine.name, f"no layout has at most {MAX_CLUSTERS} clusters of {MAX_CPUS} cores")
        fitting = (item for item in possible if max(map(len, item[1])) <= largest
                   and self.worst(item[1]) <= limit + NOISE)
        layout, clusters = next(fitting, None) or min(possible, key=lambda item: max(map(len, item[1])))
        return Advice(layout, tuple(map(len, clusters)), self.worst(clusters), largest, curve)

    def worst(self, clusters: Sequence[Sequence[int]]) -> float:
        return max(self.point(members).loss for members in clusters)
