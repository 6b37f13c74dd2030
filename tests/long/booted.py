# SPDX-License-Identifier: BSD-2-Clause
"""Runs booted tests that are marked `campaign` or `drawn`: `build/venv/bin/python -m tests.long.booted [--only WORD]`.

`./skerry test` leaves the former out, and runs a sixth of the latter (tests/boot/conftest.py). booted.txt beside this
file keeps the commit at which each passed last; a test that fails has no line there.
"""

import argparse
import os
import sys
from datetime import date
from pathlib import Path

from deploy.base import host, process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD, ROOT
from deploy.base.terminal import Output
from deploy.setup import needs
from deploy.setup.build import ensure_built
from deploy.tools.testing import pytest_tests
from tests import verdict_file
from tests.boot.conftest import CAMPAIGN

FILE = Path(__file__).with_suffix(".txt")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.booted",
                                     description="Runs the booted tests of the campaign, and records what passed.")
    parser.add_argument("--only", metavar="WORD", default="", help="those with WORD in their name")
    options = parser.parse_args()
    process.heed_signals()
    try:
        with alone("tests.long.booted", FILE, BUILD / "booted.lock"):
            return attend(options.only.lower())
    except Failure as error:
        print(f"booted: {error}", file=sys.stderr)
        return 1


def attend(only: str) -> int:
    """Runs one test after the other, and records what passed. Returns the exit status."""
    ensure_built(Output(), needs.EVERYTHING)
    os.environ[CAMPAIGN] = "1"
    known = {name: rest for name, *rest in verdict_file.read(FILE)}
    run = failed = 0
    for result in pytest_tests.run([ROOT / "tests" / "boot"], only, lambda name: None):
        print(f"{result.outcome}  {result.name}  {result.seconds:.0f} s", *filter(None, [result.detail]), sep="\n",
              flush=True)
        run += 1
        failed += result.outcome == "failed"
        if result.outcome == "passed":
            known[result.name] = [host.commit() or "no commit", date.today().isoformat(), f"{result.seconds:.0f}"]
        else:
            known.pop(result.name, None)
        verdict_file.write(FILE, ([name, *rest] for name, rest in sorted(known.items())))
    if not run:
        raise Failure(f"--only {only}: no test of the campaign has this in its name")
    print(f"{run} run, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
