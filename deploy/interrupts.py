# SPDX-License-Identifier: BSD-2-Clause
"""Ctrl-C ends every command in every phase with one line and exit status 130.

While a process starts up, and while it ends, there is nothing to clean up and nobody to catch a KeyboardInterrupt: the
process ends at once. SIGINT comes blocked from the launcher (env --block-signal) and from deploy/setup/bootstrap.py,
because the interpreter's own start would answer it with a traceback.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time
from types import FrameType

STATUS = 130  # as a shell says of a process that SIGINT has ended
_AGAIN = 0.005  # seconds


def _end(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"skerry: interrupted\n")
    finally:
        os._exit(STATUS)


def end_at_once() -> None:
    """From now on, and for one that has come already."""
    signal.signal(signal.SIGINT, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _send_again(lost: sys.UnraisableHookArgs) -> None:
    """The interpreter swallows an exception that meets `__del__` or the callback of a weak reference: the signal is sent
    again, when that one has returned."""

    def send(main: int) -> None:
        time.sleep(_AGAIN)
        signal.pthread_kill(main, signal.SIGINT)

    if issubclass(lost.exc_type, KeyboardInterrupt):
        _thread.start_new_thread(send, (_thread.get_ident(),))
    else:
        sys.__unraisablehook__(lost)


def raise_keyboard_interrupt(*numbers: signal.Signals) -> None:
    """For SIGINT and signals of these `numbers`, from now on; what must be cleaned up is."""
    sys.unraisablehook = _send_again
    for number in (signal.SIGINT, *numbers):
        signal.signal(number, signal.default_int_handler)


def hold_back() -> None:
    """Until the program that takes this one's place calls end_at_once()."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


# The interpreter puts the system's own handler back while it ends: a Ctrl-C there would replace the status.
atexit.register(hold_back)
