# SPDX-License-Identifier: BSD-2-Clause
"""The machine that we are on, as a place to measure: which processors, and do they really run at the same time?"""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from deploy.base import host
from deploy.bench.native.runs import CORES, run_program
from topology.errors import InputError
from topology.limits import MAX_CPUS
from topology.machines.hwloc import survey_live

WINDOW = 100_000_000  # cycles of one look at whether they run together
GLANCE = 10_000_000  # cycles of a look between runs
MOVED = 1.5  # times as long as before: not the same place
ENOUGH = 0.9  # share of the time: the rest is the host's own interrupts


@dataclass(frozen=True)
class Processors:
    """The processors that threads are pinned to, in this order: a socket is filled before the next."""

    numbers: tuple[int, ...]
    cores: int  # physical ones among those that may be used; the first processors are one of each

    def listed(self, count: int) -> str:
        return ",".join(str(number) for number in self.numbers[:count])

    def share_cores(self, count: int) -> bool:
        return count > self.cores


def processors() -> Processors:
    survey = survey_live()
    allowed = os.sched_getaffinity(0)
    usable = replace(survey, processors=[p for p in survey.processors if p.number in allowed])
    first = [p.number for p in usable.one_thread_per_core().processors]
    return Processors(tuple(first + [p.number for p in usable.processors if p.number not in first]), len(first))


def check_count(count: int, usable: Processors, option: str = "--cores") -> None:
    here = len(usable.numbers)
    if count > here:
        raise InputError(option, f"{count} threads, and {here} processors may be used here: natively each has its own")
    if count > MAX_CPUS:
        raise InputError(option, f"{count} cores; a kernel has {MAX_CPUS} at most")


@dataclass
class Parallel:
    """The results of a handshake and of a watch on the clock, at each look."""

    looks: list[dict[str, Any]]
    count: int  # processors
    glances: list[dict[str, Any]] = field(default_factory=list)  # short ones between runs

    @property
    def overlap(self) -> float:
        """The part of the time in which all ran; the median of all looks: one may meet a moment of the host's."""
        return float(median(look["overlap"] for look in self.all))

    @property
    def all(self) -> list[dict[str, Any]]:
        return [*self.looks, *self.glances]

    @property
    def transfers(self) -> list[float]:
        """Cycles from one core to another: medians of each pair that was tried, each time."""
        return [pair["median"] for look in self.all for pair in look["transfer"] if pair["batches"]]

    @property
    def moved(self) -> bool:
        """Returns whether the same two were near to each other at one time and far at another: a virtual machine."""
        each: dict[tuple[int, int], list[float]] = {}
        for look in self.all:
            for pair in look["transfer"]:
                if pair["batches"]:
                    each.setdefault((pair["from"], pair["to"]), []).append(pair["median"])
        return any(max(times) > MOVED * min(times) for times in each.values())

    @property
    def real(self) -> bool:
        return self.count == 1 or (self.overlap >= ENOUGH and bool(self.transfers))

    @property
    def verdict(self) -> str:
        if self.count == 1:
            return "One processor: nothing here is about contention."
        if not self.transfers:
            return "These processors do not run in parallel: what is measured on several says nothing about contention."
        low, high = min(self.transfers), max(self.transfers)
        lines = f"a cache line takes {low:,.0f}..{high:,.0f} cycles from one to another"
        if self.moved:
            lines += ": the host moved them during the run, so compare with care"
        if self.real:
            return f"{self.count} processors run in parallel {self.overlap:.0%} of the time; {lines}."
        return (
            f"These {self.count} processors run in parallel {self.overlap:.0%} of the time only ({lines}): "
            "what is measured on several says nothing about contention, and is labelled so."
        )


def look(usable: Processors, count: int, window: int = WINDOW) -> dict[str, Any]:
    return run_program(CORES, cpus=usable.listed(count), window=window)


def describe(usable: Processors, parallel: Parallel, no_transactions: str | None) -> dict[str, Any]:
    """The `host` of a results file."""
    first = parallel.looks[0]
    numbers: Sequence[int] = usable.numbers[: parallel.count]
    description: dict[str, Any] = {
        "cpu": host.cpu().model,
        "cores": host.cpu().cores,
        "environment": host.environment(),
        "kernel": platform.release(),
        "mode": f"native: the hosted port, a thread for each core, on processors {', '.join(map(str, numbers))}",
        "processors": list(numbers),
        "tsc_hz": first["tsc_hz"],
        "parallel": parallel.real,
        "overlap": parallel.overlap,
        "overlap_min": min(look["overlap"] for look in parallel.all),
        "moved": parallel.moved,
        "real_time_priority": first["privileged"],
        "transfer_cycles": [min(parallel.transfers), max(parallel.transfers)] if parallel.transfers else [],
    }
    if no_transactions:
        description["no_transactions"] = no_transactions
    if usable.share_cores(parallel.count):
        description["hardware_threads_share_cores"] = True
    return description
