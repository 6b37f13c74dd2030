# SPDX-License-Identifier: BSD-2-Clause
"""Clients that write to every instance of a Redis Cluster, note what was acknowledged, and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import redis
from redis.crc import key_slot

from deploy.live.replicas.steps import slots_of
from deploy.live.replicas.view import Endpoint

PAUSE = 0.002    # seconds between two writes, and between attempts at an instance that does not lead
WAIT_MS = 50     # of WAIT 1
SILENCE = 0.5    # seconds until an answer is given up
_PATIENT = 20.0  # the same, where the end is checked


class Writer(threading.Thread):
    """Writes numbers to one instance, each to a key of its own in the instance's shard, one at a time, with WAIT 1. One
    that does not lead refuses them."""

    def __init__(self, one: Endpoint, shards: int) -> None:
        super().__init__(daemon=True, name=f"writer of {one.name}")
        self.endpoint = one
        self.over = threading.Event()
        self.written: list[float] = []       # time.monotonic() of each answer OK
        self.acknowledged: list[str] = []    # keys of those that a replica had
        self.errors: list[float] = []        # of a connection, while it led
        self._tag = tag_of(one.shard, shards)
        self._number = 0

    def run(self) -> None:
        while not self.over.is_set():
            led = False
            connection = _connection(self.endpoint)
            try:
                connection.connect()
                while not self.over.is_set():
                    led = self._write(connection)
                    time.sleep(PAUSE)
            except (redis.RedisError, OSError):
                if led:
                    self.errors.append(time.monotonic())
                time.sleep(PAUSE)
            finally:
                with suppress(redis.RedisError, OSError):
                    connection.disconnect()

    def _write(self, connection: Any) -> bool:
        """Returns whether the instance leads."""
        self._number += 1
        key = f"{{{self._tag}}}{self.endpoint.name}:{self._number}"
        connection.send_command("SET", key, self._number)
        try:
            connection.read_response()
        except redis.ResponseError:  # MOVED, or the cluster is down
            return False
        self.written.append(time.monotonic())
        connection.send_command("WAIT", 1, WAIT_MS)
        if int(connection.read_response()) >= 1:
            self.acknowledged.append(key)
        return True


def _connection(one: Endpoint) -> Any:  # redis-py's own types are not complete
    host, port = one.reached
    return redis.Connection(host=host, port=port, protocol=2, socket_timeout=SILENCE, socket_connect_timeout=SILENCE,
                            driver_info=None)  # type: ignore[no-untyped-call]


def tag_of(shard: int, shards: int) -> str:
    """Returns what in the braces of a key makes it one of the shard's."""
    slots = slots_of(shard, shards)
    return next(str(number) for number in range(1 << 20) if key_slot(str(number).encode()) in slots)


class Writers:
    """Use by `writing()`."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        shards = len({one.shard for one in endpoints})
        self.all = [Writer(one, shards) for one in endpoints]

    def written_after(self, shard: int, moment: float, but: set[str]) -> float | None:
        """Returns when the shard's first write after `moment` was answered, by another instance than these."""
        times = [at for one in self.all if one.endpoint.shard == shard and one.endpoint.name not in but
                 for at in one.written[-2000:] if at > moment]
        return min(times, default=None)

    def longest_gap(self, shard: int, since: float, until: float) -> float:
        """Returns the longest time in these seconds without an answered write of the shard."""
        times = sorted(at for one in self.all if one.endpoint.shard == shard for at in one.written
                       if since <= at <= until)
        marks = [since, *times, until]
        return max(later - earlier for earlier, later in zip(marks, marks[1:]))

    def errors(self, shards: set[int], since: float) -> int:
        return sum(at >= since for one in self.all if one.endpoint.shard in shards for at in one.errors)

    def count(self) -> int:
        return sum(len(one.acknowledged) for one in self.all)

    def lost(self) -> list[str]:
        """Returns the acknowledged keys that nobody who leads has. For a cluster that is whole, when nobody writes."""
        kept: set[str] = set()
        for one in self.all:
            host, port = one.endpoint.reached
            with redis.Redis(host=host, port=port, socket_timeout=_PATIENT) as server:
                if server.info("replication")["role"] == "master":
                    kept |= {key.decode() for key in server.scan_iter(count=1000)}
        return [key for one in self.all for key in one.acknowledged if key not in kept]

    def stop(self) -> None:
        for one in self.all:
            one.over.set()
        for one in self.all:
            one.join(2 * SILENCE + 1)


@contextmanager
def writing(endpoints: Sequence[Endpoint]) -> Iterator[Writers]:
    made = Writers(endpoints)
    for one in made.all:
        one.start()
    try:
        yield made
    finally:
        made.stop()
