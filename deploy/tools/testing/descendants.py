# SPDX-License-Identifier: BSD-2-Clause
"""Ends all processes that were started within a block, those in sessions of their own and orphans, too."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress
from types import TracebackType

from deploy.base.errors import Failure
from deploy.base.timeouts import children, children_of

_SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 36, 37  # of prctl(2)
_PAUSE = 0.01   # seconds between two looks
_PATIENCE = 100  # seconds in which the kernel ends a process that was killed


def _prctl(option: int, argument: object) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0):
        raise Failure(f"prctl({option}): {os.strerror(ctypes.get_errno())}")


def _own() -> set[int]:
    return set(children().get(os.getpid(), []))


class Descendants:
    """Within the block, a descendant of which the parent ends becomes a child of this process.

    At the block's end each child that this process did not have at its beginning is killed, with all below it. One
    that the block itself started must be waited for there. No other thread may start a process meanwhile.
    """

    def __enter__(self) -> Descendants:
        before = ctypes.c_int()
        _prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before))
        self._subreaper = before.value
        self._before = _own()
        _prctl(_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        end = time.monotonic() + _PATIENCE
        while left := _own() - self._before:  # a process that is killed may leave children, which come here
            for pid in left:
                kill(pid)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > end:
                break  # in the kernel, which does not let it go
            time.sleep(_PAUSE)
        _prctl(_SET_CHILD_SUBREAPER, ctypes.c_ulong(self._subreaper))


def kill(child: int) -> None:
    """Kills the child and all below it: emulators have sessions of their own."""
    for pid in children_of(child):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
