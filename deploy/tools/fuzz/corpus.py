# SPDX-License-Identifier: BSD-2-Clause
"""Copies into the repository what was learned: the fewest and smallest inputs that reach all that is reached."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure
from deploy.tools.fuzz.run import options, reason_of
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
