# SPDX-License-Identifier: BSD-2-Clause
"""Runs the POSIX layer's threads under ThreadSanitizer for longer than a test does: `build/venv/bin/python -m
tests.long.races [--minutes M] [--rounds N] [--only CASE]`.

apps/libc/test/test-races.c has the cases: the layer's form for several cores, its threads those of the host. Each run
meets otherwise; the first in which two threads race, or something else comes out than must, ends it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.terminal import Output
from deploy.setup import needs
from deploy.setup.build import ensure_built

PROGRAM = "apps/libc/test/test-races"
LIMIT = 600.0  # seconds of one run, more than which means that a thread sleeps for ever
SHOWN = 40  # lines of a report


def run(rounds: int, case: str) -> str:
    """Returns what is wrong; empty: nothing."""
    command = [str(BUILD / PROGRAM), str(rounds), *([case] if case else [])]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"no end within {LIMIT:.0f} s: a thread sleeps for ever"
    if done.returncode == 0 and not done.stdout:
        raise Failure(f"{PROGRAM}: has no case '{case}'")
    return "" if done.returncode == 0 else "\n".join(done.stderr.splitlines()[:SHOWN]) or f"status {done.returncode}"


def main() -> int:
    """Runs it until the time is over; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.races",
                                     description="Runs threads of the POSIX layer under ThreadSanitizer.")
    parser.add_argument("--minutes", metavar="M", type=float, default=10, help="for so long (10)")
    parser.add_argument("--rounds", metavar="N", type=int, default=300, help="of each thread in a case (300)")
    parser.add_argument("--only", metavar="CASE", default="", help="one case")
    options = parser.parse_args()
    if options.minutes <= 0 or options.rounds < 1:
        parser.error("--minutes and --rounds are numbers above 0")
    process.heed_signals()
    ensure_built(Output(), needs.Needs(frozenset((PROGRAM,))))
    end, runs = time.monotonic() + options.minutes * 60, 0
    while not runs or time.monotonic() < end:
        if wrong := run(options.rounds, options.only):
            print(f"run {runs + 1}:\n{wrong}")
            return 1
        runs += 1
    print(f"{runs} runs, no race")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as error:
        print(f"races: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
