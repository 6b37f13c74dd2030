# SPDX-License-Identifier: BSD-2-Clause
"""Explores the states of kernels further than a test does: `build/venv/bin/python -m tests.long.states [--only WORD]
[--time S] [--states N] [--jobs N] [--list] [--fresh]`.

Every theme in every regime, each until its time is over. states.txt beside this file keeps what came of each, with a
hash of the program: a theme that passed is explored again when the program is another one, or is given more time.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from datetime import date
from pathlib import Path

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD, LOGS
from deploy.base.terminal import Output
from deploy.deployment.modules import REGIMES
from deploy.setup import needs
from deploy.setup.build import ensure_built
from deploy.tools import explore as explorer
from deploy.tools.testing import explored
from tests import verdict_file

FILE = Path(__file__).with_suffix(".txt")
DEPTH = 40
PASSED, FOUND = "passed", "found"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.states",
                                     description="Explores the states of kernels, and records how far.")
    parser.add_argument("--only", metavar="WORD", default="", help="those with WORD in 'REGIME: THEME'")
    parser.add_argument("--time", metavar="S", type=int, default=60, help="seconds of each (60)")
    parser.add_argument("--states", metavar="N", type=int, default=50000000, help="states to store, 32 bytes each")
    parser.add_argument("--jobs", metavar="N", type=int, default=len(os.sched_getaffinity(0)), help="side by side")
    parser.add_argument("--list", action="store_true", help="say which would run")
    parser.add_argument("--fresh", action="store_true", help="also what passed before")
    options = parser.parse_args()
    process.heed_signals()
    try:
        with alone("tests.long.states", FILE, BUILD / "states.lock"):
            return attend(options)
    except Failure as error:
        print(f"states: {error}", file=sys.stderr)
        return 1


def digest(path: Path) -> str:
    """Returns a hash of what of the program is loaded."""
    return hashlib.sha256(b"".join(explored.sections(path.read_bytes()))).hexdigest()[:32]


def attend(options: argparse.Namespace) -> int:
    """Explores what is to be explored, and records it. Returns the exit status."""
    regimes = [regime for regime in REGIMES if not options.only or ":" not in options.only
               or regime == options.only.split(":")[0]]
    ensure_built(Output(), needs.NAMES_OF_TESTS)
    ensure_built(Output(), needs.Needs(frozenset(map(explorer.target, regimes))))
    known = {line[0]: line for line in verdict_file.read(FILE)}
    found = 0
    for regime in regimes:
        program = explorer.program(regime)
        now = digest(program)
        for theme in explorer.themes(program):
            name = f"{regime}: {theme.name}"
            last = known.get(name)
            fresh = last and last[1:3] == [PASSED, now] and int(last[6]) >= options.time and not options.fresh
            if options.only not in name or fresh or (regime == "none" and theme.cores > 1):
                continue
            if options.list:
                print(name)
                continue
            record = LOGS / "explore" / f"campaign-{regime}.txt"
            record.parent.mkdir(parents=True, exist_ok=True)
            command = [str(program), "--theme", theme.name, "--depth", str(DEPTH), "--time", str(options.time),
                       "--states", str(options.states), "--jobs", str(options.jobs), "--record", str(record)]
            result = explorer.run(command, theme.name, lambda state: None)
            verdict = FOUND if result.found else PASSED
            found += verdict == FOUND
            print(f"{verdict}  {name}  depth {result.depth}, {result.states:,} states, {result.rate:,.0f}/s: "
                  f"{result.found or result.end}", flush=True)
            known[name] = [name, verdict, now, date.today().isoformat(), str(result.depth), str(result.states),
                           str(options.time)]
            verdict_file.write(FILE, (line for _, line in sorted(known.items())))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
