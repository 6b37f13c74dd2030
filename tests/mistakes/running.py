# SPDX-License-Identifier: BSD-2-Clause
"""Runs a program that may hang, until it ends, its time is over, or the campaign is told to stop."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure

LOOK = 0.5  # seconds between looks at whether to stop
CPU_LIMIT = 'ulimit -t "$0"; exec "$@"'


class Stopped(Exception):
    """The campaign was told to stop; what was under way has no verdict."""


@dataclass(frozen=True)
class Done:
    status: int
    printed: str  # standard output
    complaint: str  # standard error
    hangs: bool
    seconds: float


def run(command: Sequence[str], folder: Path, stop: threading.Event, *, wall: float, cpu: float | None = None) -> Done:
    """`cpu` limits each process by the time that it computes, which other work on the machine does not change."""
    full = ["sh", "-c", CPU_LIMIT, str(max(1, round(cpu))), *command] if cpu else list(command)
    start = time.monotonic()
    process = subprocess.Popen(full, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True,
                               errors="replace", start_new_session=True, cwd=folder)
    try:
        while True:
            try:
                printed, complaint = process.communicate(timeout=LOOK)
                break
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    raise Stopped from None
                if time.monotonic() - start > wall:
                    _kill(process)
                    printed, complaint = process.communicate()
                    return Done(process.returncode, printed, complaint, True, time.monotonic() - start)
    except BaseException:
        _kill(process)
        process.wait()
        raise
    hangs = cpu is not None and process.returncode in (-signal.SIGKILL, -signal.SIGXCPU)
    return Done(process.returncode, printed, complaint, hangs, time.monotonic() - start)


def ninja(build: Path, targets: Sequence[str]) -> None:
    """Builds the targets, without any mistake."""
    done = subprocess.run(["ninja", "-C", str(build), *targets], capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stdout.splitlines()
                 if "error" in line] or [(done.stdout + done.stderr).strip().rpartition("\n")[2]]
        raise Failure(f"does not build without a mistake: {lines[0]}")


def _kill(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
