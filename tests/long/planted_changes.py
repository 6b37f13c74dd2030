# SPDX-License-Identifier: BSD-2-Clause
"""Changes of known size, planted beside the closed model: `build/venv/bin/python -m tests.long.planted_changes`.

Runs both layouts of the published comparison as they are, with 30 cycles more in each hold of a lock, with 10 % fewer
instructions of programs (the emulator charges nothing for them; their memory accesses stay), and with both. The model
is made of the runs as they are, and says how far each change moves the ratio: the measured move must be within 2 points
(hundredths of the ratio) of that, and its 95 % interval over salts must not contain 0. Takes a minute and a half of
processor time.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean

from deploy.base import process
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.compare import closed, runs
from deploy.compare.closed import Model, Side
from deploy.compare.interval import Interval, of_mean
from deploy.compare.runs import Setting, What
from deploy.compare.tables import ratios
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import PAPERS, ModelledMachine, Planted, load
from deploy.load.case import RedisCase
from deploy.machine.events import Event
from deploy.results.result import Result
from tests.long import published

METRIC = "ops_per_s"
HOLD, LESS, SALTS = 30, 10, 4  # cycles; percent; salts of each change
POINTS = 2.0
PARTS = ("application", "libc", "network")  # of an operation's instructions: what programs execute

Pair = tuple[Result, Result]


@dataclass(frozen=True)
class Moved:
    """How far a planted change moves the ratio. Moves are points: hundredths of it."""

    planted: str
    measured: float
    modelled: float
    interval: Interval | None  # of the measured move's mean over all salts
    ratio: float

    @property
    def error(self) -> float:
        return self.measured - self.modelled

    @property
    def right(self) -> bool:
        seen = self.interval is not None and not self.interval.low <= 0 <= self.interval.high
        return abs(self.error) <= POINTS and seen

    def __str__(self) -> str:
        interval = f" ({self.interval.low:+.1f} to {self.interval.high:+.1f}, 95 %)" if self.interval else ""
        verdict = "met" if self.right else "MISSED"
        return (f"{self.planted}: ratio {self.ratio:.3f}, moved by {self.measured:+.1f} points{interval}; the model "
                f"says {self.modelled:+.1f}; {self.error:+.1f} apart: {verdict}")


def settings(case: RedisCase, machines: Sequence[ModelledMachine], salts: int) -> dict[Setting, RedisCase]:
    """Returns the case at the prices of each machine, with each salt: all boot the same."""
    return {Setting(draw, number): case.on(machine).salted(runs.salt(case, draw, salts))
            for number, machine in enumerate(machines) for draw in range(salts)}


def measure(cases: Sequence[RedisCase], machines: Sequence[ModelledMachine], salts: int,
            output: Output) -> tuple[list[list[Pair]], float]:
    """Returns the results of both layouts on each machine, one pair for each salt; and the instructions that programs
    execute for an operation, the mean of both layouts."""
    def follow(name: str, update: Callable[..., None]) -> Callable[[Event], None]:
        return lambda event: None

    shown, parts = runs.Follower(output, follow, 1), Parts(output)
    counting = {case.layout: runs.Call(f"{case.name}, counting instructions", runs.instructions, (case.profiled(),))
                for case in cases}
    counted = runs.run_all(runs.at_once(cases[0]), counting, shown)
    every = runs.timed([(case, settings(case, machines, salts)) for case in cases],
                       modelled_run.mode(machines[0]))
    done = runs.separate(runs.run_all(runs.at_once(cases[0]), every, shown, parts), parts)
    parts.finish()
    first, second = cases
    pairs = [[(done[What.TIMED, Setting(draw, number), *first.key], done[What.TIMED, Setting(draw, number),
                                                                         *second.key])
              for draw in range(salts)] for number in range(len(machines))]
    return pairs, mean(sum(one[f"instructions_per_op_by.{part}"] for part in PARTS) for one in counted.values())


def with_change(model: Model, change: Planted, instructions: float, cycles: float) -> Model:
    """Returns the model with the planted change. `instructions`: of programs, for an operation, at so many `cycles`
    each."""
    def changed(side: Side) -> Side:
        less = change.less / 100 * instructions * cycles / side.entries
        return replace(side, hold=side.hold + change.hold, user=side.user - less)

    return replace(model, first=changed(model.first), second=changed(model.second))


def moved(change: Planted, pairs: Sequence[Pair], usual: Sequence[Pair], model: Model, planted: Model) -> Moved:
    """Returns the measured move, from the same salts without the change, beside the modelled one."""
    factors = [ratios(*with_it)[METRIC] / ratios(*without)[METRIC] for with_it, without in zip(pairs, usual)]
    base, interval = mean(ratios(*pair)[METRIC] for pair in usual), of_mean(factors)

    def points(factor: float) -> float:
        return 100 * base * (factor - 1)

    return Moved(str(change), points(mean(factors)), points(planted.ratio / model.ratio),
                 interval and Interval(points(interval.low), points(interval.high)), base * mean(factors))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.planted_changes",
                                     description="Puts planted changes beside the closed model.")
    parser.add_argument("--lock", default="clh", metavar="LOCK", help="the lock (clh)")
    parser.add_argument("--hold", type=float, default=HOLD, metavar="CYCLES", help=f"more in each hold ({HOLD})")
    parser.add_argument("--less", type=int, default=LESS, metavar="PERCENT",
                        help=f"fewer instructions of programs ({LESS})")
    parser.add_argument("--salts", type=int, default=SALTS, metavar="N", help=f"of each change ({SALTS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all moves and ratios")
    args = parser.parse_args()
    if not 0 < args.hold <= 1000 or not 0 < args.less <= 90 or args.salts < 2:
        parser.error("--hold is up to 1000 cycles, --less up to 90 percent, both above 0; --salts is 2 or more")
    process.heed_signals()
    machine, output = load(PAPERS), Output()
    changes = [Planted(hold=args.hold), Planted(less=args.less), Planted(args.hold, args.less)]
    cases = published.cases(machine, output, lock=args.lock)
    machines = [machine, *(replace(machine, planted=change) for change in changes)]
    (usual, *others), instructions = measure(cases, machines, args.salts, output)
    model = closed.model(usual, machine)
    if not model:
        print(f"there is no model of lock {args.lock}")
        return 1
    print(f"as it is: ratio {mean(ratios(*pair)[METRIC] for pair in usual):.3f}, the model {model.ratio:.3f}; "
          f"{instructions:,.0f} instructions of programs an operation", flush=True)
    cycles = machine.prices["cpi_user"].cycles
    rows = [moved(change, pairs, usual, model, with_change(model, change, instructions, cycles))
            for change, pairs in zip(changes, others)]
    for row in rows:
        print(row)
    if args.json:
        args.json.write_text(json.dumps({
            "lock": args.lock, "usual": [ratios(*pair)[METRIC] for pair in usual], "model": model.to_json(),
            "moves": [asdict(row) | {"error": row.error, "right": row.right,
                                     "planted_ratios": [ratios(*pair)[METRIC] for pair in pairs],
                                     "results": [one.to_json() for pair in pairs for one in pair]}
                      for row, pairs in zip(rows, others)],
        }, indent=2) + "\n")
    return 0 if all(row.right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
