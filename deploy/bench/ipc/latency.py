# SPDX-License-Identifier: BSD-2-Clause
"""How long the kernel keeps interrupts waiting, by apps/pingpong: each long operation, on one core."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench, events
from deploy.bench.ipc import pingpong
from deploy.machine.qemu import Accel
from deploy.results.result import Result
from deploy.results.tables import plain_table
from topology.units import MIB

MEMORY = 6144 * MIB  # with a gigabyte in one piece, besides what the program works with
MAXIMUM = "interrupt_delay_max_instructions"


@dataclass(frozen=True)
class Operation:
    name: str
    delay: int  # instructions from an interrupt to the thread that waits for it, at worst; less what it takes at rest
    response: int  # all of it
    entries: int  # pieces in which the operation was done


@dataclass
class Measured:
    lock: str
    operations: list[Operation]
    held: int  # the longest the lock was held, of all; 0 unless the kernel counts

    @property
    def worst(self) -> int:
        return max(one.delay for one in self.operations)

    def to_json(self) -> dict[str, Any]:
        entry = Result(
            layout="per-socket", lock=self.lock, workload="latency", clusters=1, cores=1, emulated=True,
            metrics={MAXIMUM: self.worst, "response_max_instructions": max(one.response for one in self.operations)},
            per_core=[],
        ).to_json()
        return entry | {"operations": [vars(one) for one in self.operations]}


def measure(kernel: str, accel: Accel, timeout: Patience) -> Measured:
    reported = events(pingpong.machine(kernel, "latency", memory=MEMORY), Bench(accel, timeout)).events
    operations = [
        Operation(event["name"], event["delay"], event["response"], event["entries"])
        for event in reported
        if event.kind == "latency"
    ]
    held = [event["longest"] for event in reported if event.kind == "latency-held"]
    if not operations or len(held) != 1:
        raise Failure(f"kernel {kernel}: results are missing")
    return Measured(kernel, operations, held[0])


def latency_table(measured: Sequence[Measured]) -> Table:
    table = plain_table(
        "Instructions that an interrupt waits, at worst, because of one operation; one core  (emulated)",
        ("operation", *(one.lock for one in measured)), ("operation",),
        "Extra delay between an interrupt that is raised as the kernel is entered and the first instruction of\n"
        "the thread that waits for it, which has the highest priority; without the cost in an idle system. No\n"
        "stretch with interrupts off is longer. Pieces: how often an interrupt got in during the operation.",
    )
    table.add_column("pieces", justify="right", style="dim")
    for row in zip(*(one.operations for one in measured), strict=True):
        table.add_row(row[0].name, *(f"{cell.delay:,}" for cell in row), f"{row[0].entries:,}")
    table.add_section()
    table.add_row("the longest of all", *(f"{one.worst:,}" for one in measured), "", style="bold")
    return table
