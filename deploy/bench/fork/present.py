# SPDX-License-Identifier: BSD-2-Clause
"""The cost of fork() as a table."""

from collections.abc import Sequence

from rich.table import Table

from deploy.bench.fork.measure import TITLES, Cost, Forks
from deploy.results.tables import plain_table


def fork_table(costs: Sequence[Cost], of: Forks) -> Table:
    """A row for each figure, a column for each system; the last one is their quotient."""
    two = len(costs) == 2
    columns = [cost.system for cost in costs] + ([f"{costs[1].system} / {costs[0].system}"] if two else [])
    table = plain_table(f"Instructions of a program with {of.mib} MiB, one core  (counted, emulated)", ("", *columns))
    for name, title in TITLES.items():
        values = [cost.figures[name] for cost in costs]
        quotient = [f"{values[1] / values[0]:.2f}" if values[0] else "-"] if two else []
        table.add_row(title, *(f"{value:,.0f}" for value in values), *quotient)
    if costs[0].rounds is not None:
        table.add_section()
        table.add_row("rounds of interrupts of a fork, two cores", f"{costs[0].rounds}", *[""] * (len(columns) - 1))
    return table
