# SPDX-License-Identifier: BSD-2-Clause
"""Plants a fault in each theorem's function, which must break the theorem: `build/venv/bin/python -m
tests.long.theorems [--only WORD]`.

The faults are in theorems.txt beside this file; `./skerry test` draws a few of them where the provers are installed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from deploy.base import process
from deploy.base.errors import Failure
from deploy.tools.theorems import campaign

LIST = Path(__file__).with_suffix(".txt")


@dataclass(frozen=True)
class Fault:
    function: str
    old: str
    new: str


def faults() -> list[Fault]:
    """Reads the list."""
    result = []
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            function, _, change = line.partition(": ")
            old, _, new = change.partition(" =>")
            result.append(Fault(function, old, new.removeprefix(" ")))
    return result


def found_by(fault: Fault, files: dict[str, str]) -> str:
    """Returns the goal that the fault breaks; an empty text where it breaks none."""
    with tempfile.TemporaryDirectory() as folder:
        return campaign.is_found(files[fault.function], fault.function, fault.old, fault.new, Path(folder))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.theorems",
                                     description="Plants a fault in each theorem's function.")
    parser.add_argument("--only", metavar="WORD", default="", help="functions with WORD in their name")
    options = parser.parse_args()
    process.heed_signals()
    try:
        campaign.need_tools()
        files = {theorem.function: theorem.file for theorem in campaign.theorems(campaign.chosen(""))}
        survived = 0
        for fault in faults():
            if options.only in fault.function:
                goal = found_by(fault, files)
                survived += not goal
                print(f"{fault.function}: {goal or 'NOT FOUND'}", flush=True)
    except Failure as error:
        print(f"theorems: {error}", file=sys.stderr)
        return 1
    return survived > 0


if __name__ == "__main__":
    sys.exit(main())
