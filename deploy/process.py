# SPDX-License-Identifier: BSD-2-Clause
"""Child processes that never outlive us: not on Ctrl-C, not on an exception, not when we are killed."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy import interrupts

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


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


def stop(process: subprocess.Popen[bytes], grace: float = 1.0) -> int:
    """Ends our own child, politely and then not."""
    if process.poll() is None:
        process.terminate()
    return wait_or_kill(process, grace)


def wait_or_kill(process: subprocess.Popen[bytes], grace: float) -> int:
    """Of a child that has been told to end; not told again: a second signal would interrupt its cleaning up."""
    try:
        return process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait()
