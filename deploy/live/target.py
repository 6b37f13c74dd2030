# SPDX-License-Identifier: BSD-2-Clause
"""The running machine that an order goes to: one of this host, or a deployment of libvirt."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from deploy.base.errors import Failure
from deploy.base.timeouts import Clock, children_of, slowness
from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.live.ledger import Write
from deploy.live.lockstat import live
from deploy.machine import gdb_remote, monitor
from deploy.machine.events import Event

_POLL = 0.05  # seconds between looks
T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    events: Callable[[], list[Event]]
    write: Callable[[int], Write]  # of a cluster's machine
    read: live.Memory
    clock: Clock  # of its emulator, where that is ours
    destroy: Callable[[int], None] | None = None  # a cluster's machine, where each has its own

    def wait(self, look: Callable[[], T], patience: float) -> T:
        """Returns what `look` finds, as soon as it is something, or after `patience` seconds of given time."""
        most = self.clock.look() + patience * slowness()
        while not (found := look()) and self.clock.look() <= most:
            time.sleep(_POLL)
        return found


@contextmanager
def local_machine(what: str | None, command: str, changes: bool = True) -> Iterator[Target]:
    """A machine that runs here, for a command that writes its memory, or `changes` nothing."""
    if not live.running():
        raise Failure("no machine runs here; skerry run DEPLOYMENT --keep starts one")
    folder = live.find(what, command, changes=changes)

    def write(_cluster: int) -> Write:
        return lambda address, word: gdb_remote.write_word(lambda line: _human(folder, line), address, word)

    owner = int(folder.name.split("-")[2])
    clock = Clock(lambda: children_of(owner))
    yield Target(lambda: list(live.read_events(folder).events), write, live.monitor_memory(folder), clock)


@contextmanager
def of_libvirt(uri: str, name: str | None) -> Iterator[Target]:
    with Connection(uri) as host:
        one = deployed.pick_running(host, name)
        destroy = (lambda cluster: one.member(cluster).destroy()) if one.record.machines > 1 else None
        clock = Clock(lambda: [])  # all time counts: it is another's
        memory = live.of_domain(one).memory
        yield Target(one.events, lambda cluster: partial(deployed.write_word, one, cluster), memory, clock,
                     destroy)


def _human(folder: Path, line: str) -> str:
    try:
        return monitor.human(folder / "qmp.sock", line)[0]
    except (OSError, TimeoutError) as error:
        raise Failure(f"the machine does not answer: {error}") from error
