# SPDX-License-Identifier: BSD-2-Clause
"""The interval over prices beside price sets that it was not made from: `build/venv/bin/python -m
tests.long.price_sets`.

Runs the design of `./skerry compare`, then price sets of a Latin hypercube, of which nine in ten must have their ratio
inside the interval; then the two groups that move the ratio most, each alone at the design's two levels, which must
move it as the design says within 3 %. Takes some ten minutes on two processors.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from math import ceil, exp
from pathlib import Path

from deploy.base import process
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.compare import runs
from deploy.compare.prices import LEVEL, Positions, Study, design, groups, hypercube, own_positions
from deploy.compare.tables import ratios
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import PAPERS, load
from deploy.load.case import RedisCase
from deploy.machine.events import Event
from deploy.results.result import Result
from tests.long import published

METRIC = "ops_per_s"
INSIDE = 0.9  # of the held-out price sets
ALONE = 0.03  # relative difference of a group's effect, alone and in the design
BIGGEST = 2  # groups that are run alone


def measure(cases: Sequence[RedisCase], sets: Sequence[Positions], output: Output) -> list[tuple[Result, Result]]:
    """Returns the results of both layouts at each price set."""
    def follow(name: str, update: Callable[..., None]) -> Callable[[Event], None]:
        return lambda event: None

    machine = cases[0].job.modelled
    assert machine
    every = runs.timed([(case, runs.priced(case, sets)) for case in cases], modelled_run.mode(machine))
    parts = Parts(output)
    done = runs.separate(runs.run_all(runs.at_once(cases[0]), every, runs.Follower(output, follow, 1)), parts)
    parts.finish()
    settings = [runs.Setting(prices=number) for number in range(1, len(sets) + 1)]
    return [(done[runs.What.TIMED, setting, *first.key], done[runs.What.TIMED, setting, *second.key])
            for first, second in [cases] for setting in settings]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.price_sets",
                                     description="Puts price sets beside the interval over prices.")
    parser.add_argument("--sets", type=int, default=10, metavar="N", help="held-out price sets (10)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the hypercube (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all ratios")
    args = parser.parse_args()
    process.heed_signals()
    machine, output = load(PAPERS), Output()
    cases = published.cases(machine, output)
    names, own = groups(machine), own_positions(machine)
    designed, held_out = design(names), hypercube(names, args.sets, args.seed)
    pairs = measure(cases, [own, *designed, *held_out], output)
    known, last = [ratios(*pair) for pair in pairs], 1 + len(designed)
    study = Study(machine, known[1:last], known[0], {METRIC: known[0][METRIC]}, runs.models(pairs[1:last], machine))
    surface, interval = study.surfaces[METRIC], study.intervals[METRIC]
    print(f"at the machine's own prices: {known[0][METRIC]:.3f}; interval: {interval}; residual "
          f"{surface.residual:.4f}\n{study.sentence(METRIC)}")
    inside = 0
    for positions, ratio in zip(held_out, known[last:]):
        within = interval.low <= ratio[METRIC] <= interval.high
        inside += within
        print(f"{ratio[METRIC]:.3f}, by the surface {exp(surface.at(positions)):.3f}: "
              f"{'inside' if within else 'OUTSIDE'}")
    right = inside >= ceil(INSIDE * args.sets)
    print(f"{inside} of {args.sets} inside: {'met' if right else 'MISSED'}")
    biggest = study.tornado(METRIC)[:BIGGEST]
    levels = [dict.fromkeys(names, 0.0) | {bar.group: level} for bar in biggest for level in (-LEVEL, LEVEL)]
    alone = [ratios(*pair) for pair in measure(cases, levels, output)]
    for place, bar in enumerate(biggest):
        effect = alone[2 * place + 1][METRIC] / alone[2 * place][METRIC]
        designed_effect = exp(surface.at(levels[2 * place + 1]) - surface.at(levels[2 * place]))
        error = effect / designed_effect - 1
        right &= abs(error) <= ALONE
        print(f"{bar.group} alone, high level over low: x {effect:.3f}; in the design x {designed_effect:.3f}, "
              f"{error:+.1%}: {'met' if abs(error) <= ALONE else 'MISSED'}")
    if args.json:
        args.json.write_text(json.dumps({
            "own": known[0][METRIC], "study": study.to_json(METRIC),
            "held_out": [{"positions": positions, "ratio": ratio[METRIC]}
                         for positions, ratio in zip(held_out, known[last:])],
            "alone": [{"positions": positions, "ratio": ratio[METRIC]} for positions, ratio in zip(levels, alone)],
        }, indent=2) + "\n")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
