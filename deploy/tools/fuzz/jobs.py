# SPDX-License-Identifier: BSD-2-Clause
"""Fuzzers at work: several processes, each with a log, until all have ended or one finds something."""

import os
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from deploy.base.process import start, stop

Found = TypeVar("Found")


def read(log: Path) -> str:
    return log.read_text(errors="replace")


def first_match(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    """Returns the match of the first pattern that has one: its group, or all of it if it has none."""
    for pattern in patterns:
        if match := pattern.search(text):
            return match[pattern.groups].strip()
    return None


def run(
    folder: Path, commands: list[list[str]], show: Callable[[list[str]], None], find: Callable[[Path], Found]
) -> tuple[list[str], Found | None]:
    """Gives `show` what the processes have printed, now and then, and `find` the log of the first that fails. Returns
    both at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["ASAN_OPTIONS"] = "abort_on_error=0:detect_leaks=0"
    os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"
    logs = [folder / f"job-{number}.log" for number in range(len(commands))]
    failure = None
    with ExitStack() as stack:
        processes = []
        for command, log in zip(commands, logs, strict=True):
            process = start(command, log)
            stack.callback(stop, process)
            processes.append(process)
        while True:
            ended = [process.poll() is not None for process in processes]
            failed = [log for process, log in zip(processes, logs, strict=True) if process.poll()]
            if failed:
                failure = find(failed[0])
            if failed or all(ended):
                break
            show([read(log) for log in logs])
            time.sleep(0.5)
    return [read(log) for log in logs], failure
