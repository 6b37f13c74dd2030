# SPDX-License-Identifier: BSD-2-Clause
"""The former of a Redis Cluster: its next steps, on a cluster in small whose instances end and return at any moment."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from dataclasses import replace

import pytest

from deploy.base.errors import Failure
from deploy.live.replicas import former as former_module, steps as steps_module
from deploy.live.replicas.former import Former, Talk
from deploy.live.replicas.steps import HAND_OVER, TAKEOVER, Step, Verdict, next_steps
from deploy.live.replicas.view import Endpoint, Node, View, parse_nodes, ranges, view_of
from tests.unit.deploy.cluster_world import TwoMastersError, World, domain_of, endpoints_of
from topology.errors import InputError

DOMAINS = 3
FEW = 15  # slots in place of Redis's, so that thousands of rounds take seconds
ROUNDS = 400  # more than any path to a whole cluster takes


@pytest.fixture(autouse=True)
def few_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_module, "SLOTS", FEW)


class Life:
    """A cluster, its former, and what the managers know."""

    def __init__(self, seed: str, shards: int = 3, copies: int = 2, **how: bool) -> None:
        self.chance = random.Random(seed)
        self.endpoints = endpoints_of(shards, copies)
        self.world = World(self.endpoints, self.chance, **how)
        self.over: set[str] = set()
        self.last, self.is_new = Verdict(), True

    def of(self, domain: int) -> list[Endpoint]:
        return [one for one in self.endpoints if domain_of(one, DOMAINS) == domain]

    def round(self) -> Verdict:
        self.last = next_steps(self.endpoints, self.world.views(), self.over, self.is_new)
        self.is_new = self.is_new and not self.last.is_whole
        for step in self.last.steps:
            if self.chance.random() < 0.9:  # another one is lost on its way
                self.world.do(step)
        for one in self.endpoints:
            self.world.write(one.shard)
        self.world.tick()
        return self.last

    def run(self, rounds: int = ROUNDS) -> Verdict:
        """Until whole, or nothing can be done."""
        for _ in range(rounds):
            verdict = self.round()
            if verdict.is_whole or (verdict.lost and not verdict.steps and not verdict.waits):
                return verdict
        return self.last

    def end(self, domain: int, fenced: bool = True) -> None:
        for one in self.of(domain):
            self.world.end(one)
            if fenced:
                self.over.add(one.name)

    def fence(self, domain: int) -> None:
        self.over |= {one.name for one in self.of(domain)}

    def back(self, domain: int) -> None:
        for one in self.of(domain):
            self.world.start(one)
            self.over.discard(one.name)

    def assert_whole(self) -> None:
        verdict = self.run()
        assert verdict.is_whole, verdict
        leaders = [one for one in self.world.living.values() if one.slots]
        assert self.world.covered() == FEW and sorted(one.at.number for one in leaders) == [0] * len(leaders)
        assert len(leaders) == len({one.shard for one in self.endpoints})
        assert all(set(one.known) == {other.id for other in self.world.living.values()} - {one.id}
                   for one in self.world.living.values()), "somebody remembers an instance that is gone"
        assert not self.world.lost()


@pytest.mark.parametrize("shards, copies", [(1, 2), (3, 1), (3, 2), (3, 3), (5, 2)])
def test_forming(shards: int, copies: int) -> None:
    """empty instances become a whole cluster; a second look at it takes no step"""
    life = Life("forming", shards, copies)
    life.assert_whole()
    assert next_steps(life.endpoints, life.world.views(), ()).is_whole


@pytest.mark.parametrize("seed", range(60))
def test_one_domain_at_a_time(seed: int) -> None:
    """a domain that ends, is fenced and returns, at any moment of forming or of another one's return that is settled:
    no acknowledged write is lost, and the placement's masters lead again"""
    life = Life(f"one {seed}")
    for _ in range(life.chance.randrange(12)):  # the first one ends while the cluster is made
        life.round()
    for _ in range(3):
        domain = life.chance.randrange(DOMAINS)
        life.end(domain, fenced=False)
        for _ in range(life.chance.randrange(4)):
            assert not any(step.words == TAKEOVER for step in life.round().steps), "before the fence"
        life.fence(domain)
        for _ in range(life.chance.randrange(6)):
            life.round()
        life.back(domain)
        life.assert_whole()


@pytest.mark.parametrize("seed", range(60))
def test_any_ends(seed: int) -> None:
    """domains that end whenever they like, two at once too: the cluster is whole in the end, or it is said which shard
    is lost, and no other one has lost a write"""
    life = Life(f"any {seed}")
    for _ in range(6):
        for _ in range(life.chance.randrange(25)):
            life.round()
        for domain in life.chance.sample(range(DOMAINS), life.chance.randint(1, 2)):
            life.end(domain)
        for _ in range(life.chance.randrange(8)):
            life.round()
        for domain in range(DOMAINS):
            if life.of(domain)[0].name in life.over:
                life.back(domain)
    verdict = life.run()
    assert verdict.is_whole or verdict.lost, verdict
    said = {int(text.split()[1]) - 1 for text in verdict.lost}
    if verdict.is_whole:
        return  # with all copies of a shard at once its writes are gone, when nobody was left that knew of them
    assert {shard for shard in range(3) if not any(one.slots for one in life.world.living.values()
                                                   if one.at.shard == shard)} == said


def test_two_at_once() -> None:
    """both copies of a shard end together: the other shards are led and whole, the lost one is named, and nobody gives
    its slots to an empty instance"""
    life = Life("two")
    life.assert_whole()
    life.end(0)
    life.end(1)
    for domain in (0, 1):
        life.back(domain)
    verdict = life.run()
    assert verdict.lost == ["shard 1 is lost: all its copies ended together (redis@0, redis@1)"], verdict
    led = {one.at.shard for one in life.world.living.values() if one.slots}
    assert led == {1, 2} and {shard for shard in life.world.lost()} == {0}


def test_no_quorum_and_no_fence() -> None:
    """two domains that are silent and not fenced: nothing is done, and what is missing is named"""
    life = Life("silent")
    life.assert_whole()
    for domain in (0, 1):
        life.world.unreached |= {one.name for one in life.of(domain)}
    for _ in range(50):
        verdict = life.round()
        assert not verdict.steps, verdict.steps
    names = " ".join(verdict.waits)
    assert all(one.name in names for domain in (0, 1) for one in life.of(domain))


def test_a_takeover_before_the_fence_is_seen() -> None:
    """planted: a former that takes silence for an end makes a second master beside one that lives"""
    life = Life("planted")
    life.assert_whole()
    life.world.unreached |= {one.name for one in life.of(1)}
    life.fence(1)  # it was not
    with pytest.raises(TwoMastersError):
        life.run(20)


def test_an_empty_master_that_returns_is_seen() -> None:
    """planted: where an instance without slots lets replicas copy it, its fast return empties the shard"""
    lost = []
    for feeds in (False, True):
        life = Life("fast", feeds_when_empty=feeds)
        life.assert_whole()
        life.end(1, fenced=False)
        life.fence(1)
        life.back(1)  # before anybody took its place
        life.world.tick()
        life.run()
        lost.append(bool(life.world.lost()))
    assert lost == [False, True]


# ---- Single steps ----

ONE, TWO = endpoints_of(1, 2)


def node(number: int, one: Endpoint, *flags: str, **more: object) -> Node:
    return Node(f"{number:040x}", one.address, frozenset(flags), **more)  # type: ignore[arg-type]


def pair(up: bool = True, has_data: bool = True) -> tuple[View, View]:
    """A master with all slots and its replica."""
    master = node(1, ONE, "master", slots=frozenset(range(FEW)))
    replica = node(2, TWO, "slave", master=master.id)
    both = {master.id: master, replica.id: replica}
    return View(master, both), View(replica, both, True, up, has_data, 100)


def steps(views: dict[str, View], over: Collection[str] = ()) -> list[tuple[str, ...]]:
    return [(step.endpoint.name, *step.words) for step in next_steps([ONE, TWO], views, over).steps]


def test_takeover() -> None:
    """of a master whose end is known, or in whose place another life answers; by a replica that has data"""
    there, replica = pair(up=False)
    assert steps({TWO.name: replica}) == []
    assert steps({TWO.name: replica}, [TWO.name]) == []
    assert steps({TWO.name: replica}, [ONE.name]) == [(TWO.name, *TAKEOVER)]
    fresh = node(3, ONE, "master")
    again = steps({ONE.name: View(fresh, {fresh.id: fresh}), TWO.name: replica})
    assert again[0] == (TWO.name, *TAKEOVER) and all(words[2] != "ADDSLOTSRANGE" for words in again)
    empty = pair(up=False, has_data=False)[1]
    assert next_steps([ONE, TWO], {TWO.name: empty}, [ONE.name]).lost
    assert steps({ONE.name: there, TWO.name: pair()[1]}, [ONE.name]) == [], "it answers, so it is not over"


def test_a_master_without_an_address() -> None:
    """is over only where no instance is silent: it could be that one"""
    _, replica = pair(up=False)
    nodes = {id: Node(id, ("", 0), one.flags, one.master, 0, False, one.slots) if one.is_master else one
             for id, one in replica.nodes.items()}
    view = View(replica.myself, nodes, True, False, True, 100)
    assert steps({TWO.name: view}) == []
    assert steps({TWO.name: view}, [ONE.name]) == [(TWO.name, *TAKEOVER)]


def test_the_best_replica() -> None:
    """the one that has data and most of its master's stream"""
    three = endpoints_of(1, 3)
    master = node(1, three[0], "master", slots=frozenset(range(FEW)))
    views = {}
    for number, (has_data, offset) in enumerate([(False, 900), (True, 500)], start=1):
        myself = node(number + 1, three[number], "slave", master=master.id)
        views[three[number].name] = View(myself, {master.id: master, myself.id: myself}, True, False, has_data, offset)
    found = [step for step in next_steps(three, views, [three[0].name]).steps if step.words == TAKEOVER]
    assert [step.endpoint for step in found] == [three[2]]


def test_hand_over() -> None:
    """to the placement's master, when all else is done"""
    master = node(1, TWO, "master", slots=frozenset(range(FEW)))
    replica = node(2, ONE, "slave", master=master.id)
    both = {master.id: master, replica.id: replica}
    ready = {TWO.name: View(master, both), ONE.name: View(replica, both, True, True, True, 100)}
    assert steps(ready) == [(ONE.name, *HAND_OVER)]
    assert steps(ready | {ONE.name: View(replica, both, True, False, True, 100)}) == []


def test_slots_are_given_only_where_nobody_can_have_them() -> None:
    """an instance that knows nobody gets slots when all others answer or are over, and none is silent"""
    fresh = node(1, ONE, "master")
    views = {ONE.name: View(fresh, {fresh.id: fresh})}
    assert steps(views) == []
    assert steps(views, [TWO.name]) == [(ONE.name, "CLUSTER", "ADDSLOTSRANGE", "0", str(FEW - 1))]


# ---- What instances say ----

FIRST, SECOND, MINE, GONE, UNKNOWN = ("07c37dfeb235213a872192d90877d0cd55635b91",
                                      "67ed2db8d677e59ec4a4cefb06858cf2a1a89fa1",
                                      "e7d1eecce10fd6bb5eb35b9f99a514335d9ba9ca",
                                      "292f8b365bb7edb5e285caf0b7e6ddc7265d2f4f",
                                      "824fe116063bc5fcf9f4ffd895bc17aee7731ac3")
NODES = f"""\
{FIRST} 10.0.2.104:30004@40004,127.0.0.1 slave {MINE} 0 1426238317239 4 connected
{SECOND} 10.0.2.102:30002@40002,127.0.0.1,tls-port=0 master - 0 1426238316232 2 connected 5461-10922
{MINE} 10.0.2.101:30001@40001 myself,master - 0 0 1 connected 0-5460 [93-<-{SECOND}]
{GONE} :0@0 master,noaddr - 1426238316 1426238316232 3 disconnected 10923 10925-16383
{UNKNOWN} 10.0.2.106:30006@40006 handshake - 0 0 0 connected
"""


def test_nodes() -> None:
    """lines of CLUSTER NODES, of Redis 7 with a host's name and without"""
    nodes = parse_nodes(NODES, "redis@1")
    first, second, myself, gone, unknown = nodes.values()
    assert first.master == myself.id and first.address == ("10.0.2.104", 30004) and not first.is_master
    assert len(second.slots) == 5462 and second.epoch == 2 and not second.is_moving and myself.is_moving
    assert gone.address == ("", 0) and not gone.linked and ranges(gone.slots) == [(10923, 10923), (10925, 16383)]
    view = view_of("redis@1", NODES, "cluster_state:ok\r\n", "role:master\r\ndb0:keys=3,expires=0,avg_ttl=0\r\n")
    assert view.myself == myself and view.is_ok and view.has_data and unknown.id not in view.known


@pytest.mark.parametrize("text", [
    "", "garbage", NODES.replace("myself,", ""), NODES.replace("0-5460", "0-16384"), NODES.replace("10923", "-1"),
    NODES.replace("e7d1eecce10f", "E7d1eecce10f"), NODES.replace("@40002", "@x"), NODES[:60],
])
def test_hostile_nodes(text: str) -> None:
    """what is no answer is refused with the instance's name"""
    with pytest.raises(InputError, match="redis@1"):
        parse_nodes(text, "redis@1")


def test_synchronised() -> None:
    """a replica has data while its link is up, when it holds keys, or when it was up with the master it has"""
    text = NODES.replace("myself,", "").replace("slave e7d1", "myself,slave e7d1")
    myself, master = (next(id for id in parse_nodes(text, "") if id.startswith(word)) for word in ("07c3", "e7d1"))
    up, down = "role:slave\r\nmaster_link_status:up\r\n", "role:slave\r\nmaster_link_status:down\r\n"
    assert view_of("", text, "", up).is_synchronised and view_of("", text, "", up).has_data
    assert not view_of("", text, "", down).has_data and view_of("", text, "", down + "db0:keys=1").has_data
    assert view_of("", text, "", down, {myself: master}).has_data
    assert not view_of("", text, "", down, {myself: myself}).has_data


# ---- What it does with them ----

def test_a_hand_over_is_not_tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """whether it was refused or not; another shard's is, and so are other steps"""
    now = 1000.0
    monkeypatch.setattr(former_module.time, "monotonic", lambda: now)
    former = Former([ONE, TWO], node_timeout=2.0)
    asked: list[tuple[str, ...]] = []

    async def ask(talk: Talk, *commands: tuple[str, ...]) -> list[str]:
        asked.extend(commands)
        raise ConnectionError

    monkeypatch.setattr(Talk, "ask", ask)
    step = Step(ONE, HAND_OVER, "")
    assert former._is_due(step)
    asyncio.run(former._take(step))
    assert asked == [HAND_OVER] and not former._is_due(step) and not former._is_due(Step(TWO, HAND_OVER, ""))
    assert former._is_due(Step(replace(ONE, shard=1), HAND_OVER, "")) and former._is_due(Step(ONE, TAKEOVER, ""))
    now += 8.9
    assert not former._is_due(step)
    now += 0.2
    assert former._is_due(step) and not former.promotions


def test_a_step_that_is_refused_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """ends the former with an error that names it"""
    former = Former([ONE, TWO])

    async def round_(self: Former) -> Verdict:
        return Verdict([Step(ONE, ("CLUSTER", "MEET", "10.0.2.1", "7001"), "redis@1 is new")])

    monkeypatch.setattr(Former, "round", round_)
    with pytest.raises(Failure, match="redis@0 does not do CLUSTER MEET: redis@1 is new"):
        former.form(0.2)
