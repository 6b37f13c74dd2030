# SPDX-License-Identifier: BSD-2-Clause
"""A comparison as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from deploy.results import Result
from topology.units import MIB

PER_CORE = ("ops_per_s", "p50_us", "p99_us", "cpu_utilisation", "kernel_entries_per_s", "lock_conflict_ratio")

# Metric, what people call it, format.
FIGURES = (
    ("ops_per_s", "operations/s", ",.0f"),
    ("p50_us", "p50 latency, µs", ",.1f"),
    ("p99_us", "p99 latency, µs", ",.1f"),
    ("cpu_utilisation", "CPU utilisation", ".1%"),
    ("kernel_entries_per_s", "kernel entries/s", ",.0f"),
    ("kernel_entries_per_op", "kernel entries/operation", ",.2f"),
    ("lock_conflict_ratio", "lock conflicts/grab", ".3%"),
    ("lock_mean_wait_cycles", "lock mean wait, cycles", ",.1f"),
    ("lock_mean_hold_cycles", "lock mean hold, cycles", ",.1f"),
    ("instructions_per_op", "instructions/operation", ",.0f"),
    ("memory_per_instance", "memory per instance, MiB", ",.1f"),
    ("memory_reserved", "memory reserved per instance, MiB", ",.1f"),
    ("boot_to_pong_s", "power-on to first +PONG, s", ".2f"),
)
_UNIT = {"memory_per_instance": MIB, "memory_reserved": MIB}
_FORMAT = {metric: format for metric, _, format in FIGURES}


def _text(metric: str, value: float | None) -> str:
    return "-" if value is None else format(value / _UNIT.get(metric, 1), _FORMAT[metric])


def layout_table(result: Result) -> Table:
    """One layout: a row for each core, then all of them."""
    emulated = "  (emulated)" if result.emulated else ""
    kernels = f"{result.clusters} kernel{'s' * (result.clusters != 1)}"
    table = Table(
        title=f"{result.layout}: {kernels}, lock {result.lock}, YCSB {result.workload.upper()}{emulated}",
        title_justify="left",
        title_style="bold",
    )
    names = ["cluster", "core", "ops/s", "p50 µs", "p99 µs", "CPU", "kernel entries/s", "conflicts", "mean wait, cycles"]
    for name in names:
        table.add_column(name, justify="right")
    for core in result.per_core:
        table.add_row(
            str(core["cluster"]),
            str(core["core"]),
            *[_text(m, core[m]) if core["ops_per_s"] or not m.startswith("p") else "-" for m in PER_CORE],
            _text("lock_mean_wait_cycles", core["lock_mean_wait_cycles"]),
        )
    table.add_section()
    total = result.metrics
    table.add_row(
        *["all", "", *[_text(m, total.get(m)) for m in PER_CORE]],
        _text("lock_mean_wait_cycles", total["lock_mean_wait_cycles"]),
        style="bold",
    )
    return table


def ratios(first: Result, second: Result) -> dict[str, float]:
    return _ratios(first.metrics, second.metrics)


def _ratios(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    """a / b, where both have the metric and it is not 0."""
    return {metric: a[metric] / b[metric] for metric, _, _ in FIGURES if a.get(metric) is not None and b.get(metric)}


def comparison_table(first: Result, second: Result) -> Table:
    emulated = "  (emulated)" if first.emulated else ""
    title = f"{first.layout} beside {second.layout}, YCSB {first.workload.upper()}{emulated}"
    return _beside(title, first.layout, first.metrics, second.layout, second.metrics)


def linux_table(first: Result, linux: Mapping[str, Any]) -> Table:
    """Skerry beside Linux, with what still differs between them."""
    emulated = "  (emulated)" if first.emulated else ""
    title = f"{first.layout} beside Linux {linux['kernel']}, YCSB {first.workload.upper()}{emulated}"
    table = _beside(title, first.layout, first.metrics, "Linux", linux["metrics"])
    table.caption = "\n".join(linux_differences(linux["network"]))
    table.caption_justify = "left"
    return table


def linux_differences(network: str) -> list[str]:
    """What still differs when Linux does the same work, in lines."""
    return [
        f"Linux's clients and servers speak over {network}, Skerry's over lwIP and a switch.",
        "Memory per instance: used_memory_rss after the run. Skerry counts pages when they are handed out, Linux when",
        "they are first touched; for Skerry the whole heap of an instance is reserved (`heap` of the deployment).",
    ]


def _beside(title: str, a: str, of_a: Mapping[str, float], b: str, of_b: Mapping[str, float]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("")
    for name in (a, b, f"{a} / {b}"):
        table.add_column(name, justify="right")
    quotient = _ratios(of_a, of_b)
    for metric, name, _ in FIGURES:
        if metric in of_a or metric in of_b:
            ratio = f"{quotient[metric]:.3f}" if metric in quotient else "-"
            table.add_row(name, _text(metric, of_a.get(metric)), _text(metric, of_b.get(metric)), ratio)
    return table


def pairs(results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """The first layout beside each other one, for each workload."""
    found = []
    for workload in dict.fromkeys(r.workload for r in results):
        first, *others = [r for r in results if r.workload == workload]
        found += [(first, other) for other in others]
    return found


def ratio_json(first: Result, second: Result) -> dict[str, Any]:
    found: dict[str, Any] = {"of": first.layout, "to": second.layout, "workload": first.workload}
    if first.emulated:
        found["emulated"] = True
    return found | {"metrics": ratios(first, second)}
