# SPDX-License-Identifier: BSD-2-Clause
"""Instances of a Redis Cluster as processes of this host, at ports of the loopback interface."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import redis
from redis.crc import key_slot

from deploy.base.paths import BUILD
from deploy.deployment.replicas.settings import BUS, defaults, settings
from deploy.live.replicas.view import Endpoint

SERVER = BUILD / "apps/redis/redis-server-linux"
LOOPBACK = "127.0.0.1"
_ANSWER = 20.0  # seconds


def ports(count: int) -> list[int]:
    """Ports that nobody has, and whose ports of the cluster's bus nobody has."""
    found: list[int] = []
    for port in range(20000, 65535 - BUS):
        if len(found) < count and _is_free(port) and _is_free(port + BUS):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


class Processes:
    """The instances of these shards; each life of one has an empty folder of its own, as in a machine."""

    def __init__(self, folder: Path, shards: int, copies: int, node_timeout: int) -> None:
        self.folder, self.node_timeout, self.lives = folder, node_timeout, 0
        pairs = [(shard, number) for shard in range(shards) for number in range(copies)]
        self.endpoints = [Endpoint(f"redis@{shard}.{number}", (LOOPBACK, port), (LOOPBACK, port), shard, number)
                          for (shard, number), port in zip(pairs, ports(len(pairs)))]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, one: Endpoint) -> None:
        self.lives += 1
        home = self.folder / f"life-{self.lives}"
        home.mkdir()
        words = [SERVER, "--port", str(one.reached[1]), "--bind", LOOPBACK, "--save", "", "--dir", home,
                 *defaults(1), *settings(self.node_timeout, forward=True)]
        with (home / "log").open("wb") as log:
            self.running[one.name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self, one: Endpoint) -> None:
        process = self.running.pop(one.name)
        process.kill()
        process.wait()

    def client(self, one: Endpoint) -> redis.Redis:
        return redis.Redis(port=one.reached[1], socket_timeout=_ANSWER, socket_connect_timeout=_ANSWER)

    def check(self) -> str:
        """Returns what `redis-cli --cluster check` says; CalledProcessError where it finds something."""
        one = next(one for one in self.endpoints if one.name in self.running)
        return checked(f"{LOOPBACK}:{one.reached[1]}")


def checked(address: str, environment: Mapping[str, str] | None = None) -> str:
    """Returns what `redis-cli --cluster check` says; CalledProcessError where it finds something."""
    return subprocess.run(["redis-cli", "--cluster", "check", address], check=True, capture_output=True, text=True,
                          env=None if environment is None else dict(environment)).stdout


HAS_CLI = shutil.which("redis-cli") is not None  # of redis-tools


@contextmanager
def processes(folder: Path, shards: int = 3, copies: int = 2, node_timeout: int = 60_000) -> Iterator[Processes]:
    """A node timeout of a minute, unless told otherwise: Redis fails over by itself in no test then."""
    made = Processes(folder, shards, copies, node_timeout)
    try:
        for one in made.endpoints:
            made.start(one)
        yield made
    finally:
        for process in made.running.values():
            process.kill()
            process.wait()


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
