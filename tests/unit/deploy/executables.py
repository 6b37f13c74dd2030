# SPDX-License-Identifier: BSD-2-Clause
"""Small ELF files, sound or not."""

import struct

READ_EXECUTE, READ_WRITE, ALL = 5, 6, 7
BASE = 0x400000
Segment = tuple[int, int, int]  # flags, address, bytes


def executable(
    address: int = BASE,
    *more: Segment,
    flags: int = READ_EXECUTE,
    kind: int = 2,
    entry: int | None = None,
    headers_at: int = 64,
    first: int = 1,
) -> bytes:
    """One segment of a page at `address` and `more`; `first` is the kind of the first program header."""
    segments = [(flags, address, 4096), *more]
    name = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack(
        "<HHIQQQIHHHHHH", kind, 62, 1, address if entry is None else entry, headers_at, 0, 0, 64, 56, len(segments), 0,
        0, 0
    )
    table = b"".join(struct.pack("<IIQQQQQQ", first if number == 0 else 1, rights, 0, at, at, 16, size, 4096)
                     for number, (rights, at, size) in enumerate(segments))
    return name + header + table


def for_several_cores(name: bytes = b"Skerry\0", kind: int = 1) -> bytes:
    """Returns an executable with the note of programs that are linked for several cores, or one with another `name`;
    kind 2: for several processes."""
    data = bytearray(executable(BASE, (4, BASE + 0x10000, 4096)))
    note = struct.pack("<III", len(name), 0, kind) + name + bytes(-len(name) % 4)
    struct.pack_into("<IIQQQQQQ", data, 64 + 56, 4, 4, len(data), 0, 0, len(note), len(note), 4)
    return bytes(data) + note
