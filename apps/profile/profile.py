#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of GCC as JSON: profile-*.json, made from .gcda files, and .gcda files made from it.

    profile.py read FOLDER JSON     from the .gcda files below FOLDER, all of one program's run
    profile.py write JSON FOLDER    for -fprofile-use=FOLDER -fprofile-prefix-path=(where the sources are)

Each function that ran has its identifier, the checksums of its line and of its control flow, and the counts of its edges.
GCC drops the counts of a function if its control flow has changed, and ignores files of another version of GCC
(gcc/gcov-io.h has the format).
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

MAGIC = 0x67636461  # "gcda"
SUMMARY, FUNCTION, EDGES = 0xA1000000, 0x01000000, 0x01A10000  # tags of records
HEADER = struct.Struct("<4I")  # magic, version, stamp, checksum
SUMMARIES = struct.Struct("<2I")  # runs, highest count
RECORD = struct.Struct("<Ii")  # tag, and bytes; fewer than 0: as many bytes of zeroes, which are left out


def records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = HEADER.size
    while at + RECORD.size <= len(data):
        tag, size = RECORD.unpack_from(data, at)
        at += RECORD.size
        yield tag, data[at : at + max(size, 0)]
        at += max(size, 0)


def record(tag: int, content: bytes) -> bytes:
    return RECORD.pack(tag, len(content)) + content


def read(folder: Path) -> dict[str, object]:
    version = highest = 0
    objects: dict[str, dict[str, str]] = {}
    for path in sorted(folder.rglob("*.gcda")):
        data = path.read_bytes()
        magic, version, _, _ = HEADER.unpack_from(data)
        if magic != MAGIC:
            sys.exit(f"{path}: expected a profile of GCC, found a file that begins with {magic:#x}")
        found: dict[str, str] = {}
        function = ""
        for tag, content in records(data):
            if tag == SUMMARY:
                highest = max(highest, SUMMARIES.unpack(content)[1])
            elif tag == FUNCTION:
                function = " ".join(f"{word:08x}" for (word,) in struct.iter_unpack("<I", content))
            elif tag == EDGES and any(content):
                found[function] = " ".join(str(count) for (count,) in struct.iter_unpack("<q", content))
        if found:
            objects[str(path.relative_to(folder).with_suffix(""))] = found
    return {"version": f"{version:08x}", "highest": highest, "objects": objects}


def write(profile: dict[str, object], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    objects = profile["objects"]
    assert isinstance(objects, dict)
    for name, functions in objects.items():
        data = HEADER.pack(MAGIC, int(str(profile["version"]), 16), 0, 0) + record(SUMMARY, SUMMARIES.pack(1, profile["highest"]))
        for function, counts in functions.items():
            data += record(FUNCTION, b"".join(struct.pack("<I", int(word, 16)) for word in function.split()))
            data += record(EDGES, b"".join(struct.pack("<q", int(count)) for count in counts.split()))
        (folder / f"{name.replace('/', '#')}.gcda").write_bytes(data + bytes(4))  # the name that GCC looks for


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["read", folder, file]:
            Path(file).write_text(json.dumps(read(Path(folder)), indent=1) + "\n")
        case ["write", file, folder]:
            write(json.loads(Path(file).read_text()), Path(folder))
        case _:
            sys.exit(__doc__)
