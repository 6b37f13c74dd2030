# SPDX-License-Identifier: BSD-2-Clause
"""Fifty kills of a Redis that keeps its data: `build/venv/bin/python -m tests.long.durability [KILLS] [--seed SEED]`.

Each ends the process, its cluster or the whole machine with the power of the host's disk, at a drawn moment of its
load. No write that was answered may be missing afterwards. Takes some minutes; tests/boot/test_redis_data.py has seven.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.boot.durability import CLUSTER, MACHINE, PROCESS, Durability

KILLS = 50


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.durability",
                                     description="Kills a Redis while it writes, and looks for each answered write.")
    parser.add_argument("kills", type=int, nargs="?", default=KILLS, metavar="KILLS", help=f"how many ({KILLS})")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32),
                        help="of what is killed, and when (drawn)")
    options = parser.parse_args()
    if options.kills < 1:
        parser.error(f"{options.kills}: at least one kill")
    chance = random.Random(options.seed)
    count = dict.fromkeys((MACHINE, CLUSTER, PROCESS), 0)
    with tempfile.TemporaryDirectory(prefix="skerry-durability-") as folder:
        durability = Durability(Path(folder), options.seed)
        while durability.kills < options.kills:
            with durability.machine() as run:
                what = ""
                while what != MACHINE and durability.kills < options.kills:
                    what = chance.choice(list(count))
                    count[what] += 1
                    durability.kill(run, what)
            if what == MACHINE:
                durability.cut_power()
        with durability.machine():
            kills = ", ".join(f"{number} of the {what}" for what, number in count.items())
            print(f"seed {options.seed}: {durability.answered} writes are there after {kills}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
