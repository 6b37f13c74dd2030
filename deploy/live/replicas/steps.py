# SPDX-License-Identifier: BSD-2-Clause
"""The next steps to a whole Redis Cluster, from what its instances say. Nothing is remembered: it may begin anywhere.

Whole means that all instances answer and agree, each slot has a master, each shard is led by the instance that the
placement says, all others are its synchronised replicas, and nobody knows an instance that is no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deploy.live.replicas.view import SLOTS, Endpoint, Node, View, ranges

TAKEOVER = ("CLUSTER", "FAILOVER", "TAKEOVER")
HAND_OVER = ("CLUSTER", "FAILOVER")  # from the master to this replica, when it has all


@dataclass(frozen=True)
class Step:
    """A command for one instance, and why."""

    endpoint: Endpoint
    words: tuple[str, ...]
    why: str


@dataclass
class Verdict:
    """What to do now. Neither steps, nor waits, nor lost shards: the cluster is whole."""

    steps: list[Step] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)  # for what, a line each
    lost: list[str] = field(default_factory=list)   # shards whose data are gone, a line each

    @property
    def is_whole(self) -> bool:
        return not self.steps and not self.waits and not self.lost


def next_steps(endpoints: Sequence[Endpoint], views: Mapping[str, View], over: Collection[str],
               is_new: bool = False) -> Verdict:
    """Returns what brings the cluster closer to being whole.

    `is_new`: it was never whole, so a shard whose copies have all ended had nothing to keep, and is begun anew.

    `views`: by the names of those that answer. `over`: names of those whose life is known to have ended (its process
    has, or its cluster of cores is fenced), and which have not begun to serve since. One that is silent and not over
    may live: nobody takes its place.
    """
    return _Former(endpoints, views, over, is_new).verdict()


def slots_of(shard: int, shards: int) -> frozenset[int]:
    """Returns the slots that a shard gets when the cluster is made."""
    return frozenset(range(shard * SLOTS // shards, (shard + 1) * SLOTS // shards))


class _Former:
    def __init__(self, endpoints: Sequence[Endpoint], views: Mapping[str, View], over: Collection[str],
                 is_new: bool) -> None:
        self.endpoints, self.views, self.over, self.is_new = endpoints, views, over, is_new
        self.living = [one for one in endpoints if one.name in views]
        self.ids = {views[one.name].myself.id: one for one in self.living}
        self.at = {one.address: one for one in endpoints}
        self.silent = [one for one in endpoints if one.name not in views and one.name not in over]
        self.shards = [[one for one in endpoints if one.shard == shard]
                       for shard in sorted({one.shard for one in endpoints})]
        self.result = Verdict()

    def verdict(self) -> Verdict:
        leaders = [self._leader(shard) for shard in self.shards]
        self._meet()
        for shard, leader in zip(self.shards, leaders, strict=True):
            if leader:
                self._follow(shard, leader)
        self._forget()
        self._await_members()
        if not self.result.steps and not self.result.waits:
            self._await_agreement()
        if not self.result.steps and not self.result.waits and not self.result.lost:
            self._give_back([leader for leader in leaders if leader])
        return self.result

    # --- what is known ---

    def _view(self, one: Endpoint) -> View:
        return self.views[one.name]

    def _id(self, one: Endpoint) -> str:
        return self._view(one).myself.id

    def _address(self, id: str) -> tuple[str, int]:
        """Where a node was last; ("", 0) where nobody knows."""
        return next((node.address for view in self.views.values() if (node := view.nodes.get(id)) and node.address[1]),
                    ("", 0))

    def _is_over(self, id: str) -> bool:
        """Whether the life with this id has ended, for certain. Where it was, another one answers, or nobody can."""
        if id in self.ids:
            return False
        place = self.at.get(self._address(id))
        return not self.silent if place is None else place not in self.silent

    def _step(self, one: Endpoint, why: str, *words: str) -> None:
        self.result.steps.append(Step(one, words, why))

    def _wait(self, text: str) -> None:
        if text not in self.result.waits:
            self.result.waits.append(text)

    # --- a shard's leader ---

    def _leader(self, shard: Sequence[Endpoint]) -> Endpoint | None:
        """Returns the living master of a shard that has slots. Where there is none, makes one, or says why not."""
        living = [one for one in shard if one.name in self.views]
        leaders = [one for one in living if self._view(one).myself.is_master and self._view(one).myself.slots]
        if leaders:
            return max(leaders, key=lambda one: self._view(one).myself.epoch)
        heirs = [one for one in living if self._view(one).myself.master]
        if any(self._view(one).myself.master in self.ids for one in heirs):
            self._wait(f"{_names(heirs)} to follow another master")
        elif heirs:
            self._take_over(shard, heirs)
        else:
            self._begin(shard, living)
        return None

    def _take_over(self, shard: Sequence[Endpoint], heirs: Sequence[Endpoint]) -> None:
        """Its master is gone: the replica that has most of its data takes its place, once it is certain that nobody is
        there."""
        masters = {self._view(one).myself.master for one in heirs}
        if alive := [id for id in masters if not self._is_over(id)]:
            place = self.at.get(self._address(alive[0]))
            self._wait(f"{place.name if place else _names(self.silent)}, which does not answer and may live")
            return
        best = max(heirs, key=lambda one: (self._view(one).has_data, self._view(one).offset, -one.number))
        if self._view(best).has_data:
            self._step(best, f"shard {_number(shard)} has lost its master", *TAKEOVER)
        else:
            self._lose(shard, masters)

    def _begin(self, shard: Sequence[Endpoint], living: Sequence[Endpoint]) -> None:
        """Nobody has data: the shard is new, or lost."""
        wanted = slots_of(self.shards.index(list(shard)), len(self.shards))
        owned = {slot for view in self.views.values() for node in view.nodes.values() for slot in node.slots}
        if owners := {node.id for view in self.views.values() for node in view.nodes.values() if node.slots & wanted}:
            if all(self._is_over(id) for id in owners):
                self._lose(shard, owners)
            else:
                self._wait(f"the master of shard {_number(shard)}")
        elif self.silent:
            self._wait(f"{_names(self.silent)}, which does not answer and may have its slots")
        elif living:
            words = [str(end) for pair in ranges(wanted - owned) for end in pair]
            self._step(living[0], f"shard {_number(shard)} is new", "CLUSTER", "ADDSLOTSRANGE", *words)

    def _lose(self, shard: Sequence[Endpoint], gone: Collection[str]) -> None:
        """All copies of its data are gone, with the masters of these ids."""
        if self.is_new:
            for one in self.living:
                if self._view(one).myself.master in gone:
                    self._step(one, "its master is gone, and it has no data", "CLUSTER", "RESET", "SOFT")
                else:
                    for id in self._view(one).known.keys() & gone:
                        self._step(one, f"shard {_number(shard)} begins anew", "CLUSTER", "FORGET", id)
            return
        self.result.lost.append(f"shard {_number(shard)} is lost: all its copies ended together ({_names(shard)})")

    # --- all know each other ---

    def _meet(self) -> None:
        """The one that knows most meets those that it does not know, or that do not know it."""
        if not self.living:
            return
        seed = max(self.living, key=lambda one: sum(id in self._view(one).known for id in self.ids))
        there = self._view(seed)
        for one in self.living:
            if one is seed or (self._id(one) in there.known and self._id(seed) in self._view(one).known):
                continue
            if any(node.address == one.address and "handshake" in node.flags for node in there.nodes.values()):
                self._wait(f"{seed.name} and {one.name} to meet")
            else:
                self._step(seed, f"{one.name} is new", "CLUSTER", "MEET", one.address[0], str(one.address[1]))

    # --- replicas ---

    def _follow(self, shard: Sequence[Endpoint], leader: Endpoint) -> None:
        """All others of the shard are to be replicas of its leader."""
        for one in shard:
            if one is leader or one.name not in self.views:
                continue
            view = self._view(one)
            if view.myself.master == self._id(leader):
                if not view.is_synchronised:
                    self._wait(f"{one.name} to be synchronised with {leader.name}")
            elif view.myself.slots:
                self._wait(f"{one.name} and {leader.name}, which both have slots of shard {_number(shard)}, to agree")
            elif not self._is_known_master(view, leader):
                self._wait(f"{one.name} to know {leader.name} as a master")
            elif view.myself.is_master and view.has_data:
                self._wait(f"{one.name} to be emptied: it holds keys, and none of the cluster's slots")
            else:
                self._step(one, f"{leader.name} leads shard {_number(shard)}", "CLUSTER", "REPLICATE", self._id(leader))

    def _is_known_master(self, view: View, leader: Endpoint) -> bool:
        node = view.known.get(self._id(leader))
        return node is not None and node.is_master

    # --- nobody is remembered that is gone ---

    def _forget(self) -> None:
        for one in self.living:
            view = self._view(one)
            for node in view.known.values():
                if node.id in self.ids:
                    continue
                if not self._is_over(node.id):
                    place = self.at.get(self._address(node.id))
                    self._wait(f"{place.name if place else node.id}, which does not answer")
                elif node.slots or node.id == view.myself.master:
                    if not self.result.lost:
                        self._wait(f"{one.name} to learn who leads in the place of {self._place_of(node)}")
                else:
                    self._step(one, f"{self._place_of(node)} is no more", "CLUSTER", "FORGET", node.id)

    def _place_of(self, node: Node) -> str:
        place = self.at.get(self._address(node.id))
        return f"a former life of {place.name}" if place else f"node {node.id[:8]}"

    # --- nothing is missing ---

    def _await_members(self) -> None:
        for one in self.endpoints:
            if one.name not in self.views:
                self._wait(f"{one.name}, which {'has ended' if one.name in self.over else 'does not answer'}")

    def _await_agreement(self) -> None:
        """All say the same of all."""
        told = {id: self._view(one).myself for id, one in self.ids.items()}
        for one in self.living:
            view = self._view(one)
            for id, other in self.ids.items():
                if (problem := _difference(view.nodes.get(id), told[id])) and id != self._id(one):
                    self._wait(f"{one.name} to learn of {other.name}: {problem}")
            if not view.is_ok:
                self._wait(f"{one.name} to see the cluster's state as ok")
            if view.myself.is_moving:
                self._wait(f"{one.name}, whose slots are being moved")
        missing = SLOTS - sum(len(node.slots) for node in told.values())
        if missing > 0 and not self.result.lost:
            self._wait(f"{missing} slots without a master")

    def _give_back(self, leaders: Sequence[Endpoint]) -> None:
        """Masters are where the placement has them, one at a time: the leader hands over when its replica has all."""
        for leader in leaders:
            first = next(one for one in self.endpoints if one.shard == leader.shard)
            if leader is not first:
                self._step(first, f"shard {leader.shard + 1} is its own when all is whole", *HAND_OVER)
                return


def _difference(node: Node | None, told: Node) -> str:
    """Returns how a node's line differs from what the node says of itself; empty where they agree."""
    if node is None:
        return "it does not know it"
    pairs: Iterator[tuple[bool, str]] = iter((
        (not node.linked, "no link"), (bool(node.flags & {"fail", "fail?", "handshake", "noaddr"}), "a failure"),
        (node.is_master != told.is_master or node.master != told.master, "its role"),
        (node.slots != told.slots, "its slots"),
    ))
    return next((text for differs, text in pairs if differs), "")


def _names(endpoints: Collection[Endpoint]) -> str:
    return ", ".join(one.name for one in endpoints)


def _number(shard: Sequence[Endpoint]) -> int:
    return shard[0].shard + 1
