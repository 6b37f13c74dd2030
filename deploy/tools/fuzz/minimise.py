# SPDX-License-Identifier: BSD-2-Clause
"""From an input that fails to one that fails alike with as few records as possible."""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from deploy.base.atomic_files import write_bytes
from deploy.base.process import run_within
from deploy.base.timeouts import Clock, children_of, slowness
from deploy.tools.fuzz.run import HANG, Find, reason_of
from deploy.tools.fuzz.target import Target

PATIENCE = 60.0  # seconds of given time (timeouts.py) for the whole of it


def kind_of(reason: str) -> str:
    """A reason less the numbers, which differ from input to input."""
    return re.sub(r"0x[0-9a-f]+|\d+", "#", reason)


def split(data: bytes, header: int, record: int) -> tuple[bytes, list[bytes]]:
    rest = data[header:]
    return data[:header], [rest[i : i + record] for i in range(0, len(rest), record)]


def shrink(records: list[bytes], fails: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Leaves out halves, quarters, ..., single records, as long as it still fails."""
    size = max(1, len(records) // 2)
    while True:
        start, shrunk = 0, False
        while start < len(records):
            fewer = records[:start] + records[start + size :]
            if fewer and fails(fewer):
                records, shrunk = fewer, True
            else:
                start += size
        if size == 1 and not shrunk:
            return records
        size = max(1, size // 2)


def minimise(target: Target, find: Find) -> tuple[Path, int, int]:
    """The smaller input, named by its content, and how many records there were and are."""
    header, records = split(find.input.read_bytes(), *target.record)
    kind, most = kind_of(find.reason), PATIENCE * slowness()
    clock = Clock(lambda: children_of(os.getpid()))

    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "input")

        def fails(candidate: list[bytes]) -> bool:
            if clock.look() > most:
                return False
            file.write_bytes(header + b"".join(candidate))
            command = [str(target.fuzzer), f"-timeout={HANG}", f"-artifact_prefix={scratch}/", str(file)]
            try:
                done = run_within(command, 2 * HANG)
            except subprocess.TimeoutExpired:
                return False
            return done.returncode != 0 and kind_of(reason_of(done.stderr)) == kind

        fewest = shrink(records, fails) if fails(records) else records
    data = header + b"".join(fewest)
    path = find.input.with_name(f"min-{hashlib.sha1(data).hexdigest()}")
    write_bytes(path, data)
    return path, len(records), len(fewest)
