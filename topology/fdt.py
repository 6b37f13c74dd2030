# SPDX-License-Identifier: BSD-2-Clause
"""Devicetree source and blobs: compiled with dtc, read here into a tree of nodes."""

import re
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from topology import demand
from topology.errors import InputError
from topology.limits import MAX_SIZE

FDT_MAGIC = 0xD00DFEED
_BEGIN_NODE, _END_NODE, _PROP, _NOP, _END = 1, 2, 3, 4, 9


@dataclass
class Node:
    name: str
    path: str
    properties: dict[str, bytes] = field(default_factory=dict)
    children: list["Node"] = field(default_factory=list)

    def child(self, name: str) -> "Node | None":
        return next((c for c in self.children if c.name == name), None)


def compile_dts(text: str, source: str = "cluster map") -> bytes:
    """Devicetree source to blob. What dtc refuses is bad input; its first error is the line."""
    try:
        done = subprocess.run(
            [demand.program("dtc", "build"), "-I", "dts", "-O", "dtb", "-o", "-", "-"], input=text.encode(), capture_output=True
        )
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
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(str(path), error.strerror or "cannot be read") from None
    if content[:4] == struct.pack(">I", FDT_MAGIC):
        return content
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError(str(path), "is neither devicetree source nor a devicetree blob") from None
    return compile_dts(text, str(path))


def parse(blob: bytes, source: str = "cluster map") -> Node:
    """A blob as a tree. A blob that does not hold together is refused, whatever its bytes are."""
    try:
        return _parse(blob)
    except (struct.error, IndexError, ValueError) as error:
        raise InputError(source, f"not a devicetree blob ({error})") from None


def _parse(blob: bytes) -> Node:
    magic, total, off_struct, off_strings, _, version, compatible, _, strings_size, struct_size = struct.unpack_from(
        ">10I", blob
    )
    if magic != FDT_MAGIC or version < 17 or compatible > 17:
        raise ValueError("wrong magic or version")
    if total > len(blob):
        raise ValueError(f"cut off, {len(blob)} of {total} bytes")

    if max(off_strings + strings_size, off_struct + struct_size) > total:
        raise ValueError("a block runs over the end")
    blob = blob[:total]
    end = off_struct + struct_size

    def string(offset: int, limit: int) -> str:
        return blob[offset : blob.index(b"\0", offset, limit)].decode("ascii")

    stack: list[Node] = []
    position = off_struct
    while True:
        if position + 4 > end:
            raise ValueError("ends early")
        (token,) = struct.unpack_from(">I", blob, position)
        position += 4
        if token == _BEGIN_NODE:
            name = string(position, end)
            position += (len(name) + 4) & ~3
            parent = stack[-1] if stack else None
            path = f"{parent.path.rstrip('/')}/{name}" if parent else "/"
            node = Node(name, path)
            if parent:
                parent.children.append(node)
            stack.append(node)
        elif token == _END_NODE:
            node = stack.pop()
            if not stack:
                if blob[position:end] != struct.pack(">I", _END):
                    raise ValueError("does not end behind its root")
                return node
        elif token == _PROP:
            length, name_offset = struct.unpack_from(">2I", blob, position)
            value = blob[position + 8 : position + 8 + length]
            if len(value) != length:
                raise ValueError("property runs over the end")
            stack[-1].properties[string(off_strings + name_offset, off_strings + strings_size)] = value
            position += (8 + length + 3) & ~3
        elif token != _NOP:
            raise ValueError(f"unknown token {token}" if token != _END else "ends early")
