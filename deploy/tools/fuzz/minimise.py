# SPDX-License-Identifier: BSD-2-Clause
"""Makes what a fuzzer learned small: the fewest inputs that reach all that is reached, the fewest records that fail."""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import write_bytes
from deploy.base.errors import Failure
from deploy.base.process import run_within
from deploy.base.timeouts import Clock, children_of, slowness
from deploy.tools.fuzz.run import HANG, Find, options, reason_of
from deploy.tools.fuzz.target import Target
from lib.fuzz.corpus import inputs_of, read, unpack, write

HASH = re.compile(r"(min-)?[0-9a-f]{40}")  # libFuzzer's names
SIZE_MAX = 1 << 20  # bytes that the repository is to carry


@dataclass(frozen=True)
class Merged:
    inputs: int
    bytes: int
    fresh: int
    gone: int

    def __str__(self) -> str:
        return f"{self.inputs} inputs, {self.bytes / 1024:.0f} KiB ({self.fresh} new, {self.gone} no longer needed)"


def merge(target: Target, learned: Path) -> Merged:
    """libFuzzer names inputs by their content; those that people named stay."""
    with tempfile.TemporaryDirectory() as scratch:
        chosen, kept = Path(scratch, "chosen"), Path(scratch, "kept")
        chosen.mkdir()
        unpack(target.corpus, kept)  # not the build's, which may be older
        command = [str(target.fuzzer), "-set_cover_merge=1", *options(target), str(chosen), str(kept), str(learned)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise Failure(f"the corpus could not be merged: {reason_of(done.stderr)}")
        new = inputs_of(chosen)
        size = sum(len(data) for data in new.values())
        if size > SIZE_MAX:
            raise Failure(f"the merged corpus has {size >> 10} KiB, more than the repository is to carry: it stays as "
                          f"it was")
        old = read(target.corpus)
        gone = {name for name in old.keys() - new.keys() if HASH.fullmatch(name)}
        write(target.corpus, {name: data for name, data in (old | new).items() if name not in gone})
    return Merged(len(new), size, len(new.keys() - old.keys()), len(gone))


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
