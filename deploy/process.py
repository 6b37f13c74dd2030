# SPDX-License-Identifier: BSD-2-Clause
"""Child processes that never outlive us: not on Ctrl-C, not on an exception, not when we are killed."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def heed_signals() -> None:
    """Ctrl-C, hang-up and termination all end in KeyboardInterrupt, so that everything is cleaned up.

    Even where the shell that started us in the background had Ctrl-C ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def _die_with_parent(parent: int) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before prctl
        os._exit(127)


def start(command: Sequence[str], log: Path, preload: Path | None = None) -> subprocess.Popen[bytes]:
    """Starts a process in a session of its own (Ctrl-C reaches only us), which the kernel kills when we die.

    `preload` is a library put in front of the process's others.

    Call from the main thread: the kernel watches the thread that starts it.
    """
    parent = os.getpid()
    with log.open("wb") as file:
        return subprocess.Popen(
            list(command),
            env=os.environ | ({"LD_PRELOAD": str(preload)} if preload and preload.exists() else {}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: _die_with_parent(parent),
        )


def stop(process: subprocess.Popen[bytes], grace: float = 1.0) -> int:
    """Ends our own child, politely and then not."""
    if process.poll() is None:
        process.terminate()
        try:
            return process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()
