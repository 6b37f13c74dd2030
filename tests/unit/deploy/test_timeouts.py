# SPDX-License-Identifier: BSD-2-Clause
"""Timeouts by given time, and the readiness of programs."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.base import readiness, timeouts
from deploy.base.errors import Failure
from deploy.base.process import run_within
from deploy.base.timeouts import Clock, Patience, Watch
from deploy.machine.events import Event, EventStream, standing
from tests.ports import reserved_port

# ---- Given time: what a slow or a busy host takes from a process does not count against it ----

BUSY = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nwhile True: pass"
SPINNERS = 8


@contextmanager
def child(*command: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def share_given(clock: Clock, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> float:
    """Returns the share that counts of so many seconds of the host's clock."""
    clock.look()
    before, start = clock.given, time.monotonic()
    while time.monotonic() - start < seconds:
        meanwhile()
        time.sleep(0.02)
        clock.look()
    return (clock.given - before) / (time.monotonic() - start)


def test_sleeper() -> None:
    """the time of a process that wants no processor counts in full"""
    with child("sleep", "1000") as process:
        clock = Clock(lambda: [process.pid])
        # less where the host stops us for longer than is counted
        assert any(share_given(clock, 1.5) > 0.6 for _ in range(20))


def test_stopped() -> None:
    """the time for which a process is stopped does not count"""
    with child("sleep", "60") as process:
        process.send_signal(signal.SIGSTOP)
        while timeouts._stat(process.pid)[0] != "T":  # type: ignore[index]
            time.sleep(0.01)
        assert share_given(Clock(lambda: [process.pid]), 1.5) == 0


def test_starved() -> None:
    """a process that shares its processor with seven others is given an eighth of the time"""
    cpu = str(min(os.sched_getaffinity(0)))
    spinners = [subprocess.Popen([sys.executable, "-c", BUSY, cpu], stdout=subprocess.PIPE) for _ in range(SPINNERS)]
    try:
        for each in spinners:
            assert each.stdout
            each.stdout.readline()
        clock = Clock(lambda: [spinners[0].pid])
        assert share_given(clock, 3.0) < 0.4
        while clock.processor == 0:
            share_given(clock, 0.5)
    finally:
        for each in spinners:
            each.kill()
            each.wait()


def test_descendants() -> None:
    """a process's descendants are found"""
    with child("sh", "-c", "sleep 60 & echo $!; wait") as process:
        assert process.stdout
        below = int(process.stdout.readline())
        assert {process.pid, below} <= set(timeouts.children_of(process.pid))
        assert below in timeouts.children_of(os.getpid())
        os.kill(below, signal.SIGKILL)


@pytest.mark.parametrize("opened", [False, True])
def test_processes_that_end(opened: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """processes that end while the list is made stop nobody: before their file is opened, or before it is read"""
    with child("sleep", "1000") as process:
        listed, file = os.listdir("/proc"), Path(f"/proc/{process.pid}/stat")
        assert str(process.pid) in listed

        def end() -> None:
            process.kill()
            process.wait()

        def read_text(path: Path) -> str:
            if path == file and not opened:
                end()
            with path.open() as stat:
                if path == file and opened:
                    end()
                return stat.read()

        monkeypatch.setattr(os, "listdir", lambda path: listed)
        monkeypatch.setattr(Path, "read_text", read_text)
        below = timeouts.children()
        assert process.returncode is not None
        assert os.getpid() in below[os.getppid()] and process.pid not in below.get(os.getpid(), [])


def test_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """silence is a hang, and the message says what moved last, when, and how to wait longer"""
    monkeypatch.setattr(timeouts, "slowness", lambda: 1.0)
    with child("sleep", "1000") as process:
        watch, began = Watch(process.pid), time.monotonic()
        watch.moved("'serving' of redis@1")
        assert watch.overdue("no result", Patience(30), began) is None
        while not (why := watch.overdue("no result", Patience(0.5), began)):
            time.sleep(0.05)
        assert why.startswith("hang: no result, and nothing moved for ")
        assert "last: 'serving' of redis@1, " in why and "--timeout" in why and "processor time" in why
        # its clock stands still, however long the host stops us here
        monkeypatch.setattr(timeouts, "_STEP", float("inf"))
        watch.moved("the console")
        assert watch.overdue("no result", Patience(0.5), began) is None


def test_slow_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """on a processor that is many times slower silence may last as many times longer"""
    monkeypatch.setattr(timeouts, "slowness", lambda: 1000.0)
    with child("sleep", "60") as process:
        watch, began = Watch(process.pid), time.monotonic()
        while watch.quiet < 0.5:
            time.sleep(0.05)
        assert watch.overdue("no result", Patience(0.2), began) is None
        assert watch.overdue("no result", Patience(0.2, limit=0.1), began)  # the user's own limit stands


def test_run_within() -> None:
    """a command that stands still is ended after its given time, one that is stopped meanwhile is not"""
    with pytest.raises(subprocess.TimeoutExpired):
        run_within(["sleep", "60"], 0.3)
    for _ in range(20):  # a host that stops this process, too, may keep it from seeing that the other is stopped
        threading.Thread(target=_wake_child, daemon=True).start()
        try:
            done = run_within([sys.executable, "-c",
                               "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); print(8)"], 0.6)
        except subprocess.TimeoutExpired:
            continue
        assert (done.returncode, done.stdout) == (0, "8\n")
        return
    pytest.fail("the time for which it was stopped counts")


def _wake_child() -> None:
    """Two seconds after one of this process's has stopped."""
    stopped: list[int] = []
    while not stopped:
        time.sleep(0.01)
        stopped = [pid for pid in timeouts.children_of(os.getpid())[1:] if (stat := timeouts._stat(pid))
                   and stat[0] == "T"]
    time.sleep(2)
    os.kill(stopped[0], signal.SIGCONT)


def test_processor_seconds() -> None:
    """all that a process has used, also while it does nothing; one that is gone is named"""
    with child(sys.executable, "-c",
               "sum(range(20_000_000))\nprint(flush=True)\nimport time\ntime.sleep(600)") as process:
        assert process.stdout
        process.stdout.readline()
        used = timeouts.processor_seconds(process.pid)
        assert used > 0.05
        assert timeouts.processor_seconds(process.pid) - used <= 0.05
        pid = process.pid
        process.kill()
    with pytest.raises(Failure, match=f"process {pid} has ended"):
        timeouts.processor_seconds(pid)


# ---- The first +PONG, of a server that takes its time ----

SLOW = 0.3  # seconds until an answer


def serve(listener: socket.socket) -> None:
    def answer(connection: socket.socket) -> None:
        with connection:
            time.sleep(SLOW)
            try:
                connection.sendall(b"+PONG\r\n")
            except OSError:
                pass  # given up

    try:
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
    except OSError:
        pass  # the test is over


def test_slow_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """each try has twice the time of the one before, so that an answer comes that takes longer than the first tries"""
    monkeypatch.setattr(readiness, "_FIRST_TRY", SLOW / 30)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        began = time.monotonic()
        assert readiness.first_pong(listener.getsockname()) >= began + SLOW


def test_starved_pong(monkeypatch: pytest.MonkeyPatch) -> None:
    """time in which the emulator has no processor does not count: an answer may come long after the limit"""
    monkeypatch.setattr(readiness, "_FIRST_TRY", 0.05)
    emulator = subprocess.Popen(["sleep", "100"])
    os.kill(emulator.pid, signal.SIGSTOP)
    while timeouts._stat(emulator.pid)[0] != "T":  # type: ignore[index]
        time.sleep(0.01)
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            late = threading.Timer(5 * SLOW, serve, (listener,))
            late.daemon = True
            late.start()
            began = time.monotonic()
            assert readiness.first_pong(listener.getsockname(), emulator.pid, SLOW) >= began + 5 * SLOW
    finally:
        emulator.kill()
        emulator.wait()


def test_none() -> None:
    """nobody there: what was waited for, and for how long"""
    address = ("127.0.0.1", reserved_port())
    with pytest.raises(Failure, match=f"no .PONG from 127.0.0.1:{address[1]} within [0-9.]+ s"):
        readiness.first_pong(address, os.getpid(), 0.1)


def test_no_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """a host without its loopback interface, as `unshare -n` makes one, is told so at once"""

    def unreachable(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", unreachable)
    with pytest.raises(Failure, match="loopback interface down"):
        readiness.first_pong(("127.0.0.1", 1))


# ---- Events after the first cluster was started again: the others tell all once more ----

def line(kind: str, **data: object) -> bytes:
    return json.dumps({"event": kind, **data}, separators=(",", ":")).encode() + b"\n"


BOOT = line("boot", cluster=1)
LOST = line("cluster-lost", cluster=1, why="its kernel panicked")
SERVING = line("serving", app="redis@3", cluster=1)
BOOT_AGAIN = line("boot", cluster=1, again=True)
SERVING_AGAIN = line("serving", app="redis@3", cluster=1, again=True)


def kinds_told(*lines: bytes) -> list[str]:
    """The kinds of events that a reader gets, as they arrive and all in one piece."""
    one, whole = EventStream(), EventStream()
    fresh = [event for each in lines for event in one.feed(each)]
    assert fresh == one.events == whole.feed(b"".join(lines)) == whole.events
    return [event.kind for event in fresh]


@pytest.mark.parametrize("known", [(BOOT, SERVING), (BOOT, LOST, BOOT, SERVING),
                                   (BOOT, SERVING, line("cluster-lost", cluster=0))])
def test_known(known: tuple[bytes, ...]) -> None:
    """what goes on as it was told is not told twice"""
    assert kinds_told(*known, BOOT_AGAIN, SERVING_AGAIN) == kinds_told(*known)


@pytest.mark.parametrize(
    ("before", "again"),
    [
        ((), (BOOT_AGAIN, SERVING_AGAIN)),  # into a new file
        ((BOOT, SERVING, LOST), (BOOT_AGAIN, SERVING_AGAIN)),  # started again with nobody to tell
        ((BOOT, SERVING, LOST, BOOT), (SERVING_AGAIN,)),
        ((BOOT, SERVING, line("fault", app="redis@3")), (SERVING_AGAIN,)),
        ((BOOT, SERVING, line("exit", app="redis@3", status=0)), (SERVING_AGAIN,)),
        ((BOOT, line("serving", app="redis@4", cluster=1)), (SERVING_AGAIN,)),
    ],
)
def test_news(before: tuple[bytes, ...], again: tuple[bytes, ...]) -> None:
    """what the first cluster's former life did not tell is told, once"""
    assert len(kinds_told(*before, *again)) == len(before) + len(again)
    assert kinds_told(*before, *again, *again) == kinds_told(*before, *again)


def test_back_without_a_word() -> None:
    """a cluster whose boot is told is not lost, though nobody has said that it was started again"""
    lost = Event("cluster-lost", {"event": "cluster-lost", "cluster": 1})
    other = Event("cluster-lost", {"event": "cluster-lost", "cluster": 2})
    boot = Event("boot", {"event": "boot", "cluster": 1})
    assert standing([lost, other, boot]) == [other, boot]
    assert standing([boot, lost]) == [boot, lost]
