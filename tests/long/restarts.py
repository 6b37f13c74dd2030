# SPDX-License-Identifier: BSD-2-Clause
"""A thousand starts and ends of a program of 64 MiB: `build/venv/bin/python -m tests.long.restarts [ENDS]`.

What is free at the end is what was free after the first end, to the byte and the capability slot. Takes some minutes;
tests/boot/test_restarts.py has a short one.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from deploy import monitor
from deploy.boot import Run
from deploy.deployment import Program
from tests.boot.machine import deployment, machine
from topology.units import MIB

ENDS = 1000
PROGRAM = Program(
    "crash", 1, heap=64 * MIB, args=("null",), barrier=False, restart="on-failure", restart_limit=0, restart_delay=0
)  # fmt: skip


def _free(run: Run) -> tuple[int, int, int]:
    """Bytes and slots that nobody has at the end, and the bytes that the program was given."""
    monitor.human(run.command.monitor, monitor.POWER_BUTTON)
    run.wait_for(lambda: not run.running, "the machine is off")
    (memory,) = run.events.of("memory", cluster=0)
    return memory["free"], memory["slots"], next(iter(memory["per_app"].values()), 0)


def after(ends: int, program: Program) -> tuple[int, int, int]:
    with machine(deployment(1, 2, "per-socket", network=False, programs=(program,))) as run:
        run.wait_for(lambda: len(run.events.of("fault")) >= ends, f"{ends} ends")
        assert not run.events.of("failed"), run.events.of("failed")[0]
        return _free(run)


def main() -> int:
    ends = int(sys.argv[1]) if len(sys.argv) > 1 else ENDS
    once = after(1, replace(PROGRAM, restart="never"))
    often = after(ends, PROGRAM)
    # The button may find the program alive: it has its memory then, and the same again of it is free after its end.
    missing = once[0] - often[0]
    alive = missing == often[2] > 0
    print(f"after 1 end: {once[0]} bytes and {once[1]} slots; after {ends}: {often[0]} and {often[1]}{', and it runs' if alive else ''}")
    return 0 if missing == 0 and once[1] == often[1] or alive else 1


if __name__ == "__main__":
    sys.exit(main())
