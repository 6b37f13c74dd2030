# SPDX-License-Identifier: BSD-2-Clause
"""Rows that prices were taken from, and rows that are predictions: two lists that share nothing.

Rows are named by the begin of their names. A prediction is one only while no price is changed to meet it, so the prices
are frozen: whoever changes one says in CALIBRATION where it comes from, and measures VALIDATION anew.
"""

import hashlib
import json
from collections.abc import Mapping

from deploy.emulator.machine_file import ModelledMachine

# Prices of the papers' Xeon by the rows that gave the price or its interval.
CALIBRATION: Mapping[str, tuple[str, ...]] = {
    "Table 1: ": ("l2", "l3", "l3_machine", "transfer_cluster", "transfer_machine", "dram_near", "dram_far"),
    "Figure 7: delay between entries": ("cpi_user",),
}
VALIDATION = (
    "service time of the lock", "saturated: cycles for each entry", "delay from which on a workload scales",
    "one core, one-way IPC", "Figure 2: ", "Figure 4: ", "Figure 5: ", "Figure 7: 5 cores, ", "Figure 7: clh, 8 cores",
    "ticket lock, sections of ", "kernel, 2 % of one core's time", "Peters, Figure 3: ", "Peters, Figure 4: ",
)
FROZEN = "85f145e175b7c82826cb4b55c5260fbb9c9ef3f36f8122ddef533aa05cf63e49"  # prices_hash() of the papers' Xeon


def prices_hash(machine: ModelledMachine) -> str:
    """Returns the SHA-256 of all prices and their intervals, whatever else is in the file."""
    known = {name: (price.cycles, price.low, price.high) for name, price in machine.prices.items()}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
