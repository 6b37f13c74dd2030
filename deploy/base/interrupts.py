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
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TypeVar

STATUS = 130  # as a shell says of a process that SIGINT has ended
_AGAIN = 0.005  # seconds
_REMINDER = signal.SIGURG  # of a signal that is owed; a program without a handler ignores it
_IMPORT = "<frozen importlib._bootstrap>"  # the file name of each frame that imports a module
# Functions of the standard library that make or remove temporary files, by module; None: all of the module's. They are
# named, not imported: this module is loaded before anything that takes long.
_WHOLE = {"tempfile": None, "shutil": ("rmtree", "_rmtree_safe_fd", "_rmtree_unsafe")}
_owed = False  # a signal that is sent again, but has not come yet
_heard: set[CodeType] = set()  # of functions
_Function = TypeVar("_Function", bound=Callable[..., object])


def _end(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"skerry: interrupted\n")
    finally:
        os._exit(STATUS)


def end_at_once() -> None:
    """From now on, and for one that has come already."""
    signal.signal(signal.SIGINT, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _send_again() -> None:
    """Again and again until it raises, from another thread: where this one is now, an exception would not be heard.

    Several signals become one, as they do where they are blocked: a second one would meet what the first makes clean
    up. It is sent by a number of its own: one that comes late, when the signal has been heard, is dropped."""

    def send(main: int) -> None:
        time.sleep(_AGAIN)
        while _owed and signal.getsignal(signal.SIGINT) in (raise_or_wait, _end):
            signal.pthread_kill(main, _REMINDER)
            time.sleep(_AGAIN)

    global _owed
    if not _owed:
        _owed = True
        _thread.start_new_thread(send, (_thread.get_ident(),))


def heard_in_imports(function: _Function) -> _Function:
    """Decorates what may take minutes, and is called by modules while they are imported: a signal does not wait for its
    end. Between the function and the import, nothing may make another exception of a KeyboardInterrupt."""
    _heard.add(function.__code__)
    return function


def _must_end(frame: FrameType) -> bool:
    """Returns whether an exception in this function would be lost, or would leave files behind."""
    if frame.f_code.co_filename == _IMPORT:
        return True
    module = frame.f_globals.get("__name__")
    return module in _WHOLE and ((names := _WHOLE[module]) is None or frame.f_code.co_name in names)


def raise_or_wait(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, but later within an import, and while temporary files are made or removed.

    An import may make another exception of it: `type` makes a RuntimeError of what leaves `__set_name__` (each
    dataclass has some), extension modules an ImportError. A folder that is being removed would stay."""
    global _owed
    while frame is not None and frame.f_code not in _heard:
        if _must_end(frame):
            return _send_again()
        frame = frame.f_back
    _owed = False
    raise KeyboardInterrupt


def _reminded(number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if _owed and handler in (raise_or_wait, _end) and callable(handler):
        handler(signal.SIGINT, frame)


def _swallowed(lost: sys.UnraisableHookArgs) -> None:
    """The interpreter swallows an exception that meets `__del__` or the callback of a weak reference: the signal is
    sent again, when that one has returned."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _send_again()
    else:
        sys.__unraisablehook__(lost)


def raise_keyboard_interrupt(*numbers: signal.Signals) -> None:
    """Raises KeyboardInterrupt at SIGINT and at signals of these `numbers`, from now on, after what must be cleaned
    up."""
    sys.unraisablehook = _swallowed
    signal.signal(_REMINDER, _reminded)
    for number in (signal.SIGINT, *numbers):
        signal.signal(number, raise_or_wait)


def hear() -> None:
    """Raises an interrupt that is still to be sent again. Call it before another program that never calls end_at_once()
    takes this one's place."""
    global _owed
    if _owed:  # the thread that would send it ends with this program
        _owed = False  # it would say a second time that the command was interrupted
        raise KeyboardInterrupt


def hold_back() -> None:
    """Until the program that takes this one's place calls end_at_once()."""
    global _owed
    owed, _owed = _owed, False  # from here on no reminder is heard
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    if owed:  # as in hear()
        signal.raise_signal(signal.SIGINT)


# The interpreter puts the system's own handler back while it ends: a Ctrl-C there would replace the status.
atexit.register(hold_back)
