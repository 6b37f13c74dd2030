# SPDX-License-Identifier: BSD-2-Clause
"""Boots a plan in QEMU and follows it: events, console, host ports, exit status, hangs."""

import codecs
import json
import math
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from deploy.base import process
from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, LOGS
from deploy.base.timeouts import Patience, Watch
from deploy.deployment import Load, modules, volumes
from deploy.deployment.engines import is_server
from deploy.deployment.planner import Plan
from deploy.machine import backtrace, image, monitor, qemu
from deploy.machine.console_lines import By, ConsoleLines, Line, lines
from deploy.machine.crashes import death, lost_reporter
from deploy.machine.events import BAD_LINE, Event, EventStream, standing
from deploy.machine.run_folder import Room, private_directory
from deploy.machine.tap import Tap
from topology import drivers

INSTANCES = "instances.json"  # in a run's folder: its name, and where each application is reached
POWER_ON_ATTEMPTS = 3  # each with other ports, where nobody has named them
_POLL = 0.02  # seconds between looks at what the machine wrote
_QEMU_START = 0.7  # seconds in which QEMU is ready to start the machine
_OPERATION = 0.002  # seconds for each of a load's, of which nobody hears until the last: ten times what one takes


@dataclass(frozen=True)
class Options:
    accel: qemu.Accel
    patience: Patience = Patience()
    medium: str = "iso"  # or kernel: QEMU loads the loader itself
    uefi: bool = False
    gdb_port: int | None = None
    binary: str = qemu.BINARY
    build: Path = BUILD
    on_console: Callable[[str], None] | None = None
    on_event: Callable[[Event], None] | None = None
    extra: tuple[str, ...] = ()
    machine: str = "q35"
    drive: str = "ide-cd"  # that the ISO is in
    tap: Tap | None = None  # in place of ports of the host
    keep_time: bool = False  # the machine's clock agrees with the host's, at the price of a second's wait


class Run:
    """A running machine. Leaving the `with` block ends it; whatever fails keeps its log in build/log."""

    def __init__(self, plan: Plan, options: Options) -> None:
        self.plan = plan
        self.options = options
        self.events = EventStream()
        self.status: int | None = None
        self.directory = private_directory()
        self._room = Room(self.directory)
        self.started = 0.0
        self._process: process.Child | None = None
        self._console_read = self._events_read = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character can come in two pieces
        self._lines = ConsoleLines()
        self.own_lines: list[Line] = []  # of the console, of managers and kernels: no program could have written them
        self.patience = options.patience.plus(silent_work(plan.load, len(_clients(plan))))
        self._folders = ExitStack()  # while they are held for this machine
        try:
            self.command = self._command()
        except BaseException:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise

    def _command(self) -> qemu.Command:
        qemu.check_size(self.plan.machine, self.options.binary)
        files = image.contents(self.plan.cluster_map, self.options.build, self.plan.own)
        loader = modules.loader(self.options.build, modules.is_debug(self.plan.cluster_map))
        boot: Path | image.DirectBoot
        if self.options.medium == "kernel":
            boot = image.make_direct(self.directory, files, loader)
        else:
            boot = self.directory / "skerry.iso"
            image.make_iso(boot, files, loader, self.plan.name)
        forwards = []
        for name, port in self.plan.forwards:
            address = self.plan.application(name).ipv4
            assert address
            forwards.append(qemu.Forward(name, address, port, self.plan.host_ports.get((name, port), 0)))
        return qemu.Command(
            shape=self.plan.machine,
            accel=self.options.accel,
            boot=boot,
            directory=self.directory,
            forwards=forwards,
            network=self.plan.cluster_map.network,
            outside=self.plan.outside,
            driver=drivers.of_map(self.plan.cluster_map.applications),
            binary=self.options.binary,
            uefi=self.options.uefi,
            gdb_port=self.options.gdb_port,
            extra=self.options.extra,
            machine=self.options.machine,
            drive=self.options.drive,
            tap=self.options.tap,
            shares=self.plan.shares,
        )

    @property
    def forwards(self) -> list[qemu.Forward]:
        return list(self.command.forwards)

    def address(self, application: str, port: int | None = None) -> tuple[str, int]:
        """Host and port at which the host, or what runs where the tap is, reaches an application."""
        for forward in self.forwards:
            if forward.application == application and port in (None, forward.guest_port) and forward.is_open:
                return self.command.reached_at(forward)
        raise KeyError(application)

    @property
    def console(self) -> str:
        path = self.command.console
        return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""

    @property
    def own_console(self) -> str:
        """Returns what managers and kernels wrote on the console, whole lines, as of the last look."""
        return "\n".join(line.text for line in self.own_lines)

    @property
    def running(self) -> bool:
        return self._process is not None and self.status is None

    @property
    def quiet(self) -> float:
        """Given time since something moved."""
        return self._watch.quiet

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def __enter__(self) -> "Run":
        try:
            self._folders.enter_context(volumes.hold(self.plan.shares))
            self._power_on()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, Failure):
                self._explain(error)
            elif isinstance(error, Exception):
                self.keep_log()
        finally:
            self.close()

    def _explain(self, failure: Failure) -> None:
        """Adds to the failure where the whole log is, and whether a full disk may be the cause."""
        if why := self._room.unsaid:
            failure.text = f"{failure.text}; {why}"
        try:
            failure.log = self.keep_log()
        except (Failure, OSError) as unwritable:
            failure.text = f"{failure.text} (without a log: {unwritable})"

    def _power_on(self) -> None:
        """A QEMU that cannot start gets other ports: one may have been taken since it was chosen."""
        fixed = [f for f in self.forwards if (f.application, f.guest_port) in self.plan.host_ports]
        chosen = [f for f in self.forwards if f not in fixed]
        for attempts_left in reversed(range(POWER_ON_ATTEMPTS)):
            check_ports(fixed)
            choose_ports(chosen)
            self._describe()
            for path in (self.command.console, self.command.events):
                path.touch()
            if self.options.keep_time:
                self.command.power_on = math.ceil(time.time() + _QEMU_START)
            self.started = time.monotonic()
            self._process = process.start(self.command.arguments(), self.command.log,
                                          (qemu.PRELOAD, *self.command.accel.preload))
            self._watch = Watch(self._process.pid)
            while self._process.poll() is None and not monitor.is_up(self.command.monitor):
                time.sleep(_POLL / 4)
            if (self.command.power_on or self.command.accel.stopped) and self._process.poll() is None:
                self._continue(self._process)
            if self._process.poll() in (None, qemu.EXIT_SUCCESS, qemu.EXIT_FAILURE, qemu.EXIT_REFUSED):
                return
            if not (chosen and attempts_left and self._process.returncode == qemu.EXIT_REJECTED):
                raise Failure(self._ended(self._process.returncode))

    def _continue(self, machine: process.Child) -> None:
        """Starts the stopped machine, at its second. Raises Failure where a QEMU that runs does not answer."""
        try:
            monitor.power_on(self.command.monitor, self.command.power_on or 0)
            self.started = time.monotonic()
        except OSError as error:
            try:
                machine.wait(_QEMU_START)  # the caller says why it ended
            except subprocess.TimeoutExpired:
                raise Failure(f"QEMU: {error}") from error

    def _ended(self, status: int) -> str:
        """Says how QEMU ended, by itself or by a signal, and what it wrote last."""
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return f"QEMU {how}: {self._last_line(self._qemu_log())}"

    def _describe(self) -> None:
        instances = [{"app": f.application, "address": ":".join(map(str, self.command.reached_at(f)))}
                     for f in self.forwards if f.is_open]
        write_text(self.directory / INSTANCES, json.dumps({"name": self.plan.name, "instances": instances}))

    def _qemu_log(self) -> str:
        return self.command.log.read_text(errors="replace") if self.command.log.exists() else ""

    @staticmethod
    def _last_line(text: str) -> str:
        return next((line.text.strip() for line in reversed(list(lines(text))) if line.text.strip()), "no output")

    def poll(self) -> list[Event]:
        """Reads what came since the last look; events that are new."""
        assert self._process
        if self.status is None:
            self.status = self._process.poll()  # before reading: what is read then is all of it
        return self._collect()

    def _collect(self) -> list[Event]:
        if self._process is not None and self.status is None:
            self.status = self._process.poll()
        with self.command.console.open("rb") as file:
            file.seek(self._console_read)
            text = file.read()
        self._console_read += len(text)
        if text:
            self._watch.moved("the console")
        words = self._decoder.decode(text)
        self.own_lines += [line for line in self._lines.feed(words) if line.by != By.ANYBODY]
        if words and self.options.on_console:
            self.options.on_console(words)
        with self.command.events.open("rb") as file:
            file.seek(self._events_read)
            data = file.read()
        self._events_read += len(data)
        self._room.look()
        fresh = self.events.feed(data)
        if fresh:
            self._watch.moved(f"'{fresh[-1].kind}' {fresh[-1].get('app') or ''}".rstrip())
        if self.options.on_event:
            for event in fresh:
                self.options.on_event(event)
        if self.status is not None and self.status == qemu.EXIT_SUCCESS:
            self.events.finish()
            self._room.check()
        return fresh

    def wait_for(self, condition: Callable[[], bool], what: str, timeout: Patience | None = None,
                 every: float = _POLL) -> None:
        """Until `condition` holds. The machine's end, standing still, and the user's limit (from now) are failures.

        `every`: seconds between looks.
        """
        began = time.monotonic()
        while True:
            self.poll()
            if condition():
                return
            if self.status is not None:
                raise Failure(f"the machine ended before {what}: {self.reason()}")
            self._check_moving(f"no {what}", timeout, began)
            time.sleep(every)

    def _check_moving(self, goal: str, timeout: Patience | None, began: float) -> None:
        if why := self._watch.overdue(goal, timeout or self.patience, began):
            self.dump_registers()
            raise Failure(why)

    def wait_event(self, kind: str, timeout: Patience | None = None, **fields: object) -> Event:
        self.wait_for(lambda: bool(self.events.of(kind, **fields)), f"'{kind}' {fields or ''}".rstrip(), timeout)
        return self.events.of(kind, **fields)[0]

    def wait_serving(self, timeout: Patience | None = None) -> None:
        """Until every application that the host can reach serves."""
        names = {f.application for f in self.forwards if self._is_server(f.application)}
        self.wait_for(lambda: names <= {e.get("app") for e in self.events.of("serving")}, "serving", timeout)

    def _is_server(self, name: str) -> bool:
        return is_server(self.plan.application(name))

    def wait_done(self, timeout: Patience | None = None) -> None:
        """Until the machine powers itself off with success."""
        began = time.monotonic()
        while self.status is None:
            self.poll()
            if self.status is None:
                if why := lost_reporter(self.own_lines,
                                        any(c.restart for c in self.plan.cluster_map.clusters if c.number == 0)):
                    raise Failure(why)
                self._check_moving("not done", timeout, began)
            time.sleep(_POLL)
        self.poll()
        if self.status != qemu.EXIT_SUCCESS:
            raise Failure(self.reason())

    def reason(self) -> str:
        """Why the machine ended, in one line."""
        if self.status == qemu.EXIT_SUCCESS:
            return "it is done"
        if self.status == qemu.EXIT_REFUSED:
            return f"refused by the loader: {self._last_line(self.console)}"
        if self.status == qemu.EXIT_FAILURE:
            return f"the machine failed: {self._failure() or self._last_line(self.own_console or self.console)}"
        if self.status == 0:
            return f"the machine reset or powered off by itself: {self._last_line(self.console)}"
        return self._ended(self.status or 0)

    def _failure(self) -> str:
        """All that failed, in words, what says most first; nothing where no event tells."""
        events = standing(self.events.events)
        kinds = ("fault", "failed", "exit", "cluster-lost", BAD_LINE)
        ends = [end for kind in kinds for e in events if e.kind == kind and (end := death(e, self.plan, ""))
                and end.counts]
        done = next((e for e in events if e.kind == "done"), None)
        return "; ".join(dict.fromkeys(map(str, ends))) or (str(done.get("why", done)) if done else "")

    def dump_registers(self) -> None:
        """Appends the state of all cores to QEMU's log."""
        with suppress(OSError), self.command.log.open("a") as log:  # what hung is said in any case
            log.write(monitor.post_mortem(self.command.monitor))

    def keep_log(self) -> Path:
        """Everything that the run wrote, in one file that stays."""
        LOGS.mkdir(parents=True, exist_ok=True)
        path = LOGS / f"{self.plan.name}-{self.plan.layout.replace('/', '_')}-{time.strftime('%Y%m%d-%H%M%S')}.log"
        parts = [("command", " ".join(self.command.arguments())), ("console", self.console)]
        if self.command.events.exists():
            parts.append(("events", self.command.events.read_text(errors="replace")))
        parts.append(("qemu", self._qemu_log()))
        if panics := self.panics():
            parts.append(("panics", "\n".join(panics)))
        write_text(path, "".join(f"===== {title} =====\n{text.rstrip()}\n" for title, text in parts))
        return path

    def panics(self) -> list[str]:
        """Reports of kernels that gave up, their backtraces in words."""
        clusters = self.plan.cluster_map.clusters
        kernels = {c.number: modules.module_path(f"kernel-{c.kernel}", self.options.build) for c in clusters}
        return backtrace.explain(self.console, kernels)

    def stop(self) -> int | None:
        """Ends QEMU, if it still runs."""
        if self._process is not None:
            status = process.stop(self._process)
            if self.status is None:
                self._collect_quietly()
                self.status = status
        return self.status

    def _collect_quietly(self) -> None:
        try:
            self._collect()
        except Failure:
            pass  # we cut it off ourselves

    def close(self) -> None:
        try:
            self.stop()
        finally:
            self._folders.close()
            shutil.rmtree(self.directory, ignore_errors=True)


def _clients(plan: Plan) -> list[str]:
    return [application.name for application in plan.cluster_map.applications if application.program == "ycsb"]


def silent_work(load: Load | None, clients: int) -> float:
    """Seconds that a load of so many clients may take between two events."""
    return _OPERATION * clients * (load.whole + load.records / load.clients) if load and clients else 0.0


def check_ports(forwards: Sequence[qemu.Forward]) -> None:
    """Ports of the loopback interface that a deployment names: somebody else may have them."""
    for forward in forwards:
        if forward.is_open:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as QEMU does
                try:
                    probe.bind(("127.0.0.1", forward.host_port))
                except OSError as error:
                    why = (error.strerror or str(error)).lower()
                    raise Failure(f"port {forward.host_port} of the host, for {forward.application}: {why}") from None


def choose_ports(forwards: Sequence[qemu.Forward]) -> None:
    """TCP ports of the loopback interface that nobody had a moment ago."""
    sockets: list[socket.socket] = []
    try:
        for forward in forwards:  # all at once, so that none comes twice
            probe = socket.socket()
            sockets.append(probe)
            probe.bind(("127.0.0.1", 0))
            forward.host_port = probe.getsockname()[1]
    finally:
        for probe in sockets:
            probe.close()


def boot(plan: Plan, options: Options) -> Run:
    """Use as `with boot(plan, options) as run:`; the machine starts on entry and is gone on exit."""
    return Run(plan, options)
