# SPDX-License-Identifier: BSD-2-Clause
"""The folder that a machine writes its output to, and whether there was always room in it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from deploy.errors import Failure
from deploy.files import free

LEAST = 64 << 10  # bytes; a machine writes less between two looks


def private_directory() -> Path:
    """A new one that carries our process id and its namespace; those of processes of this namespace that were killed go. The
    processes of a container that shares the folder are not seen here, so theirs stay."""
    here = f"{os.stat('/proc/self/ns/pid').st_ino:x}"
    for old in Path(tempfile.gettempdir()).glob(f"skerry-run-*-{here}-*"):
        owner = old.name.split("-")[2]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"skerry-run-{os.getpid()}-{here}-"))


class Room:
    """Looked at while a machine writes there: QEMU drops what a full disk does not take, and says nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._missing = False
        self._said = False

    def look(self) -> None:
        left = free(self._folder)
        self._missing = self._missing or (left is not None and left < LEAST)

    def check(self) -> None:
        if self._missing:
            self._said = True
            raise Failure(self._why())

    @property
    def unsaid(self) -> str:
        """Why what the machine wrote cannot be trusted; nothing where it can, or where check() has said it."""
        return self._why() if self._missing and not self._said else ""

    def _why(self) -> str:
        return f"no space left in {self._folder.parent}, so that some of what the machine wrote is lost"
