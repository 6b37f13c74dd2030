# SPDX-License-Identifier: BSD-2-Clause
"""A deployment's files on the host, wherever that is: a libvirt pool of its own, a folder with image and logs."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path, PurePosixPath
from typing import Any

from deploy.base.errors import Failure
from deploy.domains.connection import Connection, explained
from topology import foreign
from topology.errors import InputError
from topology.machines.libvirt_domain import element

EVENTS = "events.jsonl"  # beside images and consoles, which are as many as there are machines (record.py)
SYSTEM = PurePosixPath("/var/lib/libvirt/images")


def default_folder(host: Connection) -> PurePosixPath:
    """Returns the folder where libvirt keeps images: those of the host, or of this user."""
    if not host.is_session:
        return SYSTEM
    if not host.is_local:
        raise InputError("--storage", f"is needed: a folder on {host.hostname} for image and logs")
    return PurePosixPath(Path.home() / ".local/share/libvirt/images")


class Storage:
    """The pool `name`, in a folder of this name."""

    def __init__(self, host: Connection, name: str) -> None:
        self.host = host
        self.name = name
        self._pool: Any = None

    def make(self, chosen: PurePosixPath | None) -> None:
        """Defines and starts the pool, unless it is there; None: anywhere."""
        folder = chosen or default_folder(self.host)
        with explained(f"{self.host.uri}: storage {folder / self.name}"):
            if self.find():
                if chosen is None or self.path == folder / self.name:
                    return
                self.unmake()
            permissions = element("permissions", element("mode", text="0711"))  # the emulator's user passes through
            target = element("target", element("path", text=folder / self.name), permissions)
            root = element("pool", element("name", text=self.name), target, type="dir")
            self._pool = self.host.raw.storagePoolDefineXML(ElementTree.tostring(root, encoding="unicode"))
            try:
                self._pool.build()
                self._pool.create()
            except self.host.lib.libvirtError:
                self._pool.undefine()
                raise

    def find(self) -> bool:
        """Whether there is such a pool; a stopped one is started. Raises Failure for one that has only the name."""
        lib = self.host.lib
        try:
            self._pool = self.host.raw.storagePoolLookupByName(self.name)
        except lib.libvirtError as error:
            if error.get_error_code() != lib.VIR_ERR_NO_STORAGE_POOL:
                raise
            return False
        if self.path.name != self.name:
            raise Failure(f"{self.host.uri}: the storage pool {self.name}, of {self.path}, is not Skerry's: left alone")
        if not self._pool.isActive():
            try:
                self._pool.create()
            except lib.libvirtError:
                self._pool.build()  # somebody removed the folder
                self._pool.create()
        return True

    @property
    def path(self) -> PurePosixPath:
        with explained(f"{self.host.uri}: storage {self.name}"):
            return PurePosixPath(foreign.xml(self._pool.XMLDesc(), self.host.uri).findtext("target/path") or "/")

    def upload(self, source: Path, name: str) -> None:
        size = source.stat().st_size
        volume = element("volume", element("name", text=name), element("capacity", text=size, unit="bytes"),
                         element("target", element("format", type="raw")))
        with explained(f"{self.host.uri}: storing {name}"), source.open("rb") as file:
            self.remove(name)
            made = self._pool.createXML(ElementTree.tostring(volume, encoding="unicode"))
            stream = self.host.raw.newStream()
            made.upload(stream, 0, size)
            stream.sendAll(lambda _, count, __: file.read(count), None)
            stream.finish()

    def read(self, name: str, offset: int = 0) -> bytes:
        """A file from `offset` on. One that has become shorter, as a log that was begun anew, is read from 0."""
        with explained(f"{self.host.uri}: reading {name}"):
            volume = self._volume(name)
            if volume is None:
                return b""
            size = volume.info()[1]
            offset = offset if offset <= size else 0
            if offset == size:
                return b""
            stream = self.host.raw.newStream()
            volume.download(stream, offset, size - offset)
            pieces: list[bytes] = []
            stream.recvAll(lambda _, data, __: pieces.append(data), None)
            stream.finish()
            return b"".join(pieces)

    def size(self, name: str) -> int:
        with explained(f"{self.host.uri}: reading {name}"):
            volume = self._volume(name)
            return 0 if volume is None else int(volume.info()[1])

    def names(self) -> list[str]:
        self._pool.refresh()
        return [volume.name() for volume in self._pool.listAllVolumes()]

    def remove(self, name: str) -> None:
        if volume := self._volume(name):
            volume.delete()

    def clear(self) -> None:
        """Whatever is in it goes."""
        with explained(f"{self.host.uri}: clearing storage {self.name}"):
            for name in self.names():
                self.remove(name)

    def unmake(self) -> None:
        """Files, folder and pool."""
        with explained(f"{self.host.uri}: removing storage {self.name}"):
            if not self.find():
                return
            self.clear()
            self._pool.destroy()
            self._pool.delete()
            self._pool.undefine()

    def _volume(self, name: str) -> Any:
        """Files that the emulator wrote are known after a refresh only."""
        lib = self.host.lib
        for fresh in (False, True):
            try:
                if fresh:
                    self._pool.refresh()
                return self._pool.storageVolLookupByName(name)
            except lib.libvirtError as error:
                if error.get_error_code() != lib.VIR_ERR_NO_STORAGE_VOL:
                    raise
        return None


def require(storage: Storage) -> Storage:
    """The pool of a deployment, which may have been removed behind our back."""
    with explained(storage.host.uri):
        if not storage.find():
            raise Failure(f"the storage pool '{storage.name}' is gone; deploy again")
    return storage
