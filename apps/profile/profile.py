#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of GCC as JSON: profile*.json, made from .gcda files, and .gcda files made from it.

    profile.py read JSON FOLDER...       from the .gcda files below each FOLDER, which has those of one program's run; counts are added up
    profile.py write JSON FOLDER VERSION for -fprofile-use=FOLDER -fprofile-prefix-path=(where the sources are), of this
                                         VERSION of GCC
    profile.py lay JSON FOLDER VERSION   the same in a new folder in FOLDER, which it prints: its name tells one profile from another;
                                         nothing if it is of another major version of GCC
    profile.py check JSON                that GCC can take it
    profile.py options                   of GCC beside -fprofile-use

Each function that ran has its identifier, the checksums of its line and of its control flow, and the counts of its
edges. GCC drops the counts of a function if its control flow has changed, and ignores files of another version of GCC
(gcc/gcov-io.h has the format): files are written as of a compiler's own minor version; checksums are the same.

What the load did not run (-fprofile-partial-training) is optimised as without a profile, not for size. Other headers
can change a function and leave its checksum: GCC makes such counts consistent (-fprofile-correction) in place of an
error.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

OPTIONS = (
    "-fprofile-partial-training -fprofile-correction -fno-profile-values -fno-vpt -Wno-missing-profile "
    "-Wno-coverage-mismatch"
)
MAGIC = 0x67636461  # "gcda"
SUMMARY, FUNCTION, EDGES = 0xA1000000, 0x01000000, 0x01A10000  # tags of records
HEADER = struct.Struct("<4I")  # magic, version, stamp, checksum
SUMMARIES = struct.Struct("<2I")  # runs, highest count
RECORD = struct.Struct("<Ii")  # tag, and bytes; fewer than 0: as many bytes of zeroes, which are left out
MOST = 2**31  # executions of an edge; GCC's arithmetic on counts overflows far above


def refuse(path: Path, why: str) -> NoReturn:
    sys.exit(f"{path}: {why}")


def records(data: bytes, path: Path) -> Iterator[tuple[int, bytes]]:
    at = HEADER.size
    while at + RECORD.size <= len(data):
        tag, size = RECORD.unpack_from(data, at)
        at += RECORD.size
        if at + max(size, 0) > len(data):
            refuse(path, "expected a profile of GCC, found one that is cut off")
        yield tag, data[at : at + max(size, 0)]
        at += max(size, 0)


def record(tag: int, content: bytes) -> bytes:
    return RECORD.pack(tag, len(content)) + content


def read(folders: Iterable[Path]) -> dict[str, Any]:
    version = highest = 0  # of the whole program, what is left out here, too
    objects: dict[str, dict[str, list[int]]] = {}
    for path, folder in ((path, each) for each in folders for path in sorted(each.rglob("*.gcda"))):
        data = path.read_bytes()
        magic, version, _, _ = HEADER.unpack_from(data.ljust(HEADER.size, b"\0"))
        if magic != MAGIC:
            refuse(path, f"expected a profile of GCC, found a file that begins with {magic:#x}")
        function = ""
        for tag, content in records(data, path):
            if tag == SUMMARY:
                highest = max(highest, SUMMARIES.unpack(content)[1])
            elif tag == FUNCTION:
                function = " ".join(f"{word:08x}" for (word,) in struct.iter_unpack("<I", content))
            elif tag == EDGES and any(content):
                counts = [count for (count,) in struct.iter_unpack("<q", content)]
                found = objects.setdefault(str(path.relative_to(folder).with_suffix("")), {})
                before = found.get(function, [0] * len(counts))
                if len(before) != len(counts):
                    refuse(path, f"function {function} has {len(counts)} counts, and {len(before)} in another run")
                found[function] = [a + b for a, b in zip(before, counts)]
    highest = max(max((max(counts) for functions in objects.values() for counts in functions.values()), default=0),
                  highest)
    texts = {name: {function: " ".join(map(str, counts)) for function, counts in found.items()}
             for name, found in objects.items()}
    return {"version": f"{version:08x}", "highest": highest, "objects": texts}


def text(profile: dict[str, Any]) -> str:
    """Returns a profile as JSON, a line an object file."""
    rows = (f"  {json.dumps(name)}: {json.dumps(functions)}" for name, functions in profile["objects"].items())
    objects = ",\n".join(rows)
    return (f'{{\n "version": {json.dumps(profile["version"])},\n "highest": {profile["highest"]},\n'
            f' "objects": {{\n{objects}\n }}\n}}\n')


def load(path: Path) -> tuple[int, int, dict[str, dict[str, str]]]:
    """Version, highest count and objects, of which GCC can take all."""
    try:
        profile = json.loads(path.read_text())
        version, highest, objects = int(profile["version"], 16), int(profile["highest"]), profile["objects"]
        for name, functions in objects.items():
            for function, counts in functions.items():
                if not re.fullmatch("[0-9a-f]{8}( [0-9a-f]{8}){2}", function):
                    raise ValueError(f"'{function}' of {name} is no function's identifier with two checksums")
                if not all(0 <= int(count) <= MOST for count in counts.split()):
                    raise ValueError(f"function {function} of {name} has a count that is not from 0 to {MOST}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        refuse(path, f"expected a profile as profile.py writes it: {error}")
    return version, min(max(highest, 0), MOST), objects


def files(path: Path, compiler: str) -> dict[str, bytes]:
    """Content by the name that GCC looks for. One of another major version will ignore it."""
    version, highest, objects = load(path)
    if is_of(version, compiler):
        version = version_of(compiler)
    found = {}
    for name, functions in objects.items():
        data = HEADER.pack(MAGIC, version, 0, 0) + record(SUMMARY, SUMMARIES.pack(1, highest))
        for function, counts in functions.items():
            data += record(FUNCTION, b"".join(struct.pack("<I", int(word, 16)) for word in function.split()))
            data += record(EDGES, b"".join(struct.pack("<q", int(count)) for count in counts.split()))
        found[f"{name.replace('/', '#')}.gcda"] = data + bytes(4)
    return found


def write(contents: dict[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


def version_of(compiler: str) -> int:
    """Returns a version as GCC writes it in a profile: 12.2.0 is B22*."""
    major, minor = (int(part) for part in compiler.split(".")[:2])
    return int.from_bytes(f"{chr(ord('A') + major // 10)}{major % 10}{chr(ord('0') + minor)}*".encode(), "big")


def is_of(version: int, compiler: str) -> bool:
    """Returns whether a profile's version has the compiler's major version."""
    return version >> 16 == version_of(compiler) >> 16


def lay(path: Path, folder: Path, compiler: str) -> Path | None:
    """The old one goes when the new one is whole."""
    if not is_of(load(path)[0], compiler):
        return None
    contents = files(path, compiler)
    name = hashlib.sha256(b"".join(name.encode() + content
                                   for name, content in sorted(contents.items()))).hexdigest()[:12]
    new = folder / f"{name}.new"
    shutil.rmtree(new, ignore_errors=True)
    write(contents, new)
    for old in [each for each in folder.iterdir() if each != new]:
        shutil.rmtree(old)
    return new.rename(folder / name)


def main(words: list[str]) -> None:
    match words:
        case ["read", file, *folders] if folders:
            profile = read(map(Path, folders))
            new = Path(f"{file}.new")  # a full disk leaves the old one
            try:
                new.write_text(text(profile))
                new.replace(file)
            finally:
                new.unlink(missing_ok=True)
        case ["write", file, folder, compiler]:
            write(files(Path(file), compiler), Path(folder))
        case ["lay", file, folder, compiler]:
            print(lay(Path(file), Path(folder), compiler) or "")
        case ["check", file]:
            load(Path(file))
        case ["options"]:
            print(OPTIONS)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as error:  # that of a write names no file
        sys.exit(f"{error.filename or sys.argv[2]}: {error.strerror}")
