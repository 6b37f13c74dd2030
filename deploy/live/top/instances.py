# SPDX-License-Identifier: BSD-2-Clause
"""Commands that each Redis instance has served, by its own count."""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

_PATIENCE = 1.0  # seconds for an answer
_AT_ONCE = 16


@dataclass(frozen=True)
class Served:
    commands: int
    at: float  # seconds, time.monotonic()


class Instances:
    """Keeps a connection to each, so that our own question is the one command that each look costs."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], redis.Redis] = {}
        self._asked: dict[str, int] = {}

    def look(self, addresses: Mapping[str, str]) -> dict[str, Served]:
        """Returns the counts by application; those that do not answer are left out. Our own questions are not
        counted."""
        if not addresses:
            return {}
        with ThreadPoolExecutor(min(_AT_ONCE, len(addresses))) as pool:
            answers = pool.map(lambda item: self._ask(*item), addresses.items())
            return {name: served for name, served in zip(addresses, answers, strict=True) if served}

    def _ask(self, name: str, address: str) -> Served | None:
        client = self._clients.get((name, address))
        if client is None:
            host, _, port = address.rpartition(":")
            client = redis.Redis(
                host=host, port=int(port), socket_timeout=_PATIENCE, socket_connect_timeout=_PATIENCE,
                retry=Retry(NoBackoff(), 0), protocol=2, driver_info=None,  # no greeting: it would count
            )  # fmt: skip
            self._clients[name, address] = client
        try:
            statistics = client.info("stats")
        except (redis.RedisError, OSError):
            return None
        asked = self._asked.get(name, 0)
        self._asked[name] = asked + 1  # Redis counts a command when it is done
        return Served(int(statistics["total_commands_processed"]) - asked, time.monotonic())

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
