# SPDX-License-Identifier: BSD-2-Clause
"""One process at a time: locks that end with the process that holds them."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.base.atomic_files import naming
from deploy.base.errors import Failure

LOCK = ".skerry-lock"  # in a folder that one process at a time writes


@contextmanager
def exclusive(lock: Path, what: str, taken: Callable[[str], None]) -> Iterator[None]:
    """Holds the file `lock`, which says by which process that is, and `what` it does.

    Where another one has it `taken` is called with what the file says, and the lock is waited for when that returns.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = "".join(c if c.isprintable() else "?" for c in file.read(200).decode(errors="replace"))
            taken(holder)
            fcntl.flock(file, fcntl.LOCK_EX)
        with naming(lock):
            file.truncate(0)
            file.write(f"process {os.getpid()}, {what}"[:150].encode())
        try:
            yield
        finally:
            file.truncate(0)


@contextmanager
def alone(what: str, writes: Path, lock: Path | None = None) -> Iterator[None]:
    """Holds the lock of a campaign, `what`, that keeps its results in `writes`; a second one there is a Failure.
    `lock`: its file, if that is not in `writes`."""

    def refuse(holder: str) -> None:
        raise Failure(f"{writes} is being written by {holder or 'another process'}: wait until it has ended, or end it")

    with exclusive(lock or writes / LOCK, what, refuse):
        yield
