# SPDX-License-Identifier: BSD-2-Clause
"""Placement of a Redis Cluster's masters and replicas in failure domains."""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product

import pytest

from deploy.deployment import parse
from deploy.deployment.planner import plan
from deploy.deployment.replicas.placement import ARBITERS, FENCE, MAJORITY, Copy, place
from topology.errors import InputError


def domains_of(rooms: Sequence[int]) -> list[list[int]]:
    """Cores in order, so many of each domain."""
    first = [sum(rooms[:domain]) for domain in range(len(rooms))]
    return [list(range(start, start + room)) for start, room in zip(first, rooms)]


def wrong(copies: Sequence[Copy], domains: Sequence[Sequence[int]], masters: int, replicas: int,
          arbiter: str) -> str | None:
    """Returns which promise a placement breaks: None where it keeps all."""
    shards = {shard: [copy for copy in copies if copy.shard == shard] for shard in range(masters)}
    if len(copies) != masters * (1 + replicas) or any(sorted(copy.number for copy in of) != list(range(1 + replicas))
                                                      for of in shards.values()):
        return "a copy is missing"
    if any(len({copy.domain for copy in of}) < len(of) for of in shards.values()):
        return "two copies in one domain"
    if any(copy.core not in domains[copy.domain] for copy in copies):
        return "a core of another domain"
    if Counter(copy.core for copy in copies) - Counter(core for cores in domains for core in cores):
        return "a core twice"
    most = max(Counter(copy.domain for copy in copies if copy.number == 0).values())
    if replicas and arbiter == MAJORITY and 2 * most >= masters:
        return "half of the masters in one domain"
    return None


def can_be(rooms: Sequence[int], masters: int, replicas: int, arbiter: str) -> bool:
    """Tries all placements: for each shard a domain for its master, and others for its replicas."""
    choices = [(home, others) for home in range(len(rooms))
               for others in combinations([d for d in range(len(rooms)) if d != home], replicas)]
    for made in product(choices, repeat=masters):
        used = Counter(domain for home, others in made for domain in (home, *others))
        most = max(Counter(home for home, _ in made).values())
        if all(used[d] <= room for d, room in enumerate(rooms)) and not (
                replicas and arbiter == MAJORITY and 2 * most >= masters):
            return True
    return False


@pytest.mark.parametrize("arbiter", ARBITERS)
def test_every_small_machine(arbiter: str) -> None:
    """a placement is found if and only if there is one, and it keeps all promises"""
    found = refused = 0
    for count in (1, 2, 3, 4):
        for rooms in product(range(4), repeat=count):
            for masters, replicas in ((1, 0), (1, 1), (2, 1), (3, 0), (3, 1), (3, 2)):
                if count == 4 and (masters, replicas) == (3, 2) and rooms != tuple(sorted(rooms)):
                    continue  # another order of the same rooms, of which there are many
                domains = domains_of(rooms)
                try:
                    copies = place(domains, masters, replicas, arbiter)
                except InputError as error:
                    assert error.at in (("redis", "masters"), ("redis", "replicas")), error
                    assert not can_be(rooms, masters, replicas, arbiter), (rooms, masters, replicas, str(error))
                    refused += 1
                else:
                    assert wrong(copies, domains, masters, replicas, arbiter) is None, (rooms, masters, replicas)
                    found += 1
    assert found > 300 and refused > 300


def test_drawn_machines() -> None:
    """promises hold on large machines, and domains get alike many where they have room"""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance, found = random.Random(seed), 0
    for _ in range(400):
        rooms = [chance.randint(0, 16) for _ in range(chance.randint(1, 16))]
        masters, replicas, arbiter = chance.randint(1, 40), chance.randint(0, 3), chance.choice(ARBITERS)
        try:
            copies = place(domains_of(rooms), masters, replicas, arbiter)
        except InputError:
            continue
        found += 1
        assert wrong(copies, domains_of(rooms), masters, replicas, arbiter) is None, (rooms, masters, replicas)
        used = Counter(copy.domain for copy in copies)
        assert all(used[d] == room or used[d] >= min(masters * (1 + replicas) // len(rooms), room)
                   for d, room in enumerate(rooms)) or min(rooms) < max(rooms)
    assert found > 50


def test_a_placement_that_breaks_a_promise_is_seen() -> None:
    """the check above says which"""
    domains = domains_of((2, 2, 2))
    good = place(domains, 3, 1)
    assert wrong(good, domains, 3, 1, MAJORITY) is None
    assert wrong(good[:-1], domains, 3, 1, MAJORITY) == "a copy is missing"
    together = [Copy(copy.core, 0, copy.shard, copy.number) for copy in good]
    assert wrong(together, domains, 3, 1, MAJORITY) == "two copies in one domain"
    assert wrong([Copy(0, 0, 0, 0), Copy(1, 0, 1, 0), Copy(4, 2, 2, 0), Copy(2, 1, 0, 1), Copy(3, 1, 1, 1),
                  Copy(3, 1, 2, 1)], domains, 3, 1, FENCE) == "a core twice"
    assert wrong([Copy(0, 0, 0, 0), Copy(1, 0, 1, 0), Copy(4, 2, 2, 0), Copy(2, 1, 0, 1), Copy(5, 2, 1, 1),
                  Copy(3, 1, 2, 1)], domains, 3, 1, MAJORITY) == "half of the masters in one domain"


# ---- In a deployment ----

HEAD = 'shutdown = "never"\n[machine]\nsockets = 3\ncores = 3\n[clusters]\nrestart = "on-failure"\n[redis]\n'


def test_a_deployment() -> None:
    """3 masters with a replica each on 3 kernels: apart, with ports that are the host's, in cluster mode"""
    made = plan(parse(HEAD + "masters = 3\nreplicas = 1\nport = 17001\nnode-timeout = 3000\n"))
    home = {app.name: made.cluster_map.cluster_of(app.cpu) for app in made.cluster_map.applications}
    assert len(made.shards) == 3 and all(len({home[name].number for name in shard}) == 2 for shard in made.shards)
    assert len({home[shard[0]].number for shard in made.shards}) == 3
    assert [port for _, port in made.forwards] == list(range(17001, 17007))
    assert made.host_ports == {(name, port): port for name, port in made.forwards}
    for name, port in made.forwards:
        args = made.application(name).args
        assert args[:2] == ["--port", str(port)] and args[-10:-6] == [
            "--cluster-enabled", "yes", "--cluster-node-timeout", "3000"], args
    assert not plan(parse(HEAD + "port = 17001\n")).shards


@pytest.mark.parametrize("text, line", [
    ("masters = 4\nreplicas = 1\ncpus = [1, 1, 1, 3, 4, 5, 7, 8]",
     "file:8: [redis] masters: 3 clusters cannot hold a majority of 4 masters without each one of them; 4 can, or "
     "arbiter = \"fence\""),
    ("masters = 3\nreplicas = 1\ncpus = [1, 1, 1, 4, 4, 4]",
     "file:8: [redis] masters: 2 clusters cannot hold a majority of 3 masters without each one of them; 3 can, or "),
    ("masters = 1\nreplicas = 1",
     "file:8: [redis] masters: 3 clusters cannot hold a majority of 1 master without each one of them; more masters"),
    ("masters = 3\nreplicas = 3",
     "file:8: [redis] masters: 3 masters with 3 replicas each are 12 instances, and there is room for 6 beside the "),
    ("masters = 1\nreplicas = 3", "file:9: [redis] replicas: a master and its replicas need 4 clusters, "),
    ("masters = 3\nreplicas = 1\ncpus = [1, 1, 1, 1, 4, 7]",
     "file:9: [redis] replicas: clusters with room for 4, 1, 1 instances cannot keep 3 masters apart"),
    ("replicas = 1", "file:8: [redis] replicas: is about a Redis Cluster, and there is none; 'masters' says"),
    ("masters = 3\nreplicas = 1\nstack = 'process'", "file:9: [redis] replicas: contradicts 'stack' = 'process'"),
    ("masters = 3\ninstances = 3", "file:9: [redis] instances: contradicts 'masters', which has an instance for each"),
    ("masters = 3\nhost-port = 17001", "file:9: [redis] host-port: contradicts 'masters', which has the same ports"),
    ("masters = 3\ndata = '.'", "file:9: [redis] data: contradicts 'masters', which spreads its instances"),
    ("masters = 3\ncpus = [1, 2]", "file:9: [redis] cpus: names 2, and 3 masters with their replicas are 3 instances"),
    ("masters = 3\nport = 55534", "file:9: [redis] port: 55534 leaves no room for 3 ports up to 55535"),
    ("masters = 3\nnode-timeout = 1", "file:9: [redis] node-timeout: 1 is not a number from 100 to 600000"),
    ("masters = 3\narbiter = 'quorum'", "file:9: [redis] arbiter: 'quorum' is not one of majority, fence"),
    ("masters = 3\n[ycsb]\nclients = 1", "file:10: [ycsb] clients: contradicts 'masters' of [redis]"),
    ("masters = 3\n[metrics]\n", "file:9: [metrics]: contradicts 'masters' of [redis]"),
    ("masters = 3\n[network]\nforward = false", "file:10: [network] forward: contradicts 'masters' of [redis]"),
])
def test_refusals(text: str, line: str) -> None:
    """what cannot be is refused with its line"""
    with pytest.raises(InputError) as refused:
        plan(parse(HEAD + text, "file"))
    assert str(refused.value).startswith(line), refused.value


def test_the_fence_as_arbiter() -> None:
    """two domains will do with it, and it needs clusters that are fenced"""
    text = HEAD.replace("sockets = 3", "sockets = 2") + "masters = 2\nreplicas = 1\narbiter = 'fence'\n"
    made = plan(parse(text, "file"))
    assert len(made.shards) == 2
    with pytest.raises(InputError, match=r"file:9: \[redis\] arbiter: 'fence' needs restart = \"on-failure\""):
        parse(text.replace('restart = "on-failure"\n', ""), "file")
