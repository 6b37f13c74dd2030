# SPDX-License-Identifier: BSD-2-Clause
"""Archives for the loader, and the initramfs of Linux: cpio's "newc" format (Linux: Documentation, early-userspace)."""

from __future__ import annotations

import stat
from pathlib import PurePosixPath


class Archive:
    """Files, their folders as needed, and character devices; all owned by root."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._folders = {PurePosixPath(".")}
        self._inode = 0

    def file(self, path: str, content: bytes, executable: bool = False, time: int = 0) -> None:
        """`time`: of the last change, in seconds since 1970."""
        self._entry(path, stat.S_IFREG | (0o755 if executable else 0o644), content, time=time)

    def folder(self, path: str) -> None:
        name = PurePosixPath(path.lstrip("/"))
        if name not in self._folders:
            self._folders.add(name)
            self._entry(path, stat.S_IFDIR | 0o755, links=2)

    def link(self, path: str, target: str) -> None:
        self._entry(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path: str, major: int, minor: int) -> None:
        self._entry(path, stat.S_IFCHR | 0o600, device=(major, minor))

    def finish(self) -> bytes:
        """The archive, padded so that another may follow."""
        self._inode = 0
        self._append("TRAILER!!!", 0, b"", 1, (0, 0))
        return bytes(self._data) + bytes(-len(self._data) % 512)

    def _entry(
        self,
        path: str,
        mode: int,
        content: bytes = b"",
        links: int = 1,
        device: tuple[int, int] = (0, 0),
        time: int = 0,
    ) -> None:
        name = path.lstrip("/")
        parent = PurePosixPath(name).parent
        if parent not in self._folders:
            self.folder(str(parent))
        self._inode += 1
        self._append(name, mode, content, links, device, time)

    def _append(
        self, name: str, mode: int, content: bytes, links: int, device: tuple[int, int], time: int = 0
    ) -> None:
        encoded = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, links, time, len(content), 0, 0, *device, len(encoded), 0)
        self._data += b"070701" + b"".join(b"%08X" % value for value in fields) + encoded
        self._data += bytes(-len(self._data) % 4) + content
        self._data += bytes(-len(self._data) % 4)
