# SPDX-License-Identifier: BSD-2-Clause
"""How long a load takes from each cache of a modelled machine and from memory, by apps/pingpong: Table 1 of Elphinstone
2016."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench, events, program_plan
from deploy.deployment import Deployment, Program
from deploy.deployment.planner import Plan
from deploy.emulator import run
from deploy.emulator.machine_file import LINE_PRICES, ModelledMachine
from deploy.machine.events import Event
from topology.errors import InputError
from topology.machines.machine import default_memory
from topology.model.papers import LEVELS
from topology.units import MIB

LINES_OF_PAGE = 64
FEWEST_PAGES = 4  # in which lines are read and timed: CACHES_TIMED in apps/pingpong/shared.h
EVENT = "latency-of-line"
LOCAL, INTRA, OTHER_L3, INTER = "local", "intra-socket", "intra-socket, other L3", "inter-socket"
# The machine file's price of a load beyond the base CPI; an L1 hit costs nothing beyond it.
PRICES: Mapping[tuple[str, str], str] = {
    ("L2", LOCAL): "l2", ("L3", LOCAL): "l3", ("memory", LOCAL): "dram_near", ("L1", INTRA): "transfer_cluster",
    ("L2", INTRA): "transfer_cluster", ("L3", INTRA): "l3", ("memory", INTRA): "dram_near",
    ("L1", OTHER_L3): "transfer_socket", ("L2", OTHER_L3): "transfer_socket", ("L3", OTHER_L3): "l3_socket",
    ("memory", OTHER_L3): "dram_near", ("L1", INTER): "transfer_machine", ("L2", INTER): "transfer_machine",
    ("L3", INTER): "l3_machine", ("memory", INTER): "dram_far",
}


@dataclass(frozen=True)
class Cell:
    """One measurement: `writer` writes the lines of so many pages, which leaves the first in `level`; `reader` loads
    those."""

    level: str
    where: str
    writer: int
    reader: int
    pages: int

    def price(self, machine: ModelledMachine, line_factor: float = 1.0) -> float:
        """Cycles of such a load by the machine file: its price, and the instruction's."""
        name = PRICES.get((self.level, self.where))
        factor = line_factor if name in LINE_PRICES else 1.0
        return machine.prices["cpi_user"].cycles + (machine.prices[name].cycles * factor if name else 0.0)


@dataclass(frozen=True)
class Latency:
    cell: Cell
    cycles: float  # cycles of one load


def pages(machine: ModelledMachine) -> dict[str, int]:
    """Returns how many pages a core has to write so that the first of them are no nearer than the named cache."""
    l1, l2, l3 = (sets * ways // LINES_OF_PAGE for sets, ways in (machine.caches[name] for name in ("l1", "l2", "l3")))
    sizes = {"L1": FEWEST_PAGES, "L2": l2 // 2, "L3": 2 * l2, "memory": l2 + l3 + l3 // 4}
    if not (2 * FEWEST_PAGES <= l1 < sizes["L2"] and sizes["L3"] < l3):
        raise InputError(str(machine.path), "its caches are too small, or too alike, for a table of their latencies")
    return sizes


def cells(machine: ModelledMachine) -> list[Cell]:
    """Table 1's, row by row. Memory is the first socket's: a core of another socket reads it."""
    others = {LOCAL: 0}
    if machine.cores_per_cluster > 1:
        others[INTRA] = 1
    if machine.clusters_per_socket > 1:
        others[OTHER_L3] = machine.cores_per_cluster
    if machine.sockets > 1:
        others[INTER] = machine.cores_per_socket
    sizes = pages(machine)
    made = []
    for level in LEVELS:
        for where, other in others.items():
            writer, reader = (0, other) if level == "memory" and where == INTER else (other, 0)
            made.append(Cell(level, where, writer, reader, sizes[level]))
    return made


def plan_for(machine: ModelledMachine, requested: Sequence[Cell]) -> Plan:
    shape = machine.shape(machine.cores, default_memory(machine.cores_per_socket))
    target = program_plan("bench-caches", Deployment.lock, shape, Program("pingpong", barrier=False))
    end = max(part.end for part in target.machine.memory if part.node == 0)
    lists = ([cell.writer + 1 for cell in requested], [cell.reader + 1 for cell in requested],
             [cell.pages for cell in requested])
    target.cluster_map.applications[0].args = ["caches", str(end // MIB), *(",".join(map(str, one)) for one in lists)]
    return target


def measure(machine: ModelledMachine, timeout: Patience, line_factor: float = 1.0) -> list[Latency]:
    every = cells(machine)
    target = plan_for(machine, every)
    with run.marks(machine, target, line_factor, priced=run.POINTS) as marks:
        reported = events(target, Bench(run.mode(machine), timeout), marks.arguments)
    return latencies(every, reported.of(EVENT))


def latencies(expected: Sequence[Cell], events: Sequence[Event]) -> list[Latency]:
    reported = [(event["writer"], event["reader"], event["pages"]) for event in events]
    if reported != [(cell.writer, cell.reader, cell.pages) for cell in expected]:
        raise Failure("the results do not have the requested measurements")
    return [Latency(cell, event["cycles"] / event["loads"]) for cell, event in zip(expected, events)]
