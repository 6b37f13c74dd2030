# SPDX-License-Identifier: BSD-2-Clause
"""Child processes that never outlive us: not on Ctrl-C, not on an exception, not when we are killed."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from deploy.base import interrupts
from deploy.base.timeouts import Clock, children_of, slowness

_PR_SET_PDEATHSIG = 1
_LOOK = 0.25  # seconds between looks at a child's given time
_libc = ctypes.CDLL(None, use_errno=True)


class Child(Protocol):
    """The part of subprocess.Popen that is used of a process that was started."""

    pid: int
    returncode: Any  # int, or None while it runs

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


def heed_signals() -> None:
    """Ctrl-C, hang-up and termination all end in KeyboardInterrupt, so that everything is cleaned up.

    Even where the shell that started us in the background had Ctrl-C ignored.
    """
    interrupts.raise_keyboard_interrupt(signal.SIGTERM, signal.SIGHUP)


def end_with(parent: int, number: int) -> None:
    """This process gets a signal of this number when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # the parent died before prctl
        os._exit(127)


def start(command: Sequence[str], log: Path, preload: Sequence[Path] = ()) -> subprocess.Popen[bytes]:
    """Starts a process in a session of its own (Ctrl-C reaches only us), which the kernel kills when we die.

    `preload` are libraries put in front of the process's others.

    Call from the main thread: the kernel watches the thread that starts it.
    """
    parent = os.getpid()
    libraries = ":".join(str(path) for path in preload if path.exists())
    with log.open("wb") as file:
        return subprocess.Popen(
            list(command),
            env=os.environ | ({"LD_PRELOAD": libraries} if libraries else {}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: end_with(parent, signal.SIGKILL),
        )


def run_within(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Runs a command as subprocess.run() does, with its output. TimeoutExpired after so many seconds of given time
    (timeouts.py), not of the clock's: a busy host is no reason to end it."""
    with subprocess.Popen(
        list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        errors="replace"
    ) as process:
        clock = Clock(lambda: children_of(process.pid))
        while True:
            try:
                out, err = process.communicate(timeout=_LOOK)
                return subprocess.CompletedProcess(list(command), process.returncode, out, err)
            except subprocess.TimeoutExpired:
                elapsed = clock.look()
                if elapsed > seconds and elapsed > seconds * slowness():
                    process.kill()
                    raise
            except BaseException:
                process.kill()
                raise


def stop(process: Child, grace: float = 1.0) -> int:
    """Ends our own child, politely and then not."""
    if process.poll() is None:
        process.terminate()
    return wait_or_kill(process, grace)


def wait_or_kill(process: Child, grace: float) -> int:
    """Waits `grace` seconds for a child that was told to end, then kills it. Sends no second signal, which would
    interrupt its cleaning up. Returns its status."""
    try:
        return process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait()
