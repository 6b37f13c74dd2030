# SPDX-License-Identifier: BSD-2-Clause
"""Figure 6 of Elphinstone 2016: what runs on which core in the Redis benchmark, there and here. Nothing is booted for
it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from deploy.bench.redis import measure as redis
from deploy.deployment.engines import PROGRAMS
from deploy.results.tables import plain_table
from topology.maps.clustermap import Application
from topology.model.papers import ELPHINSTONE, REDIS_CORES

SOURCE = f"{ELPHINSTONE}, 5.2.1, Figure 6"
NETWORK, SERVER, CLIENT, STACK = "network", "Redis", "YCSB client", "lwIP"
_ROLES = {**dict.fromkeys(PROGRAMS, SERVER), "ycsb": CLIENT, "stack": STACK}
# Each client and server has its own lwIP, as a process of user mode.
PAPER_FIRST = {NETWORK: 1}
PAPER_OTHER = {SERVER: 1, CLIENT: 2, STACK: 3}


@dataclass(frozen=True)
class Place:
    core: int
    programs: Counter[str]

    @property
    def published(self) -> Counter[str]:
        return Counter(PAPER_FIRST if self.core == 0 else PAPER_OTHER)

    @property
    def same(self) -> bool:
        return self.programs == self.published

    def to_json(self) -> dict[str, Any]:
        return {"core": self.core, "programs": dict(self.programs), "published": dict(self.published),
                "same": self.same}


def role(app: Application) -> str:
    return NETWORK if app.role in ("switch", "nic") else _ROLES.get(app.program, app.program)


def _of(core: int, programs: Sequence[Application]) -> Counter[str]:
    """Switch and driver are one network."""
    counts = Counter(role(app) for app in programs if app.cpu == core)
    return Counter(dict(counts) | ({NETWORK: 1} if NETWORK in counts else {}))


def places(cores: int = REDIS_CORES) -> list[Place]:
    """Returns the places as `bench redis` boots them, with lwIP apart."""
    (case,) = redis.Request(["clh"], [cores]).cases()
    programs = case.plan.cluster_map.applications
    return [Place(core, _of(core, programs)) for core in range(cores)]


def text_of(counts: Counter[str]) -> str:
    order = [name for name in (NETWORK, SERVER, CLIENT, STACK)
             if name in counts] + sorted(set(counts) - {NETWORK, SERVER, CLIENT, STACK})
    return ", ".join(f"{counts[name]} x {name}" if counts[name] > 1 else name for name in order)


def table(every: Sequence[Place]) -> Table:
    note = "The network is a virtual one on core 0: a switch, and the driver of a card where a machine has one."
    words = ("here", "paper", "the same")
    made = plain_table(f"What runs on which core: {SOURCE}", ("core", *words), words, note)
    for place in every:
        made.add_row(str(place.core), text_of(place.programs), text_of(place.published), "yes" if place.same else "no")
    return made
