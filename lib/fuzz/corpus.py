# SPDX-License-Identifier: BSD-2-Clause
"""A fuzzer's inputs as one text file, a line an input: its name, and its bytes in base64, sorted by name.

corpus.py unpack FILE FOLDER: FOLDER holds the inputs of FILE, and nothing else
corpus.py pack FOLDER FILE: FILE holds the inputs of FOLDER, and nothing else
corpus.py add FILE INPUT...: FILE holds each INPUT too, by its file's name
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import sys
from pathlib import Path

HEAD = (
    "# SPDX-License-Identifier: BSD-2-Clause\n# A fuzzer's inputs, a line each: name, bytes in base64 "
    "(lib/fuzz/corpus.py).\n"
)
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


class Unsound(Exception):
    """A line of a corpus that is no input."""


def read(file: Path) -> dict[str, bytes]:
    inputs: dict[str, bytes] = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        name, *data = line.split(" ")
        if name == "#":
            continue
        if not NAME.fullmatch(name) or len(data) > 1:
            raise Unsound(f"{file}:{number}: expected a name and bytes in base64, found {line[:40]!r}")
        if name in inputs:
            raise Unsound(f"{file}:{number}: the name {name} stands twice: rename one of the two inputs")
        try:
            inputs[name] = base64.b64decode("".join(data), validate=True)
        except binascii.Error as error:
            raise Unsound(f"{file}:{number}: {name} is not base64: {error}") from None
    return inputs


def write(file: Path, inputs: dict[str, bytes]) -> None:
    for name in inputs:
        if not NAME.fullmatch(name):
            raise Unsound(f"{file}: an input's name has letters, digits, '.', '_' and '-', found {name!r}: rename it")
    text = HEAD + "".join(f"{name} {base64.b64encode(data).decode()}".rstrip() + "\n"
                          for name, data in sorted(inputs.items()))
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(text)
    fresh.replace(file)


def inputs_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def unpack(file: Path, folder: Path) -> None:
    inputs = read(file)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in inputs:
            path.unlink()
    for name, data in inputs.items():
        (folder / name).write_bytes(data)
    os.utime(folder)  # newer than the file, though no name changed


def main(words: list[str]) -> int:
    try:
        match words:
            case ["unpack", file, folder]:
                unpack(Path(file), Path(folder))
            case ["pack", folder, file]:
                write(Path(file), inputs_of(Path(folder)))
            case ["add", file, _, *_]:
                fresh = {Path(word).name: Path(word).read_bytes() for word in words[2:]}
                write(Path(file), read(Path(file)) | fresh)
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except (OSError, UnicodeDecodeError, Unsound) as error:
        print(f"corpus: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
