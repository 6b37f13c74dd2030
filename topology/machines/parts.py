# SPDX-License-Identifier: BSD-2-Clause
"""Parts of a machine: cores by their local APIC ids, memory by NUMA node, distances between nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from topology.units import GIB, format_size


@dataclass(frozen=True)
class Core:
    """A core of the map: whatever has a local APIC id. With SMT, the threads of one core of silicon have the same
    `physical`, and stand next to each other in a machine."""

    apic: int
    socket: int
    node: int
    l3: int | None  # cores with the same number share an L3 cache; None: has none
    physical: int
    number: int  # the operating system's, of the machine that was looked at
    kind: str = ""  # of a hybrid processor's core; empty where all are alike


def first_threads(cores: Sequence[Core]) -> tuple[Core, ...]:
    """Returns the first of each core of silicon."""
    first = {core.physical: core for core in reversed(cores)}
    return tuple(core for core in cores if first[core.physical] is core)


@dataclass(frozen=True)
class MemoryRange:
    base: int
    size: int
    node: int

    @property
    def end(self) -> int:
        return self.base + self.size

    def __str__(self) -> str:
        return f"{self.base:#x}..{self.end:#x}"


@dataclass(frozen=True)
class Shape:
    """An emulated machine whose sockets are all alike, and so are the L3 caches and NUMA nodes in them."""

    sockets: int = 2
    cores: int = 2  # of each socket
    memory: int = GIB  # of each node
    caches: int = 1  # L3 caches of each socket; 0: none
    nodes: int = 1  # NUMA nodes of each socket
    threads: int = 1  # of each core

    @property
    def cpus(self) -> int:
        """Cores as the map counts them: threads."""
        return self.sockets * self.cores * self.threads

    def __str__(self) -> str:
        parts = [f"{self.sockets} x {self.cores} cores"]
        if self.threads > 1:
            parts.append(f"{self.threads} threads each")
        if self.nodes > 1:
            parts.append(f"{self.nodes} nodes a socket")
        if self.caches > 1:
            parts.append(f"{self.caches} L3 caches a socket")
        return ", ".join([*parts, f"{format_size(self.memory)} a node"])


@dataclass(frozen=True)
class Board:
    """The places for cores of an emulated machine that is not regular: of each as many as the widest has. Which of
    them hold a core is in the cores' APIC ids."""

    sockets: int
    caches: int  # L3 caches of a socket; 0: none, and the cores below are of a socket
    cores: int  # of an L3 cache
    threads: int  # of a core

    def __str__(self) -> str:
        parts = [f"places for {self.sockets} sockets"]
        if self.caches:
            parts.append(f"{self.caches} L3 caches each")
        return ", ".join([*parts, f"{self.cores} cores each", f"{self.threads} threads each"])


@dataclass(frozen=True)
class Machine:
    name: str
    cores: tuple[Core, ...]  # by socket, cache, node and core
    memory: tuple[MemoryRange, ...]
    distances: dict[tuple[int, int], int] = field(default_factory=dict, hash=False)
    shape: Shape | Board | None = None  # of an emulated machine: what a map says of it
    near: dict[int, frozenset[int]] = field(default_factory=dict, hash=False)  # node without cores: nodes beside it
    notes: tuple[str, ...] = ()  # what a user should know: what was left out, what cannot be seen in a map
    caches_known: bool = True  # False: its source says nothing of caches, so that no core has an `l3`
    host_nodes: tuple[int, ...] = ()  # what the host that would run a domain calls `nodes`; empty: the host is unknown

    def __str__(self) -> str:
        return self.name

    @property
    def cpus(self) -> int:
        """Cores as the map counts them: threads."""
        return len(self.cores)

    @property
    def nodes(self) -> list[int]:
        return sorted({r.node for r in self.memory} | {c.node for c in self.cores})

    @property
    def sockets(self) -> list[int]:
        return sorted({c.socket for c in self.cores})

    @property
    def has_smt(self) -> bool:
        return len({c.physical for c in self.cores}) < len(self.cores)

    def memory_of(self, node: int) -> int:
        return sum(r.size for r in self.memory if r.node == node)
