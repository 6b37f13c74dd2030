# SPDX-License-Identifier: BSD-2-Clause
"""Runs of a program that draws all it does from a seed."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from deploy.base.errors import Failure
from deploy.base.parallel import Pool
from deploy.tools.fuzz import jobs as at_work
from deploy.tools.fuzz.run import Limits
from deploy.tools.fuzz.target import Target

STEPS = 120000  # of a run, some seconds
RUN = re.compile(r"^seed \d+, \d+ steps, .*?: (\d+) connections .*?, (\d+) KB, (\d+) frames ", re.MULTILINE)
FAILED = re.compile(r"^seed (\d+) failed(.*?); repeat: (.+)$", re.MULTILINE)
# Patterns that tell one failure from another, most telling first.
REASONS = (
    re.compile(r"net fuzz: seed \d+, step \d+: (.*)"),
    re.compile(r"(lwIP: .*)"),
    re.compile(r"(runtime error: .*)"),
    re.compile(r"(ERROR: AddressSanitizer: .*)"),
)


@dataclass
class Progress:
    """Progress of all processes together."""

    runs: int = 0
    connections: int = 0
    frames: int = 0
    kilobytes: int = 0

    def __str__(self) -> str:
        return (
            f"{self.runs} seeds, {self.connections} connections, {self.frames} frames, {self.kilobytes >> 10} MB read"
        )


@dataclass(frozen=True)
class FailedSeed:
    seed: int
    reason: str
    repeat: str


def read_progress(logs: list[str]) -> Progress:
    """From what the processes have printed."""
    progress = Progress()
    for text in logs:
        for connections, kilobytes, frames in RUN.findall(text):
            progress.runs += 1
            progress.connections += int(connections)
            progress.frames += int(frames)
            progress.kilobytes += int(kilobytes)
    return progress


def reason_of(text: str) -> str:
    """The line that says what went wrong."""
    ended = FAILED.search(text)
    return at_work.first_match(REASONS, text) or (f"it ended{ended[2]}" if ended else "it ended by itself")


def failed_seed(text: str) -> FailedSeed:
    match = FAILED.search(text)
    if not match:
        raise Failure(f"the fuzzer ended without a find: {text.strip()[-300:]}")
    return FailedSeed(int(match[1]), reason_of(text), match[3])


def command(target: Target, limits: Limits, jobs: int, seed: int, number: int) -> list[str]:
    """Job `number` takes the seeds seed + number, seed + number + jobs, ..."""
    amount = ["--runs", str(len(range(number, limits.runs, jobs)))] if limits.runs else ["--time", str(limits.seconds)]
    return [str(target.fuzzer), "--seed", str(seed + number), "--stride", str(jobs), "--steps", str(STEPS), *amount]


def fuzz(target: Target, limits: Limits, jobs: int, seed: int,
         show: Callable[[Progress], None], pool: Pool | None = None) -> tuple[Progress, FailedSeed | None]:
    jobs = min(jobs, limits.runs or jobs)
    commands = [command(target, limits, jobs, seed, number) for number in range(jobs)]
    logs, find = at_work.run(target.folder, commands, lambda texts: show(read_progress(texts)),
                             lambda log: failed_seed(at_work.read(log)), pool=pool)
    return read_progress(logs), find
