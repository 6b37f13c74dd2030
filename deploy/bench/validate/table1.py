# SPDX-License-Identifier: BSD-2-Clause
"""Table 1 of Elphinstone 2016 beside what a program measures on the modelled machine."""

from collections.abc import Callable, Iterator, Sequence

from deploy.base.timeouts import Patience
from deploy.bench.validate import caches
from deploy.bench.validate.caches import Latency
from deploy.bench.validate.validation import Row
from deploy.emulator.machine_file import ModelledMachine
from topology.model.papers import TABLE_1

GOAL = 0.05
KIND = "measured back"  # prices come from the table: the rows show that the machine charges them, and predict nothing
Measure = Callable[[ModelledMachine, float], Sequence[Latency]]


def measure(machine: ModelledMachine, line_factor: float) -> list[Latency]:
    return caches.measure(machine, Patience(1200.0), line_factor)


def rows(machine: ModelledMachine, line_factor: float, measured: Measure = measure) -> Iterator[Row]:
    """The rows of the paper's table; of distances that it does not have, without a reference."""
    for one in measured(machine, line_factor):
        cell = one.cell
        published = TABLE_1.get((cell.level, cell.where))
        met = abs(one.cycles / published.value - 1) <= GOAL if published else None
        yield Row(
            "table1", f"Table 1: {cell.level}, {cell.where}", "cycles", published.value if published else None,
            published.source if published else "", one.cycles, None, f"<= {GOAL:.0%}" if published else "", met,
            price=cell.price(machine, line_factor), kind=KIND,
        )
