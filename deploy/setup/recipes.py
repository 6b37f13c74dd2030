# SPDX-License-Identifier: BSD-2-Clause
"""Scripts that build software of others with `skerry cc`: how they are run, and what they depend on."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from deploy.base.paths import BUILD, ROOT, THIRD_PARTY
from deploy.setup import needs
from deploy.setup.build import complain

WRAPPER = BUILD / needs.WRAPPER
COMPILED_WITH = (WRAPPER, ROOT / "apps/libc/skerry-cc.specs", BUILD / needs.NAMES)  # the last came with musl's headers


def digest(files: Iterable[Path], *texts: str) -> str:
    """Returns a SHA-256 of files' contents and of texts."""
    total = hashlib.sha256(chr(0).join(texts).encode())
    for path in files:
        total.update(path.read_bytes())
    return total.hexdigest()


GRACE = 5.0  # seconds in which what a script has started cleans up


def _end(script: subprocess.Popen[bytes]) -> None:
    """Ends a script and what it has started, and waits for that: none writes on when the lock of the build is free."""
    with suppress(ProcessLookupError):
        os.killpg(script.pid, signal.SIGTERM)
        script.wait()
        latest = time.monotonic() + GRACE
        while time.monotonic() < latest:
            os.killpg(script.pid, 0)
            time.sleep(0.02)
        os.killpg(script.pid, signal.SIGKILL)


def run(script: Path, work: Path, variables: Mapping[str, str], log: Path, what: str) -> None:
    """Runs a script in the folder `work` with CC, SOURCES and these variables, its output in `log`. Raises Failure,
    which says that `what` could not be built. An interrupt ends the script first, with all that it has started."""
    environment = os.environ | {"CC": str(WRAPPER), "SOURCES": str(THIRD_PARTY)} | dict(variables)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        process = subprocess.Popen(["sh", "-eu", str(script)], cwd=work, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=file, stderr=subprocess.STDOUT, process_group=0)
        try:
            process.wait()
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        raise complain(f"{what} could not be built", log)
