# SPDX-License-Identifier: BSD-2-Clause
"""Devicetree source and blobs. dtc compiles; lib/cluster-map reads (checker.py)."""

import re
import struct
import subprocess
from pathlib import Path

from topology import demand
from topology.errors import InputError
from topology.limits import MAX_SIZE

FDT_MAGIC = 0xD00DFEED


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
