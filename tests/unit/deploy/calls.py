# SPDX-License-Identifier: BSD-2-Clause
"""Functions that tests of deploy.base.parallel call in processes of their own, each of which loads this file: it
imports little."""

import errno
import importlib
import os
import signal
import sys
import time
from pathlib import Path

from deploy.base.parallel import Report
from topology.errors import InputError


def square(number: int, report: Report) -> tuple[int, set[int]]:
    print("this is not a result")
    report(f"squaring {number}")
    return number * number, os.sched_getaffinity(0)


def until_exists(path: str) -> bool:
    for _ in range(3000):
        if Path(path).exists():
            return True
        time.sleep(0.01)
    return False


def meet(own: str, other: str, report: Report) -> bool:
    """Whether the other runs at the same time."""
    Path(own).touch()
    return until_exists(other)


def fail(kind: type[Exception], other: str, report: Report) -> None:
    until_exists(other)
    raise InputError("here", "is wrong") if kind is InputError else kind("went wrong")


def fill_the_disk(report: Report) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/full/machine")


def die(other: str, report: Report) -> None:
    until_exists(other)
    os.kill(os.getpid(), signal.SIGKILL)


def wait(began: str, path: str, report: Report) -> None:
    """Until it is ended; says so."""
    try:
        Path(began).touch()
        report(os.getpid())
        time.sleep(600)
    finally:
        time.sleep(0.3)  # what is cleaned up takes time, in which it must not be interrupted once more
        Path(path).touch()


class Field:
    def __set_name__(self, owner: type, name: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)


def load_module(folder: str, report: Report) -> None:
    """Loads a module, and is ended meanwhile."""
    Path(folder, "described.py").write_text(f"from {__name__} import Field\nclass Described:\n    field = Field()\n")
    sys.path.insert(0, folder)
    importlib.import_module("described")
    time.sleep(60)


def kill_worker(marks: str, times: int, report: Report) -> int:
    """Kills the worker that runs it, so many times; returns how often it has run."""
    runs = len(list(Path(marks).iterdir()))
    Path(marks, str(runs)).touch()
    if runs < times:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return runs + 1
