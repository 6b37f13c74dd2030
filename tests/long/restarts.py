# SPDX-License-Identifier: BSD-2-Clause
"""A thousand starts and ends of a program of 64 MiB: `build/venv/bin/python -m tests.long.restarts [ENDS]`.

What is free at the end is what was free after the first end or, where the power button finds the program alive, in its
first life. A page or two depend on how far its start has come: lost memory or slots would be a thousand times as many.
Takes some minutes; tests/boot/test_restarts.py has a short one.
"""

import argparse
import sys
from dataclasses import replace

from deploy.deployment import Program
from deploy.machine import monitor
from deploy.machine.run import Run
from tests.boot.machine import deployment, machine
from topology.units import KIB, MIB

ENDS = 1000
MEMORY, SLOTS = 64 * KIB, 64  # the program that is about to start, or has just ended
SHORT, LONG = ("1", "1"), ("1", "100000000")  # how often it sleeps, milliseconds
PROGRAM = Program("sleep", 1, heap=64 * MIB, args=SHORT, barrier=False, restart="always", restart_limit=0,
                  restart_delay=0)


def _free(run: Run) -> tuple[int, int]:
    """Bytes and capability slots that nobody has at the end."""
    monitor.human(run.command.monitor, monitor.POWER_BUTTON)
    run.wait_for(lambda: not run.running, "the machine is off")
    (memory,) = run.events.of("memory", cluster=0)
    return memory["free"], memory["slots"]


def after(ends: int, program: Program) -> tuple[int, int]:
    """After so many ends; 0: while it lives for the first time."""
    with machine(deployment(1, 2, "per-socket", network=False, programs=(program,))) as run:
        run.wait_for(lambda: run.events.of("started") and len(run.events.of("exit")) >= ends, f"{ends} ends")
        assert not run.events.of("failed"), run.events.of("failed")[0]
        return _free(run)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.restarts",
                                     description="Starts and ends a program of 64 MiB.")
    parser.add_argument("ends", type=int, nargs="?", default=ENDS, metavar="ENDS", help=f"how often ({ENDS})")
    ends = parser.parse_args().ends
    if ends < 1:
        parser.error(f"{ends}: at least one end")
    alive = after(0, replace(PROGRAM, args=LONG))
    once = after(1, replace(PROGRAM, restart="never"))
    often = after(ends, PROGRAM)
    for what, (memory, slots) in (("while it lives", alive), ("after 1 end", once), (f"after {ends}", often)):
        print(f"{what}: {memory} bytes and {slots} slots are free")
    return 0 if any(abs(often[0] - was[0]) <= MEMORY and abs(often[1] - was[1]) <= SLOTS
                    for was in (once, alive)) else 1


if __name__ == "__main__":
    sys.exit(main())
