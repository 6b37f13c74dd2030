# SPDX-License-Identifier: BSD-2-Clause
"""A Redis Cluster of this host's processes, and writes of which a test knows what was acknowledged."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import redis
from redis.crc import key_slot

from deploy.bench.failover import linux
from deploy.bench.failover.linux import Processes
from deploy.live.replicas.view import Endpoint

COPIES = [(shard, number) for shard in range(3) for number in range(2)]
HAS_CLI = shutil.which("redis-cli") is not None  # of redis-tools
_ANSWER = 20.0  # seconds


def processes(folder: Path, node_timeout: int = 60_000) -> AbstractContextManager[Processes]:
    """Three masters, each with a replica. After a node timeout of a minute Redis fails over by itself in no test."""
    return linux.processes(folder, COPIES, node_timeout)


def client(one: Endpoint) -> redis.Redis:
    host, port = one.reached
    return redis.Redis(host=host, port=port, socket_timeout=_ANSWER, socket_connect_timeout=_ANSWER)


def check(made: Processes) -> str:
    """Returns what redis-cli says; CalledProcessError where it finds something."""
    one = next(one for one in made.endpoints if one.name in made.running)
    return checked(one)


def checked(one: Endpoint, environment: Mapping[str, str] | None = None) -> str:
    """Returns what `redis-cli --cluster check` says; CalledProcessError where it finds something."""
    host, port = one.reached
    return subprocess.run(["redis-cli", "--cluster", "check", f"{host}:{port}"], check=True, capture_output=True,
                          text=True, env=None if environment is None else dict(environment)).stdout


class Stamps:
    """Writes with WAIT 1 to the instances that lead, and what was acknowledged so."""

    def __init__(self, client: Callable[[Endpoint], redis.Redis], endpoints: Sequence[Endpoint]) -> None:
        self._client, self.endpoints = client, endpoints
        self.acknowledged: dict[str, int] = {}
        self._number = 0

    @contextmanager
    def _leaders(self) -> Iterator[list[tuple[redis.Redis, range]]]:
        """Clients of those that lead, each with slots of its own."""
        clients = [self._client(one) for one in self.endpoints]
        try:
            yield [(client, slots) for client in clients if (slots := _slots(client))]
        finally:
            for client in clients:
                client.close()

    def write(self, count: int, milliseconds: int = 2000) -> int:
        """Writes so many stamps; returns how many were acknowledged."""
        before = len(self.acknowledged)
        with self._leaders() as leaders:
            for index in range(count):
                client, slots = leaders[index % len(leaders)]
                key = self._next_key(slots)
                if client.set(key, self._number) and client.wait(1, milliseconds) >= 1:
                    self.acknowledged[key] = self._number
        return len(self.acknowledged) - before

    def _next_key(self, slots: range) -> str:
        while True:
            self._number += 1
            if key_slot((key := f"stamp:{self._number}").encode()) in slots:
                return key

    def kept(self) -> dict[str, int]:
        """Returns what those that lead have."""
        found: dict[str, int] = {}
        with self._leaders() as leaders:
            for client, _ in leaders:
                found |= {key.decode(): int(client.get(key) or 0) for key in client.keys("stamp:*")}
        return found

    def lost(self) -> list[str]:
        """Acknowledged writes that those that lead do not have."""
        found = self.kept()
        return [key for key, number in self.acknowledged.items() if found.get(key) != number]


def _slots(client: redis.Redis) -> range:
    """The first slots that an instance leads; none of a replica, and of one that does not answer."""
    try:
        nodes = client.execute_command("CLUSTER NODES").values()
    except (redis.RedisError, OSError):
        return range(0)
    ends = next(node["slots"] for node in nodes if "myself" in node["flags"])
    return range(int(ends[0][0]), int(ends[0][-1]) + 1) if ends else range(0)
