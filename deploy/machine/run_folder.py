# SPDX-License-Identifier: BSD-2-Clause
"""The folder that a machine writes its output to, and whether there was always room in it."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

from deploy.base.atomic_files import free
from deploy.base.errors import Failure
from deploy.base.paths import ROOT

TREE = "tree"  # in a run's folder: the checkout that runs it
LEAST = 64 << 10  # bytes; a machine writes less between two looks


def private_directory() -> Path:
    """A new one that carries our process id and its namespace; those of processes of this namespace that were killed
    go. The processes of a container that shares the folder are not seen here, so theirs stay."""
    here = f"{os.stat('/proc/self/ns/pid').st_ino:x}"
    for old in Path(tempfile.gettempdir()).glob(f"skerry-run-*-{here}-*"):
        owner = old.name.split("-")[2]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"skerry-run-{os.getpid()}-{here}-"))
    (folder / TREE).write_text(str(ROOT))
    return folder


def is_private(folder: Path) -> bool:
    """Whether `folder` is one that private_directory() made for this user, with a machine's monitor in it.

    Names in a folder that all may write prove nothing: others' folders, and links, are left alone.
    """
    try:
        there, monitor = folder.lstat(), (folder / "qmp.sock").lstat()
    except OSError:
        return False
    own = os.geteuid()
    return (stat.S_ISDIR(there.st_mode) and there.st_uid == own and not there.st_mode & 0o077 and monitor.st_uid == own
            and stat.S_ISSOCK(monitor.st_mode))


def tree_of(folder: Path) -> str:
    """The checkout whose `skerry` runs the machine; empty where its folder does not say."""
    try:
        return (folder / TREE).read_text()
    except (OSError, UnicodeDecodeError):
        return ""


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
