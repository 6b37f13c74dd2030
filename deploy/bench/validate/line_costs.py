# SPDX-License-Identifier: BSD-2-Clause
"""Line costs of machine files beside measurements by others that no price was taken from. Nothing is run."""

from collections.abc import Iterator

from deploy.bench.validate.validation import Row
from deploy.emulator.machine_file import ModelledMachine, load
from topology.model import papers

GOAL = 0.2  # processors, clocks and methods differ
PLACES = {"cluster": "same L3", "socket": "other L3 of the socket", "machine": "other socket"}
MODE = "Machine files: their prices, nothing was run"


def machines() -> list[ModelledMachine]:
    return [load(name) for name in dict.fromkeys(name for name, _, _ in papers.LINE_COSTS)]


def one_way_ns(machine: ModelledMachine, place: str) -> float:
    """A line goes from core to core by compare-and-swap: a transfer and a locked instruction."""
    return (machine.prices[f"transfer_{place}"].cycles + machine.prices["atomic"].cycles) / machine.ghz


def rows() -> Iterator[Row]:
    for name, place, published in papers.LINE_COSTS:
        machine = load(name)
        ours = one_way_ns(machine, place)
        yield Row(
            "lines", f"{machine.name}, {PLACES[place]}; {published.source.rpartition(': ')[2]}", "ns", published.value,
            published.source, ours, None,
            f"<= {GOAL:.0%}", abs(ours / published.value - 1) <= GOAL, kind="compared", machine=machine,
        )
