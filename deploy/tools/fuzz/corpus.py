# SPDX-License-Identifier: BSD-2-Clause
"""What was learned, into the repository: the fewest and smallest inputs that reach all that is reached."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure
from deploy.tools.fuzz.run import options, reason_of
from deploy.tools.fuzz.target import Target

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
    """libFuzzer names inputs by their content."""
    with tempfile.TemporaryDirectory() as scratch:
        chosen = Path(scratch)
        command = [str(target.fuzzer), "-set_cover_merge=1", *options(target), scratch, str(target.corpus), str(learned)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise Failure(f"the corpus could not be merged: {reason_of(done.stderr)}")
        new = {path.name: path for path in chosen.iterdir()}
        size = sum(path.stat().st_size for path in new.values())
        if size > SIZE_MAX:
            raise Failure(f"the merged corpus has {size >> 10} KiB, more than the repository is to carry: it stays as it was")
        old = {path.name for path in target.corpus.iterdir()}
        for name in new.keys() - old:
            shutil.copyfile(new[name], target.corpus / name)
        gone = {name for name in old - new.keys() if HASH.fullmatch(name)}  # those named by people stay
        for name in gone:
            (target.corpus / name).unlink()
    return Merged(len(new), size, len(new.keys() - old), len(gone))
