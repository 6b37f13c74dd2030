# SPDX-License-Identifier: BSD-2-Clause
"""Answers of a source about a machine, whatever the source is, and the machine that is made of them."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from topology.errors import InputError
from topology.foreign import format_spans
from topology.machines.machine import LOCAL_DISTANCE, Core, Machine, MemoryRange, default_memory, uniform_distances
from topology.machines.qemu import place, q35_memory
from topology.units import LARGE_PAGE, align_down, format_size


@dataclass(frozen=True)
class Processor:
    """A hardware thread. Keys say what it shares with others; they need not be numbers."""

    number: int  # the operating system's
    socket: Hashable
    core: Hashable
    l3: Hashable | None
    node: int
    kind: str = ""


@dataclass
class Survey:
    name: str
    processors: list[Processor] = field(default_factory=list)  # those that may be used, neighbours together
    sizes: dict[int, int] = field(default_factory=dict)  # bytes of each NUMA node
    local: dict[int, set[int]] = field(default_factory=dict)  # processors that are nearest to a node
    distances: dict[tuple[int, int], int] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)  # of memory: "HBM"; nodes of plain memory are not in it
    notes: list[str] = field(default_factory=list)
    caches_known: bool = True  # False: the source says nothing of caches
    is_host: bool = False

    def one_thread_per_core(self) -> "Survey":
        first: dict[Hashable, Processor] = {}
        for p in sorted(self.processors, key=lambda p: p.number):
            first.setdefault(p.core, p)
        return replace(self, processors=[p for p in self.processors if first[p.core] is p])

    def with_memory(self, size: int) -> "Survey":
        """So much in each node that has any, or in each with cores where nothing is known of memory."""
        nodes = {n for n, known in self.sizes.items() if known} or {p.node for p in self.processors}
        return replace(self, sizes=dict.fromkeys(nodes, size))

    def machine(self, apics: Mapping[int, int] | None = None, ranges: Iterable[MemoryRange] | None = None) -> Machine:
        """`apics` are the APIC ids of processors, `ranges` the physical memory, where the source knows them.

        Elsewhere they are those of QEMU's q35 board, and memory of which nothing is known is as emulated machines have
        it.
        """
        cores = self._cores(apics)
        with_cores = {core.node for core in cores}
        notes = list(self.notes)
        sizes = {n: align_down(s, LARGE_PAGE) for n, s in self.sizes.items()}
        if apics is None and not any(sizes.values()):
            sizes = dict.fromkeys(with_cores, default_memory(max(Counter(core.node for core in cores).values())))
            each = format_size(max(sizes.values()))
            notes.append(f"nothing is said of memory: each NUMA node is given {each}, or what --memory says")
        nodes = sorted(with_cores | {n for n, size in sizes.items() if size})
        if ranges is None:
            ranges = [replace(r, node=nodes[r.node]) for r in q35_memory([sizes.get(n, 0) for n in nodes])]
        memory = tuple(r for r in ranges if r.node in nodes)
        if not memory:
            raise InputError(self.name, "says nothing of memory that may be used; --memory gives some to each node")
        if kinds := sorted({core.kind for core in cores} - {""}):
            counts = (f"{sum(c.kind == kind for c in cores)} {kind}" for kind in kinds)
            notes.append(f"cores of several kinds ({', '.join(counts)}): one cluster may hold several")
        distances, note = self._distances(nodes)
        notes += _crossing(cores) + _one_package(cores, distances) + self._plain(memory, with_cores)
        machine = Machine(
            name=self.name,
            cores=tuple(cores),
            memory=memory,
            distances=distances,
            near={n: self._beside(n, with_cores) for n in nodes if n not in with_cores},
            notes=tuple(notes + note),
            caches_known=self.caches_known,
            host_nodes=tuple(nodes) if self.is_host else (),
        )
        return machine if apics is not None else place(machine)

    def _plain(self, memory: Iterable[MemoryRange], with_cores: set[int]) -> list[str]:
        """Returns a note for each kind of memory that a map cannot tell from plain memory."""
        sizes: dict[str, Counter[int]] = {}
        for r in memory:
            if r.node in self.kinds or r.node not in with_cores:
                sizes.setdefault(self.kinds.get(r.node, "memory without cores"), Counter())[r.node] += r.size
        return [f"{format_size(sum(of.values()))} of {kind} (NUMA node{'s' * (len(of) > 1)} {format_spans(of)}) as "
                f"plain memory" for kind, of in sorted(sizes.items())]

    def _cores(self, apics: Mapping[int, int] | None) -> list[Core]:
        if not self.processors:
            raise InputError(self.name, "has no core that may be used")
        keys = {what: _ranks(self.processors, what) for what in ("socket", "l3", "node", "core")}
        ordered = sorted(self.processors, key=lambda p: (*(rank(p) for rank in keys.values()), p.number))
        kinds = {p.kind for p in ordered}
        cores = []
        for p in ordered:
            if apics is not None and p.number not in apics:
                raise InputError(self.name, f"the APIC id of processor {p.number} is not known")
            cores.append(
                Core(
                    apic=apics[p.number] if apics is not None else p.number,
                    socket=keys["socket"](p),
                    node=p.node,
                    l3=None if p.l3 is None else keys["l3"](p),
                    physical=keys["core"](p),
                    number=p.number,
                    kind=p.kind if len(kinds) > 1 else "",
                )
            )
        return cores

    def _beside(self, node: int, with_cores: set[int]) -> frozenset[int]:
        """Who shares the memory of a node without cores: the nodes it is attached to, else the nearest, else all."""
        attached = {p.node for p in self.processors if p.number in self.local.get(node, set())}
        if attached and attached != with_cores:
            return frozenset(attached)
        known = {n: self.distances[n, node] for n in with_cores if (n, node) in self.distances}
        return frozenset(n for n in with_cores if known.get(n, 0) == min(known.values(), default=0))

    def _distances(self, nodes: list[int]) -> tuple[dict[tuple[int, int], int], list[str]]:
        """Returns the source's distances, if a map may have them: 10 to itself, 11 to 255 to others."""
        if len(nodes) == 1:
            return {(nodes[0], nodes[0]): LOCAL_DISTANCE}, []
        between = {(a, b): self.distances.get((a, b), 0) for a in nodes for b in nodes}
        if all((d == LOCAL_DISTANCE) if a == b else (LOCAL_DISTANCE < d <= 255) for (a, b), d in between.items()):
            return between, []
        return uniform_distances(nodes), ["distances between NUMA nodes are not known: taken as uniform"]


def _crossing(cores: list[Core]) -> list[str]:
    """A note where a node has cores of several sockets, and one of those has cores of other nodes, too."""
    of_node: dict[int, set[int]] = {}
    of_socket: dict[int, set[int]] = {}
    for core in cores:
        of_node.setdefault(core.node, set()).add(core.socket)
        of_socket.setdefault(core.socket, set()).add(core.node)
    across = {n: sockets for n, sockets in of_node.items() if len(sockets) > 1
              and any(len(of_socket[s]) > 1 for s in sockets)}
    if not across:
        return []
    first = min(across)
    each = f"NUMA node {first} has cores of sockets {format_spans(across[first])}"
    more = f", and {len(across) - 1} more such" if len(across) > 1 else ""
    return [f"sockets and NUMA nodes cross ({each}{more}): a cluster of per-socket has several nodes, one of per-numa "
            f"several sockets"]


REMOTE = 20  # distance from which on nodes are seldom of one package


def _one_package(cores: list[Core], distances: Mapping[tuple[int, int], int]) -> list[str]:
    """A note where all cores are of one socket, but are as far apart as those of several are: each NUMA node has an L3
    cache of its own."""
    pairs = {(core.node, core.l3) for core in cores}
    nodes, caches = {node for node, _ in pairs}, {l3 for _, l3 in pairs}
    if len({core.socket for core in cores}) > 1 or len(nodes) < 2 or None in caches:
        return []
    if not len(pairs) == len(nodes) == len(caches) or any(
            distances.get((a, b), REMOTE) < REMOTE for a in nodes for b in nodes if a != b):
        return []
    return [f"one socket has {len(nodes)} NUMA nodes with an L3 cache each, as far apart as sockets are: its firmware "
            "may give several packages one number; per-numa keeps them apart"]


def _ranks(processors: list[Processor], what: str) -> Callable[[Processor], int]:
    """Numbers the values of an attribute in the order in which they appear."""
    known: dict[Hashable, int] = {}
    for p in processors:
        known.setdefault(getattr(p, what), len(known))
    return lambda p: known[getattr(p, what)]
