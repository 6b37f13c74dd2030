# SPDX-License-Identifier: BSD-2-Clause
"""Instructions of each system call in each regime, as recorded in ipc-counts.txt beside this file.

`build/venv/bin/python -m tests.boot.ipc_counts` counts them and writes the file anew, after a change that is meant to
alter them.
"""

from functools import cache
from pathlib import Path

from deploy.base.timeouts import Patience
from deploy.bench.ipc.measure import OPERATIONS, Measured, measure
from deploy.deployment.modules import REGIMES
from deploy.machine import qemu
from tests.boot.machine import PATIENCE
from topology import regimes
from topology.maps.clustermap import COARSE, FINE

FILE = Path(__file__).with_name("ipc-counts.txt")
HEAD = """\
# SPDX-License-Identifier: BSD-2-Clause
# Instructions of the kernel for each system call: python -m tests.boot.ipc_counts counts them and writes this file.
"""

# A column: regime, granularity, and whether all objects are at home on the core.
Column = tuple[str, str, bool]
Counts = dict[str, int]


def columns() -> dict[str, Column]:
    """Returns the columns of the table by name: each regime as it starts, and those that can be fine while they are."""
    every: dict[str, Column] = {lock: (lock, COARSE, False) for lock in REGIMES}
    for lock in regimes.names(regimes.SWITCHED):
        every |= {f"{lock}+fine": (lock, FINE, False), f"{lock}+fine+local": (lock, FINE, True)}
    return every


@cache
def counted(lock: str, rounds: int = 200, granularity: str = COARSE, local: bool = False) -> Measured:
    """Boots a counted machine of one core, and measures all operations in it."""
    return measure(lock, qemu.tcg_for(1, counted=True), rounds, Patience(PATIENCE), granularity=granularity,
                   local=local)


def counts(column: Column) -> Counts:
    """Returns the instructions of each operation."""
    lock, granularity, local = column
    spread = counted(lock, granularity=granularity, local=local).spread
    return {name: int(spread[name].median) for name in OPERATIONS}


def recorded() -> dict[str, Counts]:
    """Returns the table of the file, by column and operation."""
    lines = [line.split() for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    names = lines[0][1:]
    return {name: {row[0]: int(row[1 + i]) for row in lines[1:]} for i, name in enumerate(names)}


def table(of: dict[str, Counts]) -> str:
    """Returns the file's text for these counts."""
    rows = [["operation", *of]] + [[name, *(str(column[name]) for column in of.values())] for name in OPERATIONS]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return HEAD + "".join(
        " ".join(cell.ljust(width) if not i else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths, strict=True))) + "\n" for row in rows)


if __name__ == "__main__":
    FILE.write_text(table({name: counts(column) for name, column in columns().items()}))
