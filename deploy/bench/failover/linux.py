# SPDX-License-Identifier: BSD-2-Clause
"""Instances of a Redis Cluster as processes of this host, at ports of the loopback interface."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.deployment.engines import REDIS
from deploy.deployment.replicas.settings import BUS, LAST_PORT, LOOPBACK, defaults, settings
from deploy.live.replicas.view import Endpoint

_FIRST_PORT = 20000


def free_ports(count: int, first: int = _FIRST_PORT) -> int:
    """Returns the first of so many ports in a row that nobody has, nor those of their cluster's bus."""
    run = 0
    for port in range(first, LAST_PORT + 1):
        run = run + 1 if _is_free(port) and _is_free(port + BUS) else 0
        if run == count:
            return port - count + 1
    raise Failure(f"no {count} ports in a row are free from {first} to {LAST_PORT}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


class Processes:
    """The instances of these copies (shard and number of each). Each life of one has an empty folder of its own, as in
    a machine."""

    def __init__(self, folder: Path, copies: Sequence[tuple[int, int]], node_timeout: int) -> None:
        self.folder, self.node_timeout, self.lives = folder, node_timeout, 0
        first = free_ports(len(copies))
        self.endpoints = [Endpoint(f"redis@{shard}.{number}", (LOOPBACK, port), (LOOPBACK, port), shard, number)
                          for port, (shard, number) in enumerate(copies, first)]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, one: Endpoint) -> None:
        self.lives += 1
        home = self.folder / f"life-{self.lives}"
        home.mkdir()
        words = [str(BUILD / REDIS.linux), "--port", str(one.reached[1]), "--bind", LOOPBACK, "--save", "",
                 "--dir", str(home), "--repl-diskless-load", "swapdb", *defaults(1),
                 *settings(self.node_timeout, forward=True)]
        with (home / "log").open("wb") as log:
            self.running[one.name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self, one: Endpoint) -> None:
        """SIGKILL. Returns when it is over."""
        process = self.running.pop(one.name)
        process.kill()
        process.wait()


@contextmanager
def processes(folder: Path, copies: Sequence[tuple[int, int]], node_timeout: int) -> Iterator[Processes]:
    """Starts all of them; none is left behind."""
    made = Processes(folder, copies, node_timeout)
    try:
        for one in made.endpoints:
            made.start(one)
        yield made
    finally:
        for process in made.running.values():
            process.kill()
            process.wait()
