# SPDX-License-Identifier: BSD-2-Clause
"""A machine that stands at a mark of its guest, and copies that go on from there (emulator/modelled/snapshot.h)."""

import os
import select
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.timeouts import Watch
from deploy.deployment.planner import Plan
from deploy.machine import qemu
from deploy.machine.run import Options, Run, boot


class Process:
    """A copy's process, a child of the machine's that reports its end; used as subprocess.Popen is."""

    def __init__(self, connection: socket.socket, request: str) -> None:
        self._connection = connection
        self.returncode: int | None = None
        with suppress(ConnectionError):
            connection.sendall(request.encode())
        pid = self._line()
        if pid is None:
            raise Failure("the emulator whose machine is copied has ended")
        self.pid = pid

    def _line(self) -> int | None:
        """Returns the next number; None if the emulator has ended, and all copies with it."""
        text = b""
        with suppress(ConnectionError):
            while not text.endswith(b"\n") and (more := self._connection.recv(1)):
                text += more
        return int(text) if text.endswith(b"\n") else None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            status = self._line()
            self.returncode = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and not select.select([self._connection], [], [], timeout)[0]:
            assert timeout is not None
            raise subprocess.TimeoutExpired("a copy of a machine", timeout)
        status = self.poll()
        assert status is not None
        return status

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Copy(Run):
    """A run that goes on from where another machine stands. At most one copy of a machine runs at a time."""

    def __init__(self, origin: Run, connection: socket.socket, salt: int, prices: str) -> None:
        self._origin, self._connection, self._salt, self._prices = origin, connection, salt, prices
        super().__init__(origin.plan, origin.options)

    def _command(self) -> qemu.Command:
        return replace(self._origin.command, directory=self.directory)

    def _power_on(self) -> None:
        self._describe()
        prices = self.directory / "prices"
        prices.write_text(self._prices)
        for path in (self.command.console, self.command.events):
            path.touch()
        self.started = self._origin.started
        self._process = Process(self._connection,
                                f"{self._salt}\n{self.directory}\n{prices if self._prices else ''}\n")
        self._watch = Watch(self._process.pid)


class Origin:
    """A machine that stands at a mark."""

    def __init__(self, machine: Run, connection: socket.socket) -> None:
        self.machine, self._connection = machine, connection

    def copy(self, salt: int, prices: str) -> Copy:
        """Returns a run to be entered by `with`. `prices`: a machine file of the plugin's; empty: the machine's own."""
        return Copy(self.machine, self._connection, salt, prices)


@contextmanager
def origin(plan: Plan, options: Options, path: Path) -> Iterator[Origin]:
    """Boots a machine until its plugin, whose option `snapshot` is `path`, stops it. Raises Failure if it ends
    before."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        with boot(plan, options) as machine:
            machine.wait_for(lambda: bool(select.select([listener], [], [], 0)[0]), "the mark at which it is copied")
            connection, _ = listener.accept()
            with connection:
                yield Origin(machine, connection)
