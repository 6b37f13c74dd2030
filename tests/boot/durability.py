# SPDX-License-Identifier: BSD-2-Clause
"""A Redis with `appendfsync always` whose machine, cluster or process is killed while it writes: what it has answered
is there when it serves again."""

import os
import random
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from deploy.base.paths import BUILD
from deploy.bench.failure.scene import end_cluster
from deploy.deployment import Redis
from deploy.deployment.planner import Plan, plan
from deploy.deployment.volumes import DATA, Folder
from deploy.machine import qemu
from deploy.machine.run import Run
from tests.boot.machine import ANSWER, client, deployment, machine, servers
from topology.units import MIB

PRELOAD = BUILD / "tests/programs/power-cut.so"
VARIABLE = "SKERRY_POWER_CUT"  # power-cut.c
MACHINE, CLUSTER, PROCESS = "machine", "cluster", "process"  # what is killed
FEWEST, MOST = 20, 120  # writes that are answered before a kill
AHEAD = 40  # requests on their way at once
_ANSWERS = 0.3  # seconds in which answers still count that were on their way; it decides no verdict
_OK = b"+OK\r\n"


def kept(folder: Path, **more: object) -> Redis:
    """One instance beside the switch, whose data are in the folder."""
    rest: dict[str, object] = {"append": "always", "restart": "on-failure"} | more
    return Redis(heap=64 * MIB, cpus=(1,), data=str(folder), folder=Folder(folder, DATA),
                 args=(*Redis.args, "--enable-debug-command", "yes"), **rest)  # type: ignore[arg-type]


def _request(number: int) -> bytes:
    key, value = b"key:%d" % number, b"%0100d" % number
    return b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(key), key, len(value), value)


@dataclass
class Durability:
    """One folder of data through the lives of its machine."""

    folder: Path  # private: data, and what a power cut leaves
    seed: int
    answered: int = 0  # writes 0 to this were
    kills: int = 0
    plan: Plan = field(init=False)
    lives: dict[str, int] = field(default_factory=lambda: {CLUSTER: 0, PROCESS: 0})  # kills of the running machine

    def __post_init__(self) -> None:
        self.data, self.disk = self.folder / "data", self.folder / "disk"
        for path in (self.data, self.disk):
            path.mkdir()
        what = deployment(restart="on-failure", restart_limit=0, restart_delay=0)
        self.plan = plan(replace(what, redis=kept(self.data)))

    @contextmanager
    def machine(self) -> Iterator[Run]:
        """The machine, serving what the last one has left."""
        accel = qemu.tcg_for(len(self.plan.machine.cores))
        self.lives = {CLUSTER: 0, PROCESS: 0}
        os.environ[VARIABLE] = str(self.disk)
        try:
            with machine(self.plan, accel=replace(accel, preload=(*accel.preload, PRELOAD))) as run:
                run.wait_serving()
                self.check(run)
                yield run
        finally:
            del os.environ[VARIABLE]

    def check(self, run: Run) -> None:
        """Asserts that each write that was answered is there; those that were not may be."""
        with client(run, servers(run)[0]) as server:
            keys = [f"key:{number}" for number in range(self.answered)]
            found = server.mget(keys) if keys else []
            lost = [number for number, value in enumerate(found) if value is None or int(value) != number]
            assert not lost, f"seed {self.seed}, kill {self.kills}: of {self.answered} writes {lost[:10]} are lost"
            while server.exists(f"key:{self.answered}"):  # was on its way
                self.answered += 1

    def _write(self, run: Run, count: int) -> socket.socket:
        """Writes until so many more are answered; AHEAD others are on their way then."""
        connection = socket.create_connection(run.address(servers(run)[0]), ANSWER)
        connection.settimeout(ANSWER)
        asked, until, pending = self.answered, self.answered + count, b""
        while self.answered < until:
            more = self.answered + AHEAD
            connection.sendall(b"".join(_request(number) for number in range(asked, more)))
            asked = max(asked, more)
            pending = self._take(pending + connection.recv(4096))
        self._pending = pending
        return connection

    def _take(self, answers: bytes) -> bytes:
        while answers.startswith(_OK):
            self.answered, answers = self.answered + 1, answers[len(_OK):]
        assert _OK.startswith(answers), answers
        return answers

    def _take_rest(self, connection: socket.socket) -> None:
        """Counts the answers that were sent before the end."""
        connection.settimeout(_ANSWERS)
        try:
            while part := connection.recv(4096):
                self._pending = self._take(self._pending + part)
        except OSError:
            pass
        connection.close()

    def kill(self, run: Run, what: str) -> None:
        """Ends it at a drawn moment of the load. Where the machine goes on, returns when it serves and has been
        checked."""
        self.kills += 1
        chance = random.Random(f"{self.seed} {self.kills}")
        connection = self._write(run, chance.randint(FEWEST, MOST))
        if what == MACHINE:
            os.kill(run.pid, signal.SIGKILL)
            self._take_rest(connection)
            return
        self.lives[what] += 1
        name, serving = servers(run)[0], len(run.events.of("serving"))
        if what == CLUSTER:
            end_cluster(run, 0, chance.choice(("panic", "hang", "init")), None)
        else:
            connection.sendall(b"DEBUG SEGFAULT\r\n")
        self._take_rest(connection)
        run.wait_for(partial(self._is_back, run, name, serving), f"{name} again after the end of its {what}")
        self.check(run)

    def _is_back(self, run: Run, name: str, before: int) -> bool:
        again = len(run.events.of("cluster-restarted")), len(run.events.of("restart", app=name))
        return again >= (self.lives[CLUSTER], self.lives[PROCESS]) and len(run.events.of("serving")) > before

    def cut_power(self) -> None:
        """Takes from the files all that was not on the disk."""
        for path in (path for path in self.data.rglob("*") if path.is_file()):
            stored = self.disk / str(path.stat().st_ino)
            content = stored.read_bytes() if stored.exists() else b""
            with path.open("r+b") as file:  # the same inode
                file.truncate(0)
                file.write(content)
