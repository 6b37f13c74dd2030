# SPDX-License-Identifier: BSD-2-Clause
"""The closed model beside runs that it was not made from: `build/venv/bin/python -m tests.long.closed_model`.

Of each lock and each pause of clients, the model is made of one run of both layouts on the whole machine, and says the
ratio on three quarters and on five quarters of its cores. Half of the errors must be at most 3 %, and all at most 8 %.
Takes some ten minutes on two processors.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from deploy.base import process
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.compare import closed, runs
from deploy.compare.closed import Check
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import PAPERS, load
from deploy.load.case import RedisCase
from deploy.load.comparison import LAYOUTS
from deploy.machine.events import Event
from deploy.results.result import Result
from tests.long import published

LOCKS, PAUSES = "clh,ticket", "10,20,50"  # microseconds, the mean
USUAL, WORST = 0.03, 0.08  # errors: of half of the runs at most, of all at most
SHARES = (1.0, *runs.SHARES)  # of the machine's cores; the model is made of the first


@dataclass(frozen=True)
class Row:
    """A run beside the model."""

    lock: str
    pause: int
    check: Check

    def __str__(self) -> str:
        return (f"{self.lock}, pause {self.pause} µs, {self.check.cores} cores of a socket: measured "
                f"{self.check.measured:.3f}, modelled {self.check.modelled:.3f} ({self.check.error:+.1%})")


def pairs(cases: list[RedisCase], output: Output) -> list[tuple[Result, Result]]:
    """Returns the runs of both layouts on each share of the cores."""
    def follow(name: str, update: Callable[..., None]) -> Callable[[Event], None]:
        return lambda event: None

    assert cases[0].job.modelled
    accel = modelled_run.mode(cases[0].job.modelled)
    every = {(share, case.layout): runs.Call(
        f"{case.name}, {share:.0%} of the cores", runs.run_once,
        ((case if share == 1 else case.on_part(share)).salted(runs.salt(case, 0, images=1)), accel)
    ) for share in SHARES for case in cases}
    parts = Parts(output)
    done = runs.run_all(runs.at_once(cases[0]), every, runs.Follower(output, follow, 1), parts)
    parts.finish()
    first, second = LAYOUTS
    return [(done[share, first], done[share, second]) for share in SHARES]


def measure(lock: str, pause: int, output: Output) -> list[Row]:
    machine = load(PAPERS)
    cases = published.cases(machine, output, lock=lock, think=pause)
    base, *others = pairs(cases, output)
    model = closed.model([base], machine, pause * 1e-6)
    assert model, f"there is no model of lock {lock}"
    return [Row(lock, pause, check) for check in closed.checks(model, others)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.closed_model",
                                     description="Puts runs beside the closed model.")
    parser.add_argument("--lock", default=LOCKS, metavar="L1,L2", help=f"locks ({LOCKS})")
    parser.add_argument("--pause", default=PAUSES, metavar="US,...", help=f"pauses of clients, µs; 0: none ({PAUSES})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all ratios")
    args = parser.parse_args()
    process.heed_signals()
    output, rows = Output(), list[Row]()
    for lock in args.lock.split(","):
        for pause in map(int, args.pause.split(",")):
            for row in measure(lock, pause, output):
                rows.append(row)
                print(row, flush=True)
    errors = [abs(row.check.error) for row in rows]
    right = median(errors) <= USUAL and max(errors) <= WORST
    print(f"median error {median(errors):.1%}, worst {max(errors):.1%}: {'met' if right else 'MISSED'}")
    if args.json:
        args.json.write_text(json.dumps([{"lock": row.lock, "pause_us": row.pause, **row.check.to_json()}
                                         for row in rows], indent=2) + "\n")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
