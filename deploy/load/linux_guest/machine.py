# SPDX-License-Identifier: BSD-2-Clause
"""Boots the Linux guest in QEMU and follows its events."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.timeouts import Patience, Watch
from deploy.deployment import Deployment
from deploy.load.linux_guest.plan import guest_plan, with_plan
from deploy.machine import qemu
from deploy.machine.events import Event, EventStream
from deploy.machine.image import DirectBoot
from deploy.machine.run import choose_ports, silent_work
from deploy.machine.run_folder import Room
from deploy.machine.tap import Tap

GUEST_ADDRESS = "10.0.2.15"  # as in setup.c
_POLL = 0.02

# Where the emulator announces no invariant TSC, Linux reads the HPET or ACPI timer, many times slower; as Skerry does
# not, neither shall Linux.
COMMAND_LINE = "console=ttyS0 quiet panic=-1 clocksource=tsc tsc=reliable"
FIXED = "nokaslr norandmaps"  # addresses of kernel and programs do not differ between boots
DEBUG_CONSOLE = 0xE9  # as in symbols.c


@dataclass(frozen=True)
class Options:
    accel: qemu.Accel
    timeout: Patience = Patience(300.0)
    command_line: str = COMMAND_LINE
    binary: str = qemu.BINARY
    on_event: Callable[[Event], None] | None = None
    symbols: bool = False  # the symbols of the guest's code are reported, and addresses are the same in each boot
    extra: tuple[str, ...] = ()  # arguments of QEMU
    tap: Tap | None = None  # in place of ports of the host


class LinuxRun:
    """A running guest. Leaving the `with` block ends it."""

    def __init__(self, guest: DirectBoot, deployment: Deployment, options: Options) -> None:
        self.options = options
        self.deployment = deployment
        self.plan = guest_plan(deployment, options.symbols)
        self.timeout = options.timeout.plus(silent_work(deployment.load, len(self.plan.shares)))
        self.events = EventStream()
        self.started = 0.0
        self.status: int | None = None
        self._read = self._console = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.directory = Path(tempfile.mkdtemp(prefix="skerry-linux-"))
        self._room = Room(self.directory)
        try:
            boot = with_plan(guest, self.plan, self.directory)
        except BaseException:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise
        fixed = f" {FIXED}" if options.symbols else ""
        self.command = qemu.Command(
            shape=deployment.shape,
            accel=options.accel,
            boot=boot,
            directory=self.directory,
            forwards=[qemu.Forward(name, GUEST_ADDRESS, port) for name, port in self.plan.ports.items()],
            binary=options.binary,
            tap=options.tap,
            extra=("-append", options.command_line + fixed, *(self._debug_console() if options.symbols else ()),
                   *options.extra),
        )

    def _debug_console(self) -> tuple[str, ...]:
        return (
            "-chardev", f"file,id=symbols,path={self.symbols}", "-device",
            f"isa-debugcon,iobase={DEBUG_CONSOLE:#x},chardev=symbols"
        )

    @property
    def symbols(self) -> Path:
        """Returns the file with the output of symbols.c."""
        return self.directory / "symbols"

    def __enter__(self) -> LinuxRun:
        choose_ports(self.command.forwards)
        for path in (self.command.console, self.command.events):
            path.touch()
        self.started = time.monotonic()
        self._process = process.start(self.command.arguments(), self.command.log, (qemu.PRELOAD,))
        self._watch = Watch(self._process.pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process:
            process.stop(self._process)
        shutil.rmtree(self.directory, ignore_errors=True)

    def address(self, name: str) -> tuple[str, int]:
        """Returns the host's address of an instance."""
        return self.command.reached_at(next(f for f in self.command.forwards if f.application == name))

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def poll(self) -> None:
        assert self._process
        self.status = self._process.poll()  # before reading: what is read then is all of it
        with self.command.events.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        self._room.look()
        self._note_console()
        for event in self.events.feed(data):
            self._watch.moved(f"'{event.kind}' {event.get('app') or ''}".rstrip())
            if self.options.on_event:
                self.options.on_event(event)

    def _note_console(self) -> None:
        written = self.command.console.stat().st_size
        if written > self._console:
            self._watch.moved("the console")
            self._console = written

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        while True:
            self.poll()
            self._room.check()
            if condition():
                return
            if errors := self.events.of("error"):
                raise Failure(f"the Linux guest failed: {errors[0]['what']}")
            if self.status is not None:
                raise Failure(f"the Linux guest ended before {what}: {self._last_words()}")
            if why := self._watch.overdue(f"no {what}", self.timeout, self.started):
                raise Failure(f"the Linux guest: {why}: {self._last_words()}")
            time.sleep(_POLL)

    def wait_serving(self) -> None:
        """Until every Redis answers inside the guest, and its memory has been measured."""
        self.wait_for(lambda: any("total" in e.data for e in self.events.of("memory", when="serving")), "serving")

    def wait_done(self) -> None:
        self.wait_for(lambda: self.status is not None and bool(self.events.of("done")), "done")
        self.events.finish()

    def _last_words(self) -> str:
        for path in (self.command.log, self.command.console):
            lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
            if lines:
                return lines[-1]
        return "no output"
