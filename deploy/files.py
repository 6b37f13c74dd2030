# SPDX-License-Identifier: BSD-2-Clause
"""Files that are written whole or stay as they were, and name themselves when they cannot be written. Standard library only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.errors import Failure


def free(folder: Path) -> int | None:
    """Bytes that this process can still write there; None where the file system does not tell."""
    found = os.statvfs(folder)
    blocks = found.f_bavail if os.geteuid() else found.f_bfree
    return blocks * found.f_frsize if found.f_blocks else None


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
    """What the file held stays until all of the new content is on the disk, and a full disk leaves no half of it."""
    try:
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


def _replace(path: Path, content: bytes) -> None:
    half = path.with_name(f".skerry-half-{os.getpid()}")
    try:
        half.write_bytes(content)
        if path.exists():
            shutil.copymode(path, half)
        half.replace(path)
    finally:
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
