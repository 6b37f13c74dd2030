# SPDX-License-Identifier: BSD-2-Clause
"""Runs explorations and other repeatable tests whose program has changed since they passed: `build/venv/bin/python -m
tests.long.explorations [--only WORD] [--jobs N] [--list] [--fresh]`.

explorations.txt beside this file keeps a hash of each program that passed, and is a part of the repository:
`./skerry test` runs only those that have another one, so a tree that this campaign has not seen is tested, too, but
longer: a quarter of an hour. `./skerry prove`, and `./skerry test --only WORD`, run them in any case.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD
from deploy.base.terminal import Output
from deploy.setup import needs
from deploy.setup.build import ensure_built
from deploy.tools.testing import explored, meson_tests
from deploy.tools.testing.explored import Verdict
from tests import verdict_file

LONG = 1000  # seconds, of one that has no verdict: it may be


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.explorations",
                                     description="Runs repeatable tests that have changed, and records what passed.")
    parser.add_argument("--only", metavar="WORD", default="", help="those with WORD in their name")
    parser.add_argument("--jobs", metavar="N", type=int, default=len(os.sched_getaffinity(0)), help="side by side")
    parser.add_argument("--list", action="store_true", help="say which would run")
    parser.add_argument("--fresh", action="store_true", help="also what passed before")
    options = parser.parse_args()
    process.heed_signals()
    try:
        with alone("tests.long.explorations", explored.FILE, BUILD / "explorations.lock"):
            return attend(options)
    except Failure as error:
        print(f"explorations: {error}", file=sys.stderr)
        return 1


def attend(options: argparse.Namespace) -> int:
    """Runs what is to be run, the longest first, and records what passed. Returns the exit status."""
    ensure_built(Output(), needs.NAMES_OF_TESTS)
    tests = explored.repeatable()
    chosen = [test for test in tests if options.only.lower() in test.name.lower()]
    ensure_built(Output(), needs.Needs(meson_tests.targets(chosen)))
    known = {name: verdict for name, verdict in explored.verdicts().items() if name in {test.name for test in tests}}
    waiting = chosen if options.fresh else explored.without_explored(chosen)[0]
    waiting.sort(key=lambda test: known[test.name].seconds if test.name in known else LONG, reverse=True)
    if options.list:
        print("\n".join(test.name for test in waiting))
        return 0
    failed = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for future in as_completed(running := {pool.submit(meson_tests.run_one, test): test for test in waiting}):
            test, result = running[future], future.result()
            print(f"{result.outcome}  {test.name}  {result.seconds:.0f} s", *filter(None, [result.detail]), sep="\n",
                  flush=True)
            if result.outcome != "passed":
                failed += 1
                known.pop(test.name, None)
            else:
                known[test.name] = Verdict(explored.digest(test), date.today().isoformat(), round(result.seconds))
            verdict_file.write(explored.FILE, ((name, one.digest, one.date, str(one.seconds))
                                               for name, one in sorted(known.items())))
    print(f"{len(known)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
