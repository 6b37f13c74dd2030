# SPDX-License-Identifier: BSD-2-Clause
"""Places the masters of a Redis Cluster and their replicas in failure domains, so that no failure takes both.

A failure domain is a cluster of cores: its kernel's end is the end of all that runs on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from topology.errors import InputError

MAJORITY, FENCE = "majority", "fence"
ARBITERS = (MAJORITY, FENCE)


@dataclass(frozen=True)
class Copy:
    """An instance: a shard's master at the start (`number` 0), or one of its replicas."""

    core: int
    domain: int
    shard: int
    number: int


def place(domains: Sequence[Sequence[int]], masters: int, replicas: int, arbiter: str = MAJORITY) -> list[Copy]:
    """Returns an instance for each master and each replica, in the order of their cores.

    `domains`: the cores of each failure domain that may have an instance, one for each time that they are named. All
    copies of a shard are in different domains. With replicas, and the majority of masters as arbiter, no domain has
    half of the masters or more. Domains get alike many instances as far as they have room. Raises InputError, at the
    key of `[redis]` that asks for too much.
    """
    copies = 1 + replicas
    rooms = [len(cores) for cores in domains]
    _check_number(rooms, masters, replicas)
    most = (masters - 1) // 2 if replicas and arbiter == MAJORITY else masters
    homes = _masters(rooms, masters, most)
    if homes is None:
        raise _no_majority(rooms, masters, most)
    for room in range(-(-masters * copies // len(rooms)), max(rooms) + 1):
        left = [min(size, room) - homes.count(domain) for domain, size in enumerate(rooms)]
        if min(left) >= 0 and (others := _replicas(left, homes, replicas)) is not None:
            return _numbered(domains, homes, others)
    has = ", ".join(map(str, rooms))
    raise InputError("redis replicas", f"clusters with room for {has} instances cannot keep {masters} masters apart "
                                       f"from their {masters * replicas} replicas", at=("redis", "replicas"))


def _check_number(rooms: Sequence[int], masters: int, replicas: int) -> None:
    need = masters * (1 + replicas)
    if need > sum(rooms):
        what = f"{masters} masters with {replicas} replicas each" if replicas else f"{masters} masters"
        raise InputError("redis masters", f"{what} are {need} instances, and there is room for {sum(rooms)} beside the "
                                          f"network; 'cpus' puts several on one core", at=("redis", "masters"))
    if 1 + replicas > (count := sum(map(bool, rooms))):
        raise InputError("redis replicas", f"a master and its replicas need {1 + replicas} clusters, for no failure "
                                           f"may take two of them, and {count} have room", at=("redis", "replicas"))


def _masters(rooms: Sequence[int], masters: int, most: int) -> list[int] | None:
    """Returns the domain of each master, of which a domain gets `most` at most; None where that cannot be."""
    counts = [0] * len(rooms)
    homes = []
    for _ in range(masters):
        free = [domain for domain, room in enumerate(rooms) if counts[domain] < min(room, most)]
        if not free:
            return None
        home = min(free, key=lambda domain: (counts[domain], counts[domain] - rooms[domain]))
        counts[home] += 1
        homes.append(home)
    return homes


def _no_majority(rooms: Sequence[int], masters: int, most: int) -> InputError:
    count = sum(map(bool, rooms))
    clusters = "1 cluster" if count == 1 else f"{count} clusters"
    fewest = f"{-(-masters // most)} can, or" if most else "more masters, or"
    return InputError("redis masters", f"{clusters} cannot hold a majority of {masters} master{'s' * (masters > 1)} "
                      f"without each one of them; {fewest} arbiter = \"{FENCE}\"", at=("redis", "masters"))


def _replicas(left: Sequence[int], homes: Sequence[int], replicas: int) -> list[list[int]] | None:
    """Returns the domains of each shard's replicas, which have room for `left`; None where that cannot be.

    A shard that finds no room takes another's place, which moves on to the next one: augmenting paths.
    """
    taken: list[list[int]] = [[] for _ in left]  # shards
    count = len(left)

    def give(shard: int, seen: set[int]) -> bool:
        for step in range(1, count):
            domain = (homes[shard] + step) % count
            if domain in seen or shard in taken[domain]:
                continue
            seen.add(domain)
            if len(taken[domain]) < left[domain]:
                taken[domain].append(shard)
                return True
            for other in taken[domain]:
                if give(other, seen):
                    taken[domain].remove(other)
                    taken[domain].append(shard)
                    return True
        return False

    if not all(give(shard, set()) for _ in range(replicas) for shard in range(len(homes))):
        return None
    return [[domain for step in range(1, count) if shard in taken[domain := (home + step) % count]]
            for shard, home in enumerate(homes)]


def _numbered(domains: Sequence[Sequence[int]], homes: Sequence[int], others: Sequence[Sequence[int]]) -> list[Copy]:
    free = [list(cores) for cores in domains]
    copies = [Copy(free[home].pop(0), home, shard, 0) for shard, home in enumerate(homes)]
    copies += [Copy(free[domain].pop(0), domain, shard, number) for shard, places in enumerate(others)
               for number, domain in enumerate(places, start=1)]
    return sorted(copies, key=lambda copy: copy.core)
