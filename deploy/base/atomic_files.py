# SPDX-License-Identifier: BSD-2-Clause
"""Files that are written whole or stay as they were, and name themselves when they cannot be written. Standard library
only."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from deploy.base.errors import Failure


def free(folder: Path) -> int | None:
    """Bytes that this process can still write there; None where the file system does not tell."""
    status = os.statvfs(folder)
    blocks = status.f_bavail if os.geteuid() else status.f_bfree
    return blocks * status.f_frsize if status.f_blocks else None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Around what writes a file: a full disk's error, which comes when the file is open already, has its name, too."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Writes the file whole or not at all: the old content stays until all of the new one is on the disk. Failure: a
    full disk, or no permission."""
    try:
        _check_link(path)
        if _is_replaced(path):
            _replace(path, content)
        else:
            path.write_bytes(content)
    except OSError as error:
        raise Failure(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


def _is_replaced(path: Path) -> bool:
    """Our own plain files only: a pipe or a link stays one, and another user's file stays theirs."""
    if not os.access(path.parent, os.W_OK) or path.is_symlink():
        return False
    return not path.exists() or (path.is_file() and os.access(path, os.W_OK) and path.stat().st_uid == os.geteuid())


def _check_link(path: Path) -> None:
    """Refuses a link that another user has put there: it would have this user's rights write where its maker chose."""
    with suppress(OSError):
        link = path.lstat()
        if stat.S_ISLNK(link.st_mode) and link.st_uid not in (0, os.geteuid()):
            raise Failure(f"cannot write {path}: it is a link that another user made")


def _fresh(half: Path, path: Path) -> BinaryIO:
    """Makes the file `half` for what is to replace `path`: nothing that is there already is opened or followed. Nobody
    can read it whom the mode of `path` keeps from that."""
    mode = stat.S_IMODE(path.stat().st_mode) & 0o666 if path.exists() else 0o666
    return os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode), "wb")


def _replace(path: Path, content: bytes) -> None:
    half = path.with_name(f".skerry-half-{secrets.token_hex(8)}")  # which cannot be known in advance
    ours = True
    try:  # an interrupt may come when the file is made and not yet known here
        with _fresh(half, path) as file:
            file.write(content)
        if path.exists():
            shutil.copymode(path, half)
        half.replace(path)
    except FileExistsError:  # a file of somebody else's
        ours = False
        raise
    finally:
        if ours:
            half.unlink(missing_ok=True)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A new one, which takes the place of `folder` when all is in it, and goes where that fails."""
    fresh = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        yield fresh
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
