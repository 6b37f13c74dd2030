# SPDX-License-Identifier: BSD-2-Clause
"""Devicetree source and blobs. dtc compiles; lib/cluster-map reads (reader.py)."""

import re
import struct
from pathlib import Path

from topology import demand, foreign
from topology.errors import InputError
from topology.limits import MAX_SIZE

FDT_MAGIC = 0xD00DFEED

# Where dtc's lexer begins what is no plain character: a directive, a path, a comment, a string, a character constant.
_MARK = re.compile(
    r"/(?:dts-v1|plugin|memreserve|bits|delete-node|delete-property|omit-if-no-ref)/|&\{/[\w,.+*#?@/-]*\}|&\{|//?incbin/|//?include/|//|/\*|[\"']",
    re.ASCII,
)
_STRING = re.compile(r'"(?:[^"\\]|\\[^\n])*"')
_NO_MAP_HAS = {
    '"': "a string without an end", "/*": "a comment without an end", "'": "a character constant, which no map has",
    "&{": "a path that begins with no /",
}  # fmt: skip


def check_source(text: str, source: str = "cluster map") -> None:
    """Refuses what makes dtc read other files; strings and comments may say it. What could make dtc take text for
    something else than this does is refused, too."""
    at = 0
    while match := _MARK.search(text, at):
        mark, at = match[0], match.end()
        if mark == '"' and (string := _STRING.match(text, match.start())):
            at = string.end()
        elif mark in ("/*", "//") and (end := text.find("*/" if mark == "/*" else "\n", at)) >= 0:
            at = end + (2 if mark == "/*" else 1)
        elif mark == "//":  # the last line
            return
        elif mark in _NO_MAP_HAS or "/in" in mark and mark[0] == "/":
            problem = _NO_MAP_HAS.get(mark, f"{mark} reads another file, and a map is one file")
            raise InputError(source, f"line {text.count(chr(10), 0, match.start()) + 1}: {problem}")


def compile_dts(text: str, source: str = "cluster map") -> bytes:
    """Devicetree source to blob. What dtc refuses is bad input; its first error is the line."""
    check_source(text, source)
    try:
        done = foreign.run([demand.program("dtc", "build"), "-I", "dts", "-O", "dtb", "-o", "-", "-"], text, source)
    except FileNotFoundError:
        raise InputError("dtc", "not found; install device-tree-compiler") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").splitlines()
        errors = [line for line in lines if re.search(r"\bERROR\b|\b[Ee]rror:", line)] or lines or ["dtc failed"]
        raise InputError(source, re.sub(r"^(<std\w+>: )?ERROR ", "", errors[0]).replace("<stdin>:", "line "))
    if len(done.stdout) > MAX_SIZE:
        raise InputError(source, f"{len(done.stdout)} bytes are more than {MAX_SIZE}")
    return done.stdout


def load(path: Path) -> bytes:
    """A map file, source or blob, as a blob."""
    content = foreign.read(path, foreign.MAP)
    if content[:4] == struct.pack(">I", FDT_MAGIC):
        return content
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError(str(path), "is neither devicetree source nor a devicetree blob") from None
    return compile_dts(text, str(path))
