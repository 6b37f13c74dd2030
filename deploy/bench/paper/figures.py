# SPDX-License-Identifier: BSD-2-Clause
"""The papers' figures and tables, each with the command that makes ours and puts it beside the published one."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from topology.errors import InputError
from topology.model.papers import BOYD_WICKIZER, ELPHINSTONE, PETERS, UEMURA, UHLIG

MACHINE = "xeon-e5-2683v3"  # the papers' own, in emulator/machines
MODELLED, COUNTED, NATIVE, DRAWN = "modelled", "counted", "native", "drawn"
KINDS = {
    MODELLED: "cycles of the modelled machine; ranges are half and double line costs",
    COUNTED: "counts of events, which have no cycles",
    NATIVE: "this host's own cores",
    DRAWN: "a drawing: what is compared is the structure",
}


@dataclass(frozen=True)
class Figure:
    id: str  # as `skerry paper` names it
    paper: str
    number: str  # in that paper
    title: str
    command: tuple[str, ...]  # behind ./skerry; --json FILE and --quiet may follow
    compared: str  # ours with what of the paper
    kind: str  # one of KINDS
    minutes: float  # on two processors of the host that nothing else uses
    schema: str  # where in the JSON results our figures stand


VALIDATED = "results[]: row, metrics.{reference,modelled,error}, bounds, range.modelled, met"


def _validated(rows: str, *more: str) -> tuple[str, ...]:
    return ("bench", "validate", "--rows", rows, *more)


FIGURES = (
    Figure(
        "elphinstone-table-1", ELPHINSTONE, "Table 1", "Latency of memory and caches, here and in other cores",
        _validated("table1"), "each of its 12 latencies with what a program measures on the modelled machine", MODELLED,
        1, VALIDATED,
    ),
    Figure(
        "elphinstone-3", ELPHINSTONE, "Figure 3", "One-way IPC on one core, each lock over none",
        ("bench", "ipc", "--machine", MACHINE), "ratios of clh, fine and rtm with its +3, +20 and +17 %", MODELLED, 0.5,
        "results[]: lock, metrics.one_way_kernel_cycles; ratios[]: of, metrics, published",
    ),
    Figure(
        "elphinstone-4", ELPHINSTONE, "Figure 4",
        "Throughput on 1 to 28 cores at delays of 500 to 32,000 cycles, five locks",
        ("bench", "scale", "--figure", "4"),
        "each point with its fit for 358 cycles (up to 14 cores) and its bounds for 323 and 613 cycles; the text has "
        "no points", MODELLED, 20,
        "results[]: lock, cores, metrics.{delay_cycles,throughput_per_cycle}, range, published",
    ),
    Figure(
        "elphinstone-5", ELPHINSTONE, "Figure 5", "Throughput on 1 to 28 cores at a delay of 4,000 cycles, each lock",
        ("bench", "scale", "--figure", "5"),
        "fine and rtm scale perfectly and alike; clh bends, and has a lower plateau on two sockets",
        MODELLED, 4, "results[]: lock, cores, metrics.{delay_cycles,throughput_per_cycle}, range, published",
    ),
    Figure(
        "elphinstone-6", ELPHINSTONE, "Figure 6", "What runs on which core in the Redis benchmark",
        ("bench", "redis", "--figure", "6"), "the programs of each core with those of its drawing", DRAWN, 0.1,
        "results[]: cores[].{core,programs}, published",
    ),
    Figure(
        "elphinstone-7", ELPHINSTONE, "Figure 7", "Redis under YCSB C, by number of cores and lock",
        _validated("redis"), "ratios of the locks on 5 cores, delays between kernel entries, one lock beyond 5 cores",
        MODELLED, 4, VALIDATED,
    ),
    Figure(
        "peters-1", PETERS, "Figure 1", "IPC there and back on one core, each lock over none",
        ("bench", "ipc", "--machine", MACHINE),
        "ratios of clh, fine and rtm with its +10, +30 and +30 %, of another Haswell", MODELLED, 0.5,
        "results[]: lock, metrics.one_way_kernel_cycles; ratios[]: of, metrics",
    ),
    Figure(
        "peters-2", PETERS, "Figure 2", "IPC without delay on 1 to 4 cores, each lock",
        _validated("peters"), "clh levels off from 3 cores on, fine and rtm scale", MODELLED, 0.5, VALIDATED,
    ),
    Figure(
        "peters-3", PETERS, "Figure 3",
        "Redis under YCSB A: throughput, where something else than the kernel limits it", _validated("idle"),
        "throughput of every lock alike, and all cores idle for a part of the time", MODELLED, 2, VALIDATED,
    ),
    Figure(
        "peters-4", PETERS, "Figure 4", "Redis under YCSB A: throughput over utilisation",
        _validated("redis"), "throughput over utilisation of every lock alike", MODELLED, 4, VALIDATED,
    ),
    Figure(
        "boyd-wickizer-collapse", BOYD_WICKIZER, "Short and long sections",
        "A ticket lock's collapse, by length of its sections", _validated("collapse"),
        "speed-up on 14 and 28 cores with their Markov model; short sections collapse, long ones do not", MODELLED, 1,
        VALIDATED,
    ),
    Figure(
        "uemura-tables", UEMURA, "Tables 1 to 4, Figure 3",
        "Conflicts of the kernel's locks under messages and copy-on-write",
        ("bench", "mach", "--machine", MACHINE, "--cores", "2,4"),
        "conflicts per acquisition with those of the nearest lock of Mach, 4 processors",
        COUNTED, 3, "results[]: lock, cores, program, metrics.lock_conflict_ratio, locks",
    ),
    Figure(
        "uhlig-6", UHLIG, "Figure 6",
        "IPC on one core, with locks and with messages in their place, over the kernel for one core",
        ("bench", "dynamic", "--figure", "6", "--machine", MACHINE),
        "a lock for each object with its +27.6 % between address spaces and +81.2 % within one, messages with its +2.9 "
        "and +8.6 %",
        MODELLED, 1, "results[]: lock, metrics.{inter,intra}_kernel_cycles; ratios[]: of, metrics, published",
    ),
    Figure(
        "uhlig-7", UHLIG, "Figure 7", "Fork and join: signals to workers on 1 to 15 other cores",
        ("bench", "dynamic", "--figure", "7", "--machine", MACHINE),
        "messages over locks with its 2.5 (2 processors) to 3.6 (16); its text has no points of one series", MODELLED,
        3, "results[]: lock, cores, metrics.signal_to_last_cycles, range; ratios[]: of, cores, metrics, published",
    ),
    Figure(
        "uhlig-8", UHLIG, "Figure 8",
        "Unmapping 1 to 256 pages on 1 to 16 cores at once, with a lock for each mapping and with one for all",
        ("bench", "dynamic", "--figure", "8", "--machine", MACHINE),
        "flat with fine locks, linear with a coarse one; on one core fine over coarse with its +24 % (128 pages) and "
        "+32 % (256); its knees cannot show",
        MODELLED, 5, "results[]: lock, cores, metrics.{pages,mapping_cycles}, range; trends[]; ratios[]: of, pages, "
                     "metrics, published",
    ),
)
# Drawings of the papers without an experiment.
NOT_MEASURED = {
    "elphinstone-1": "Figure 1 is the code of a transaction: cluster-kernel/lock/rtm.h",
    "elphinstone-2": "Figure 2 is the states of the machine-repairman model: docs/models.md, ./skerry model",
}


def figure(name: str) -> Figure:
    for one in FIGURES:
        if one.id == name:
            return one
    if name in NOT_MEASURED:
        raise InputError(name, NOT_MEASURED[name])
    near = difflib.get_close_matches(name, [one.id for one in FIGURES], 1)
    meant = f"; did you mean {near[0]}?" if near else f": {', '.join(one.id for one in FIGURES)}"
    raise InputError(name, f"is none of the papers' figures{meant}")
