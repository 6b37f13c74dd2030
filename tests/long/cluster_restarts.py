# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that are ended again and again under load: `build/venv/bin/python -m tests.long.cluster_restarts [KILLS [SEED]]`.

Who is ended, how and when is drawn from the seed, which is printed. Threads write to every Redis from outside, each
write with a number of its own, and remember which of them were acknowledged. An acknowledged write on the cluster that
goes on is read back; a Redis of a cluster that started again never has one of its former life. Some 8 s a kill.
"""

from __future__ import annotations

import random
import statistics
import sys
import threading
import time
from collections.abc import Iterable

import redis

from deploy.boot import Run
from tests.boot.machine import client, machine, servers, with_redis
from tests.boot.test_detection import kill_cluster

WAYS = ("panic", "hang", "hang-core", "init", "manager", "garbage")
KEYS = 500
PAUSE = 3.0  # seconds between a restart and the next kill, at most


class Load(threading.Thread):
    """Writes to a Redis of a cluster that goes on, and reads back what was acknowledged, until it is told to end."""

    def __init__(self, run: Run, name: str) -> None:
        super().__init__(daemon=True)
        self.machine, self.name_, self.number = run, name, 0
        self.over = threading.Event()
        self.known: dict[str, int] = {}  # key: number of the last acknowledged write
        self.unsure: dict[str, int] = {}  # key: number of a write without an answer
        self.errors = 0
        self.wrong: list[str] = []
        self.longest = 0.0  # seconds without an answer

    def _operate(self, server: redis.Redis) -> None:
        key = f"key:{random.randrange(KEYS)}"
        self._check(key, server.get(key))
        self.number += 1
        self.unsure[key] = self.number
        server.set(key, self.number)
        self.known[key] = self.number
        del self.unsure[key]

    def _check(self, key: str, found: bytes | None) -> None:
        """What is read is the last acknowledged write, or one without an answer."""
        possible = {self.known.get(key), self.unsure.get(key, self.known.get(key))}
        if (None if found is None else int(found)) not in possible:
            self.wrong.append(f"{self.name_} {key}: {found!r} is none of {possible}")

    def run(self) -> None:
        while not self.over.is_set():
            try:
                with client(self.machine, self.name_, socket_timeout=2, socket_connect_timeout=2) as server:
                    while not self.over.is_set():
                        start = time.monotonic()
                        self._operate(server)
                        self.longest = max(self.longest, time.monotonic() - start)
            except redis.RedisError:
                self.errors += 1
                time.sleep(0.1)


def _serves(run: Run, names: Iterable[str]) -> bool:
    try:
        for name in names:
            with client(run, name, socket_timeout=2, socket_connect_timeout=2) as server:
                server.ping()
        return True
    except redis.RedisError:
        return False


def campaign(run: Run, kills: int, draw: random.Random) -> list[str]:
    """What went wrong."""
    here = [name for name in servers(run) if run.plan.application(name).cpu < 2]
    there = [name for name in servers(run) if run.plan.application(name).cpu >= 2]
    survivors = [Load(run, name) for name in here]
    for load in survivors:
        load.start()
    took: list[float] = []
    for number in range(1, kills + 1):
        how, core, pause = draw.choice(WAYS), draw.randrange(2), draw.uniform(0, PAUSE)
        time.sleep(pause)
        for name in there:
            with client(run, name) as server:
                assert server.set("former", str(number)), "it is not acknowledged"
        start = time.monotonic()
        kill_cluster(run, 1, how, core if how in ("panic", "hang-core") else None)
        run.wait_for(lambda: len(run.events.of("cluster-restarted")) >= number, f"cluster 1 after {how}")
        run.wait_for(lambda: _serves(run, there), f"its Redis after {how}")
        took.append(time.monotonic() - start)
        event = run.events.of("cluster-restarted")[-1]
        print(f"{number}: {how} of core {core} after {pause:.2f} s: told and loaded {event}, PONG after {took[-1]:.2f} s", flush=True)
        for name in there:
            with client(run, name) as server:
                if (left := server.get("former")) is not None:
                    return [f"{name} has {left!r} of its former life"]
        if wrong := [line for load in survivors for line in load.wrong]:
            return wrong
    for load in survivors:
        load.over.set()
        load.join()
    print(f"kill to PONG: median {statistics.median(took):.2f} s, worst {max(took):.2f} s; survivors: "
          f"{sum(load.number for load in survivors)} writes, {sum(load.errors for load in survivors)} errors, "
          f"longest answer {max(load.longest for load in survivors):.2f} s")  # fmt: skip
    errors = sum(load.errors for load in survivors)
    return [line for load in survivors for line in load.wrong] + ([f"survivors had {errors} errors"] if errors else [])


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    with machine(with_redis(restart="on-failure", restart_limit=0, restart_delay=0)) as run:
        run.wait_serving()
        wrong = campaign(run, kills, random.Random(seed))
        wrong += [str(event) for kind in ("fault", "failed", "cluster-stuck", "bad-line") for event in run.events.of(kind)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
