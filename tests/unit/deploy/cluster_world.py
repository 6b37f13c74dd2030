# SPDX-License-Identifier: BSD-2-Clause
"""A Redis Cluster in small, for tests of its former: instances, what they tell each other, and what they hold."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from deploy.live.replicas.steps import HAND_OVER, TAKEOVER, Step
from deploy.live.replicas.view import Endpoint, Node, View


@dataclass
class Instance:
    """One life of an instance."""

    id: str
    at: Endpoint
    master: str = ""
    epoch: int = 0
    slots: frozenset[int] = frozenset()
    known: dict[str, Node] = field(default_factory=dict)  # others
    forgotten: set[str] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)  # writes
    synchronised: str = ""  # id of the last master with which it was
    is_up: bool = False     # its link to the master

    @property
    def node(self) -> Node:
        flags = frozenset({"slave" if self.master else "master"})
        return Node(self.id, self.at.address, flags, self.master, self.epoch, True, self.slots)


class TwoMastersError(AssertionError):
    """A replica took the place of a master that lives."""


def endpoints_of(shards: int, copies: int) -> list[Endpoint]:
    """Shards whose copies are in different domains, in turns; see domain_of()."""
    names = [(shard, number) for shard in range(shards) for number in range(copies)]
    return [Endpoint(f"redis@{index}", ("127.0.0.1", 7000 + index), ("10.0.2.1", 7000 + index), shard, number)
            for index, (shard, number) in enumerate(names)]


def domain_of(one: Endpoint, domains: int) -> int:
    return (one.shard + one.number) % domains


class World:
    """All instances, in steps of no length."""

    def __init__(self, endpoints: list[Endpoint], chance: random.Random, feeds_when_empty: bool = False) -> None:
        """`feeds_when_empty`: a master without slots lets replicas copy its emptiness, as Redis itself would."""
        self.endpoints, self.chance, self.feeds_when_empty = endpoints, chance, feeds_when_empty
        self.living: dict[str, Instance] = {}
        self.unreached: set[str] = set()  # live, and do not answer the former
        self.written = 0
        self.acknowledged: dict[int, set[int]] = {one.shard: set() for one in endpoints}
        self._made = 0
        for one in endpoints:
            self.start(one)

    def start(self, one: Endpoint) -> None:
        """A new life: empty, knows nobody."""
        self._made += 1
        self.living[one.name] = Instance(f"{self._made:040x}", one)

    def end(self, one: Endpoint) -> None:
        self.living.pop(one.name, None)
        self.unreached.discard(one.name)

    def of(self, id: str) -> Instance | None:
        return next((one for one in self.living.values() if one.id == id), None)

    def views(self) -> dict[str, View]:
        return {name: self._view(one) for name, one in self.living.items() if name not in self.unreached}

    def _view(self, one: Instance) -> View:
        myself = replace(one.node, flags=one.node.flags | {"myself"})
        return View(myself, {one.id: myself, **one.known}, True, one.is_up,
                    bool(one.keys) or bool(one.master) and one.synchronised == one.master, len(one.keys))

    # --- commands ---

    def do(self, step: Step) -> None:
        """Obeys, or refuses as Redis does: then nothing happens."""
        one = self.living.get(step.endpoint.name)
        if one is None or step.endpoint.name in self.unreached:
            return
        if step.words == TAKEOVER:
            self._take_over(one)
        elif step.words == HAND_OVER:
            self._hand_over(one)
        else:
            {"MEET": self._meet, "ADDSLOTSRANGE": self._add, "REPLICATE": self._replicate,
             "FORGET": self._forget, "RESET": self._reset}[step.words[1]](one, *step.words[2:])

    def _meet(self, one: Instance, host: str, port: str) -> None:
        other = next((other for other in self.living.values() if other.at.address == (host, int(port))), None)
        if other and other is not one:
            for here, there in ((one, other), (other, one)):
                here.forgotten.discard(there.id)
                here.known[there.id] = there.node

    def _add(self, one: Instance, *ends: str) -> None:
        slots = {slot for low, high in zip(ends[::2], ends[1::2]) for slot in range(int(low), int(high) + 1)}
        if not one.master and not any(node.slots & slots for node in one.known.values()):
            one.slots |= slots

    def _replicate(self, one: Instance, id: str) -> None:
        node = one.known.get(id)
        if node and node.is_master and (one.master or not (one.slots or one.keys)):
            one.master, one.slots, one.is_up = id, frozenset(), False

    def _forget(self, one: Instance, id: str) -> None:
        if one.master != id and one.known.pop(id, None):
            one.forgotten.add(id)

    def _reset(self, one: Instance, how: str) -> None:
        assert how == "SOFT"
        if one.master or not one.keys:
            one.master, one.slots, one.keys, one.known, one.is_up = "", frozenset(), set(), {}, False

    def _take_over(self, one: Instance) -> None:
        if not one.master:
            return
        if self.of(one.master):
            raise TwoMastersError(f"{one.at.name} takes the place of a master that lives")
        self._promote(one)

    def _promote(self, one: Instance) -> None:
        slots = one.known[one.master].slots if one.master in one.known else frozenset()
        one.epoch = 1 + max([one.epoch, *(node.epoch for node in one.known.values())])
        one.known = {id: replace(node, slots=node.slots - slots) for id, node in one.known.items()}
        one.master, one.slots, one.is_up = "", slots, False

    def _hand_over(self, one: Instance) -> None:
        leader = self.of(one.master) if one.master else None
        if leader and one.is_up and leader.slots:
            one.keys = set(leader.keys)
            self._promote(one)

    # --- time ---

    def tick(self) -> None:
        """All tell each other, some of it."""
        for one in list(self.living.values()):
            for id in list(one.known):
                other = self.of(id)
                if other is None:
                    one.known[id] = replace(one.known[id], linked=False)
                elif self.chance.random() < 0.7:
                    self._hear(one, other)
        for one in self.living.values():
            self._copy(one)

    def _hear(self, one: Instance, other: Instance) -> None:
        one.known[other.id] = replace(other.node, slots=one.known[other.id].slots)
        other.known.setdefault(one.id, one.node)
        for id, node in other.known.items():
            if id != one.id and id not in one.known and id not in one.forgotten and self.of(id):
                one.known[id] = replace(node, slots=frozenset())
        claimed = frozenset(slot for slot in other.slots if slot not in one.known[other.id].slots)
        if not claimed:
            return
        mine = one.slots & claimed if one.epoch < other.epoch else frozenset()
        had = bool(one.slots)
        one.slots -= mine
        for id, node in one.known.items():
            if id != other.id and node.slots & claimed and node.epoch < other.epoch:
                if one.master == id and not node.slots - claimed:
                    one.master, one.is_up = other.id, False
                one.known[id] = replace(node, slots=node.slots - claimed)
        taken = frozenset(slot for slot in claimed if slot not in one.slots and not any(
            slot in node.slots for id, node in one.known.items() if id != other.id))
        one.known[other.id] = replace(one.known[other.id], slots=one.known[other.id].slots | taken)
        if had and not one.slots and not one.master:
            one.master, one.is_up = other.id, False

    def _copy(self, one: Instance) -> None:
        """A replica reaches its master by its address, whoever is there now."""
        one.is_up = False
        node = one.known.get(one.master)
        source = next((other for other in self.living.values() if node and other.at.address == node.address), None)
        if source and not source.master and (source.slots or self.feeds_when_empty):
            one.keys, one.is_up, one.synchronised = set(source.keys), True, one.master

    def write(self, shard: int) -> None:
        """A client's SET and WAIT 1: acknowledged where a replica has it."""
        self.written += 1
        leaders = [one for one in self.living.values() if one.at.shard == shard and one.slots and not one.master]
        if not leaders:
            return
        leader = max(leaders, key=lambda one: one.epoch)
        leader.keys.add(self.written)
        copies = [one for one in self.living.values() if one.master == leader.id and one.is_up]
        for one in copies:
            one.keys.add(self.written)
        if copies:
            self.acknowledged[shard].add(self.written)

    def lost(self) -> dict[int, set[int]]:
        """Acknowledged writes that the leader of their shard does not have."""
        missing = {}
        for shard, writes in self.acknowledged.items():
            leaders = [one for one in self.living.values() if one.at.shard == shard and one.slots]
            held = max(leaders, key=lambda one: one.epoch).keys if leaders else set()
            if gone := writes - held:
                missing[shard] = gone
        return missing

    def covered(self) -> int:
        """How many slots have a master."""
        return sum(len(one.slots) for one in self.living.values())
