# SPDX-License-Identifier: BSD-2-Clause
"""Folders of the host that programs have as volumes, by virtio-9p: checked, and as QEMU and libvirt get them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from deploy.base.paths import ROOT
from deploy.deployment.file_tree import DEVICES, MADE, FileTree
from topology import headers
from topology.errors import InputError

PCI_IDS = [(0x1AF4, 0x1049), (0x1AF4, 0x1009)]  # virtio 9P, of today and transitional
MOST_OF_PROGRAM = headers.constant(ROOT / "lib/include/skerry/process.h", "PROCESS_MAX_VOLUMES")
DATA = "/data"  # where an instance of Redis has its folder
FIRST_SLOT, LAST_SLOT = 0x11, 0x1E  # on bus 0, behind the network card
MOST = LAST_SLOT - FIRST_SLOT + 1


@dataclass(frozen=True)
class Volume:
    """One of a program's `volume`: a folder of the host, and where the program finds it."""

    host: str
    guest: str
    read_only: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.guest}{':ro' * self.read_only}"


@dataclass(frozen=True)
class Folder:
    """A volume whose folder of the host has been found."""

    path: Path  # absolute, symbolic links followed
    guest: str
    read_only: bool = False
    made: bool = False  # before the machine starts, where it is not there


@dataclass(frozen=True)
class Share:
    """A folder that a machine gets: its tag is the name of the volume server, which asks for no other."""

    tag: str
    folder: Folder


def slot(index: int) -> int:
    """Returns the place on bus 0 of a machine's volume: in their order, in which servers look for their devices."""
    return FIRST_SLOT + index


def qemu_arguments(shares: Sequence[Share]) -> list[str]:
    """Returns the folders for QEMU's command line.

    `security_model=none`: what a program makes is an ordinary file of the host with the permissions that the program
    gave it, which belongs to the folder's owner (or, where QEMU may not change owners, to who runs QEMU). `mapped`
    would hide files behind permissions of 0600 and attributes that not each file system keeps.
    """
    words = []
    for index, share in enumerate(shares):
        path = str(share.folder.path).replace(",", ",,")
        access = ",readonly=on" if share.folder.read_only else ""
        words += ["-fsdev", f"local,id=volume{index},path={path},security_model=none,multidevs=remap{access}"]
        words += ["-device", f"virtio-9p-pci,fsdev=volume{index},mount_tag={share.tag},bus=pcie.0,"
                             f"addr={slot(index):#x}"]
    return words


def of_instance(folder: Folder, number: int) -> Folder:
    """Returns an instance's own part of the folder that all share; `make` makes it."""
    return replace(folder, path=folder.path / f"redis-{number}", made=True)


def make(shares: Sequence[Share]) -> None:
    """Makes the folders of instances that are not there. Raises InputError for one that the host does not give."""
    for folder in (share.folder for share in shares if share.folder.made):
        try:
            folder.path.mkdir(exist_ok=True)
        except FileExistsError:
            raise InputError("data", f"{folder.path} is no folder") from None
        except OSError as error:
            raise InputError("data", f"{folder.path}: {error.strerror}") from None
        if folder.path.is_symlink() or not os.access(folder.path, os.R_OK | os.W_OK | os.X_OK):
            raise InputError("data", f"{folder.path} is {'a link' if folder.path.is_symlink() else 'not writable'}")


def hold(shares: Sequence[Share]) -> ExitStack:
    """Makes the folders of instances, and keeps other machines of this host from all folders until the stack is closed
    or this process ends: what two machines write would mix. A folder that is only read can be held many times.

    Raises InputError for a folder that another machine holds. On a file system without flock(2) nothing is held.
    """
    make(shares)
    with ExitStack() as held:
        for folder in (share.folder for share in shares):
            key = "data" if folder.made else "volume"
            try:
                file = os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY)
            except OSError as error:
                raise InputError(key, f"{folder.path}: {error.strerror}") from None
            held.callback(os.close, file)
            try:
                fcntl.flock(file, (fcntl.LOCK_SH if folder.read_only else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(key, f"{folder.path} is used by another machine that runs") from None
            except OSError:
                continue  # the file system locks no folders
        return held.pop_all()


def find(volume: Volume, folder: Path) -> Folder:
    """Returns the folder of the host that a volume names, from the deployment file's folder on."""
    path = folder / volume.host
    try:
        path = path.resolve(strict=True)
        if not path.is_dir():
            raise InputError("volume", f"{path} is no folder")
    except FileNotFoundError:
        raise InputError("volume", f"{path}: no such folder; mkdir makes it") from None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a character of 0
        raise InputError("volume", f"{volume.host[:80]!r}: {getattr(error, 'strerror', None) or error}") from None
    if not str(path).isprintable():
        raise InputError("volume", f"{volume.host[:80]!r}: the path of a volume is printable text")
    return Folder(path, volume.guest, volume.read_only)


def check_number(of_program: int, of_machine: int) -> None:
    """Raises InputError where one more than these volumes has no place."""
    if of_program == MOST_OF_PROGRAM:
        raise InputError("volume", f"is one too many: a program can have {MOST_OF_PROGRAM}")
    if of_machine == MOST:
        raise InputError("volume", f"is one too many: a machine can have {MOST}")


def _is_within(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/")


def check(folder: Folder, others: Sequence[Folder], same: Sequence[Folder], tree: FileTree | None) -> None:
    """Raises InputError for a volume that shares its folder with one of `others`, of all programs, or whose place in
    the machine is taken: by one of `same`, of its own program, or by a file."""
    if folder.guest == "/":
        raise InputError("volume", "'/' cannot be a volume; mount it at a folder, such as /data")
    for other in others:
        if _is_within(str(folder.path), str(other.path)) or _is_within(str(other.path), str(folder.path)):
            which = f"{folder.path} is" if folder.path == other.path else f"{folder.path} and {other.path} are"
            raise InputError("volume", f"{which} the folder of two volumes; a folder has one program, whose writes no "
                                       f"other one mixes with")
    for mounted in same:
        if _is_within(folder.guest, mounted.guest) or _is_within(mounted.guest, folder.guest):
            raise InputError("volume", f"{folder.guest} is in the way of another volume, at {mounted.guest}")
    names = folder.guest.split("/")
    ways = ["/".join(names[:length]) for length in range(2, len(names) + 1)]
    if taken := next((way for way in ways if way in DEVICES | MADE or (tree and tree.is_file(way))), None):
        raise InputError("volume", f"{taken} is a file of the program's")
