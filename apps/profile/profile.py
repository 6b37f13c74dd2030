#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of GCC as JSON: profile*.json, made from .gcda files, and .gcda files made from it.

    profile.py read JSON FOLDER...  from the .gcda files below each FOLDER, which has those of one program's run; counts are added up
    profile.py write JSON FOLDER    for -fprofile-use=FOLDER -fprofile-prefix-path=(where the sources are)
    profile.py lay JSON FOLDER      the same in a new folder in FOLDER, which it prints: its name tells one profile from another

Each function that ran has its identifier, the checksums of its line and of its control flow, and the counts of its edges.
GCC drops the counts of a function if its control flow has changed, and ignores files of another version of GCC
(gcc/gcov-io.h has the format).

    profile.py options              of GCC beside -fprofile-use
What the load did not run (-fprofile-partial-training) is optimised as without a profile, not for size. Other headers
can change a function and leave its checksum: GCC makes such counts consistent (-fprofile-correction) in place of an error.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

OPTIONS = "-fprofile-partial-training -fprofile-correction -fno-profile-values -fno-vpt -Wno-missing-profile -Wno-coverage-mismatch"
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


def read(folders: Iterable[Path]) -> dict[str, object]:
    version = 0
    objects: dict[str, dict[str, tuple[int, ...]]] = {}
    for path, folder in ((path, each) for each in folders for path in sorted(each.rglob("*.gcda"))):
        data = path.read_bytes()
        magic, version, _, _ = HEADER.unpack_from(data)
        if magic != MAGIC:
            sys.exit(f"{path}: expected a profile of GCC, found a file that begins with {magic:#x}")
        function = ""
        for tag, content in records(data):
            if tag == FUNCTION:
                function = " ".join(f"{word:08x}" for (word,) in struct.iter_unpack("<I", content))
            elif tag == EDGES and any(content):
                found = objects.setdefault(str(path.relative_to(folder).with_suffix("")), {})
                counts = tuple(count for (count,) in struct.iter_unpack("<q", content))
                found[function] = tuple(map(sum, zip(counts, found.get(function, (0,) * len(counts)))))
    highest = max((max(counts) for functions in objects.values() for counts in functions.values()), default=0)
    texts = {name: {function: " ".join(map(str, counts)) for function, counts in found.items()} for name, found in objects.items()}
    return {"version": f"{version:08x}", "highest": highest, "objects": texts}


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


def lay(file: Path, folder: Path) -> Path:
    laid = folder / hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    shutil.rmtree(folder, ignore_errors=True)
    write(json.loads(file.read_text()), laid)
    return laid


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["read", file, *folders] if folders:
            new = Path(f"{file}.new")  # a full disk leaves the old one
            new.write_text(json.dumps(read(map(Path, folders)), indent=1) + "\n")
            new.replace(file)
        case ["write", file, folder]:
            write(json.loads(Path(file).read_text()), Path(folder))
        case ["options"]:
            print(OPTIONS)
        case ["lay", file, folder]:
            print(lay(Path(file), Path(folder)))
        case _:
            sys.exit(__doc__)
