# SPDX-License-Identifier: BSD-2-Clause
"""Files of the host that a program has from the start, as the module that it reads (lib/include/skerry/file_tree.h)."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deploy.base.errors import Failure
from topology import headers
from topology.errors import InputError
from topology.units import MIB, PAGE, align_up, format_size

# lib/include/skerry/file_tree.h
_HEADER = headers.LIBRARY / "file_tree.h"
MAGIC, VERSION = headers.macro(_HEADER, "FILE_TREE_MAGIC"), headers.constant(_HEADER, "FILE_TREE_VERSION")
ALIGNED = 65536     # bytes of a file that begins at a page
MOST_ENTRIES = 65536
MOST_BYTES = 1 << 30
LONGEST_NAME = 255  # bytes
DIRECTORY, WRITABLE = 1 << 31, 1 << 30
# apps/libc/posix/device.c and proc.c: what a program finds at these paths is the system's
DEVICES = frozenset(f"/dev/{name}" for name in ("null", "zero", "urandom", "random", "console", "stdin", "stdout",
                                                "stderr"))
MADE = frozenset(("/proc/self/stat", "/proc/self/statm"))
HEAD, ENTRY = struct.Struct("<QIIQQ"), struct.Struct("<QQQII")

Guest = tuple[bytes, ...]  # a path in the machine: its components


@dataclass(frozen=True)
class Mapped:
    """One of a program's `files`: a file or a folder of the host, and where the program finds it."""

    host: str
    guest: str
    writable: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.guest}{':rw' * self.writable}"


@dataclass
class _Item:
    """A file or a folder of the tree."""

    host: Path | None = None  # of a file's content
    size: int = 0
    changed: int = 0          # ns
    mode: int = DIRECTORY | 0o755
    origin: int = 0           # the number of the `files` that it is of
    entries: dict[bytes, _Item] = field(default_factory=dict)

    @property
    def is_folder(self) -> bool:
        return bool(self.mode & DIRECTORY)


def shown(path: Guest) -> str:
    return "/" + "/".join(part.decode(errors="backslashreplace") for part in path)


class _Reading:
    """Reads files of the host into the tree where the program finds them."""

    def __init__(self) -> None:
        self.root = _Item()
        self.count, self.bytes = 1, 0
        self.all: list[Mapped] = []

    def add(self, number: int, mapped: Mapped, host: Path) -> None:
        self.number, self.mapped = number, mapped
        self.all.append(mapped)
        guest: Guest = tuple(part.encode() for part in mapped.guest.split("/") if part)
        self._add(guest, host, ())

    def _wrong(self, problem: str) -> InputError:
        return InputError("files", problem, at=(self.number,))

    def _add(self, guest: Guest, host: Path, above: tuple[tuple[int, int], ...]) -> None:
        try:
            status = host.stat()
            if stat.S_ISDIR(status.st_mode):
                own = (status.st_dev, status.st_ino)
                if own in above:
                    raise self._wrong(f"{host}: a symbolic link leads back to a folder that it is in")
                names = sorted(os.listdir(host), key=os.fsencode)
                self._put(guest, _Item(changed=status.st_mtime_ns, mode=DIRECTORY | status.st_mode & 0o777,
                                       origin=self.number))
                for name in names:
                    self._add((*guest, os.fsencode(name)), host / name, (*above, own))
            elif stat.S_ISREG(status.st_mode):
                if not os.access(host, os.R_OK):
                    raise self._wrong(f"{host}: permission denied")
                mode = status.st_mode & 0o777 | (WRITABLE if self.mapped.writable else 0)
                self._put(guest, _Item(host, status.st_size, status.st_mtime_ns, mode, self.number))
            else:
                raise self._wrong(f"{host} is neither a file nor a folder")
        except FileNotFoundError:
            what = "a symbolic link to nothing" if host.is_symlink() else "no such file"
            raise self._wrong(f"{host}: {what}") from None
        except (OSError, ValueError) as error:  # ValueError of Python: a character of 0; InputError is one, too
            if isinstance(error, InputError):
                raise
            raise self._wrong(f"{host}: "
                              f"{(getattr(error, 'strerror', None) or 'is not a file’s name').lower()}") from None

    def _put(self, guest: Guest, item: _Item) -> None:
        self._check_free(guest, item)
        folder = self.root
        for depth, name in enumerate(guest, start=1):
            if len(name) > LONGEST_NAME:
                raise self._wrong(f"{shown(guest)[:80]}…: a name of {len(name)} bytes; {LONGEST_NAME} are the most")
            last = depth == len(guest)
            there = folder.entries.get(name)
            if there is None:
                there = folder.entries[name] = item if last else _Item(origin=self.number)
                self._count(item.size if last else 0)
            elif last and item.is_folder and there.is_folder:
                there.mode, there.changed = item.mode, item.changed
            elif last:
                raise self._wrong(f"{shown(guest)} is there twice: {self._of(there)} has it, too")
            elif not there.is_folder:
                raise self._wrong(f"{shown(guest)} is in a file: {self._of(there)} has {shown(guest[:depth])}")
            folder = there
        if not guest and not item.is_folder:
            raise self._wrong("'/' is a folder, and cannot be a file")

    def _check_free(self, guest: Guest, item: _Item) -> None:
        """Nothing takes the place of what the system has, nor is in it, nor stands where a folder of it must be."""
        if guest[:1] not in ((b"dev",), (b"proc",)):
            return
        path = shown(guest)
        for own in sorted(DEVICES | MADE):
            if path == own or path.startswith(f"{own}/") or (not item.is_folder and own.startswith(f"{path}/")):
                kind = "a device" if own in DEVICES else "a file that the system makes"
                raise self._wrong(f"'{self.mapped}': {own} is {kind}, and {path} would hide it: choose another path in "
                                  f"the machine")

    def _of(self, item: _Item) -> str:
        return f"'{self.all[item.origin]}'"

    def _count(self, size: int) -> None:
        self.count, self.bytes = self.count + 1, self.bytes + size
        if self.count > MOST_ENTRIES:
            raise self._wrong(f"has more than {MOST_ENTRIES} files and folders, with those before")
        if self.bytes > MOST_BYTES:
            raise self._wrong(f"{self.bytes / MIB:.0f} MiB, with those before, are more than a program's files may "
                              f"have, {format_size(MOST_BYTES)}")


@dataclass(frozen=True)
class FileTree:
    """Files that one program, or several, have from the start."""

    source: tuple[tuple[Mapped, Path], ...]
    root: _Item = field(compare=False, repr=False)
    size: int = field(compare=False)  # of the module, in bytes

    def content(self) -> bytes:
        made = bytearray(self.size)
        items = list(_breadth_first(self.root))
        names, places, _ = _layout(items)
        numbers = {id(item): number for number, (_, item) in enumerate(items)}
        HEAD.pack_into(made, 0, MAGIC, VERSION, len(items), self.size, 0)
        for number, (name, item) in enumerate(items):
            first = numbers[id(next(iter(item.entries.values())))] if item.entries else 0
            where, size = (first, len(item.entries)) if item.is_folder else (places[number], item.size)
            ENTRY.pack_into(made, HEAD.size + number * ENTRY.size, where, size, max(item.changed, 0), names[number],
                            item.mode)
            made[names[number] : names[number] + len(name)] = name
            if item.host:
                made[where : where + size] = _read(item.host, size)
        return bytes(made)

    def is_file(self, path: str) -> bool:
        item = self.root
        for part in (part.encode() for part in path.split("/") if part):
            if part not in item.entries:
                return not item.is_folder
            item = item.entries[part]
        return not item.is_folder


def _breadth_first(root: _Item) -> Iterator[tuple[bytes, _Item]]:
    """Each folder's entries side by side."""
    level = [(b"", root)]
    while level:
        yield from level
        level = [entry for _, item in level for entry in item.entries.items()]


def _layout(items: list[tuple[bytes, _Item]]) -> tuple[list[int], list[int], int]:
    """Returns the offsets of names and of contents in the module, and its size, in bytes."""
    at = HEAD.size + len(items) * ENTRY.size
    names, places = [], []
    for name, _ in items:
        names.append(at)
        at += len(name) + 1
    for _, item in items:
        large = item.size >= ALIGNED
        at = align_up(at, PAGE if large else 16)
        places.append(at)
        at += align_up(item.size, PAGE) if large else item.size
    return names, places, at


def _read(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(size + 1)
    except OSError as error:
        raise Failure(f"{path} cannot be read any more: {(error.strerror or 'error').lower()}") from None
    if len(content) != size:
        raise Failure(f"{path} has {path.stat().st_size} bytes now, and had {size} when the deployment was read")
    return content


def read(files: Iterable[tuple[Mapped, Path]]) -> FileTree:
    """With the host's path of each. InputError: `at` is the number of the one to blame."""
    source = tuple(files)
    reading = _Reading()
    for number, (mapped, host) in enumerate(source):
        reading.add(number, mapped, host)
    return FileTree(source, reading.root, _layout(list(_breadth_first(reading.root)))[2])
