# SPDX-License-Identifier: BSD-2-Clause
"""The verdict of a comparison without modelled line costs, in sentences: counted in the emulator, or timed in KVM."""

from __future__ import annotations

from deploy.results.result import Result
from topology.layouts import is_homed

SAME = 0.005  # a ratio this near to 1 prints as 1.00


def sentences(first: Result, second: Result) -> list[str]:
    """Returns the ratio, its parts, and its limits. Where instructions were counted, the ratio is of those: the clock
    is that counter, and cores take turns, so operations per second and latencies say nothing more."""
    verdict = _counted(first, second) if is_counted(first) and is_counted(second) else _timed(first, second)
    return [*verdict, _trust(first)]


def is_counted(result: Result) -> bool:
    return "instructions_per_op" in result.metrics


def _where(first: Result, second: Result) -> str:
    machine = "On the emulated machine" if first.emulated else "Under KVM"
    return f"{machine}, {first.cores} cores, YCSB {first.workload.upper()}, {locks(first, second)}"


def _ratio(a: float, b: float) -> float:
    return a / b if b else float("inf")


def _timed(first: Result, second: Result) -> list[str]:
    ratio = _ratio(first.metrics["ops_per_s"], second.metrics["ops_per_s"])
    does = "does" if first.clusters == 1 else "do"
    how = (
        "as many operations per second as"
        if abs(ratio - 1) < SAME else f"{ratio:.2f} times the operations per second of"
    )
    latency = (
        f"; p99 latency {first.metrics['p99_us']:,.0f} µs against {second.metrics['p99_us']:,.0f} µs"
        if not first.round_robin else ""
    )
    return [f"{_where(first, second)}: {kernels(first)} ({first.layout}) {does} {how} {kernels(second)} "
            f"({second.layout}){latency}."]


def _counted(first: Result, second: Result) -> list[str]:
    """`instructions_per_op` is the machine's time for an operation, in instructions of all its cores in turn."""
    ratio = _ratio(first.metrics["instructions_per_op"], second.metrics["instructions_per_op"])
    takes = "takes" if first.clusters == 1 else "take"
    how = (
        "as many instructions an operation as"
        if abs(ratio - 1) < SAME else f"{ratio:.3f} times the instructions an operation of"
    )
    parts = []
    for result in (first, second):
        m = result.metrics
        kernel = m.get("instructions_per_op_by.kernel")
        of_kernel = f", of them {kernel:,.0f} in the kernel" if kernel is not None else ""
        parts.append(f"{result.layout} {m['instructions_per_op']:,.0f}{of_kernel}")
    return [
        f"{_where(first, second)}: {kernels(first)} ({first.layout}) {takes} {how} {kernels(second)} "
        f"({second.layout}).",
        f"{parts[0]}; {parts[1]}. These counts are exact and repeatable.",
    ]


def _trust(result: Result) -> str:
    if not result.emulated:
        return "These are times of one run on this host: repeat them before you believe a small difference."
    return (
        "Cache lines cost nothing here, and no core runs beside another where they take turns: this compares lengths "
        "of code, not how locks scale. ./skerry compare without options prices lines as published for the papers' Xeon."
    )


def kernels(result: Result) -> str:
    if is_homed(result.layout):
        return "one kernel for the machine with objects at home on their node"
    return "one kernel for the machine" if result.clusters == 1 else f"{result.clusters} kernels"


def locks(first: Result, second: Result) -> str:
    return f"lock {first.lock}" if first.lock == second.lock else f"lock {first.lock} against {second.lock}"
