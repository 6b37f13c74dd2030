# SPDX-License-Identifier: BSD-2-Clause
"""Program images as the loader takes them (lib/freestanding/executable.c), checked before an image holds them."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from topology import headers
from topology.errors import InputError

ET_EXEC, ET_DYN, X86_64, PT_LOAD, PT_INTERP, PT_NOTE = 2, 3, 62, 1, 3, 4
EXECUTE, WRITE = 1, 2
PAGE = 4096
NOTES = 1000  # of a file that are looked at; it has a handful
KERNEL_LOW, KERNEL_HIGH = headers.macro(headers.KERNEL / "boot.h", "KERNEL_IMAGE_BASE"), 1 << 64
PROGRAM_LOW, PROGRAM_HIGH = PAGE, 1 << 32                 # lib/include/skerry/process.h: the heap


@dataclass(frozen=True)
class Segment:
    flags: int
    offset: int
    address: int
    in_file: int
    size: int

    @property
    def end(self) -> int:
        return self.address + self.size


def segments(name: str, path: str, data: bytes, dynamic: bool = False) -> list[Segment]:
    """Returns the segments of an ELF64 file that are loaded. `dynamic`: accepts a dynamically linked program, as the
    Linux guest's may be."""
    offset, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    if size != 56 or offset % 8 or offset + count * size > len(data):
        raise InputError(name, f"the program headers of {path} are not in the file")
    loaded = []
    for number in range(count):
        kind, flags, at, address, _, in_file, memory, _ = struct.unpack_from("<IIQQQQQQ", data, offset + number * size)
        if kind == PT_INTERP and not dynamic:
            raise InputError(name, f"{path} is linked dynamically; link it with `skerry cc`")
        if kind == PT_LOAD and memory:
            loaded.append(Segment(flags, at, address, in_file, memory))
    return loaded


def _notes(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yields the type, the name and the content of each note of an executable, of the first NOTES of them."""
    offset, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    left = NOTES
    for number in range(count):
        kind, _, at, _, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", data, offset + number * 56)
        end = min(at + size, len(data)) if kind == PT_NOTE else 0
        while at + 12 <= end and left:
            left -= 1
            name_size, size, note = struct.unpack_from("<III", data, at)
            content = at + 12 + -(-name_size // 4) * 4
            yield note, data[at + 12 : min(at + 12 + name_size, end)], data[content : min(content + size, end)]
            at = content + -(-size // 4) * 4


def _is_of_linux(data: bytes) -> bool:
    """Whether an executable has the note that a C library's start-up code for Linux brings: NT_GNU_ABI_TAG, with 0 for
    Linux."""
    return any(kind == 1 and name == b"GNU\0" and content[:4] == bytes(4) for kind, name, content in _notes(data))


def spans_cores(data: bytes) -> bool:
    """Returns whether an executable that check() has passed has the note of the layer's form for several cores
    (apps/libc/posix/cores.c)."""
    return any(kind == 1 and name == b"Skerry\0" for kind, name, _ in _notes(data))


def may_fork(data: bytes) -> bool:
    """Returns whether an executable that check() has passed has the note of the layer's form for several processes
    (apps/libc/posix/family.c)."""
    return any(kind == 2 and name == b"Skerry\0" for kind, name, _ in _notes(data))


def check_header(name: str, path: str, data: bytes) -> None:
    if len(data) < 64 or data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != X86_64:
        raise InputError(name, f"{path} is not an ELF64 file for x86-64")


def check(name: str, path: str, data: bytes) -> None:
    """Refuses what the loader would refuse of a kernel or a program."""
    check_header(name, path, data)
    kind, entry = struct.unpack_from("<H", data, 16)[0], struct.unpack_from("<Q", data, 24)[0]
    if kind == ET_DYN:
        raise InputError(name, f"{path} is position-independent; link it with `skerry cc`")
    if kind != ET_EXEC:
        raise InputError(name, f"{path} is not an executable")
    low, high = (KERNEL_LOW, KERNEL_HIGH) if name.startswith("kernel-") else (PROGRAM_LOW, PROGRAM_HIGH)
    last = -1  # page of the segment before
    entered = False
    for s in segments(name, path, data):
        if s.in_file > s.size or s.offset + s.in_file > len(data):
            raise InputError(name, f"{path}: its segment at {s.address:#x} is not in the file")
        if s.address < low or s.end > high:
            raise InputError(name, f"{path}: its segment at {s.address:#x} is outside {low:#x} .. {high - 1:#x}")
        if s.flags & WRITE and s.flags & EXECUTE:
            raise InputError(name, f"{path}: its segment at {s.address:#x} is writable and executable")
        if s.address // PAGE <= last:
            raise InputError(name,
                             f"{path}: its segment at {s.address:#x} shares a page with another or is out of order")
        last = (s.end - 1) // PAGE
        entered |= bool(s.flags & EXECUTE) and s.address <= entry < s.end
    if not entered:
        raise InputError(name, f"{path}: its entry point {entry:#x} is in no executable segment")
    if _is_of_linux(data):
        raise InputError(name, f"{path} is linked for Linux; link it with `skerry cc`")
