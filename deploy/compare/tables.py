# SPDX-License-Identifier: BSD-2-Clause
"""A comparison as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from deploy.profile.components import GROUPS, SPLIT
from deploy.results.counting import COUNTED
from deploy.results.kinds import bracketed
from deploy.results.result import DISTORTED, Result, nested
from deploy.results.tables import plain_table
from topology.foreign import format_spans
from topology.units import MIB

MARK = " *"  # at what a run beside it counted
SPLIT_MARK = " +"  # at what a plugin counted
TOTAL = "instructions_per_op"
TURNS = (
    "Cores take turns in this mode, which distorts latencies, CPU utilisation, lock conflicts and lock times: they are "
    "not shown."
)
PER_CORE = ("ops_per_s", "p50_us", "p99_us", "cpu_utilisation", "kernel_entries_per_s", "lock_conflict_ratio",
            "lock_mean_wait_cycles")  # fmt: skip

# Metric, what people call it, format.
FIGURES = (
    ("ops_per_s", "operations/s", ",.0f"),
    ("p50_us", "p50 latency, µs", ",.1f"),
    ("p99_us", "p99 latency, µs", ",.1f"),
    ("p999_us", "p99.9 latency, µs", ",.1f"),
    ("cpu_utilisation", "CPU utilisation", ".1%"),
    ("kernel_entries_per_s", "kernel entries/s", ",.0f"),
    ("kernel_entries_per_op", "kernel entries/operation", ",.2f"),
    ("lock_conflict_ratio", "lock conflicts/acquisition", ".3%"),
    ("lock_mean_wait_cycles", "lock mean wait, cycles", ",.1f"),
    ("lock_mean_hold_cycles", "lock mean hold, cycles", ",.1f"),
    (TOTAL, "instructions/operation", ",.0f"),
    *((f"{SPLIT}.{group}", f"  {group}{SPLIT_MARK}", ",.0f") for group in GROUPS),
    ("memory_per_instance", "memory per instance, MiB", ",.1f"),
    ("memory_committed", "memory given per instance, MiB", ",.1f"),
    ("memory_reserved", "memory reserved per instance, MiB", ",.1f"),
    ("boot_to_pong_s", "power-on to first +PONG, s", ".2f"),
)
_UNIT = {"memory_per_instance": MIB, "memory_committed": MIB, "memory_reserved": MIB}
_FORMAT = {metric: format for metric, _, format in FIGURES}


def _note(results: Sequence[Result], split: bool = True) -> str | None:
    """Explains the marked figures; `split`: instructions by component are among them."""
    words = [f"{MARK.strip()} {text}" for text in dict.fromkeys(str(r.counting) for r in results if r.counting)]
    if split and any(metric.startswith(f"{SPLIT}.") for result in results for metric in result.metrics):
        words.append(f"{SPLIT_MARK.strip()} of a short run beside it, in which a plugin counted every instruction; "
                     f"plain kernels.")
    if any(result.round_robin for result in results):
        words.append(TURNS)
    if again := sorted({core for result in results for core in result.started_again}):
        words.append(f"The cluster of cores {format_spans(again)} was started again meanwhile: what kernels counted is "
                     f"not known.")
    return "\n".join(words) or None


def _printed(result: Result, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the figures without those that are not true of any machine."""
    return {metric: value for metric, value in values.items() if not (result.round_robin and metric in DISTORTED)}


def _text(metric: str, value: float | None) -> str:
    return "-" if value is None else format(value / _UNIT.get(metric, 1), _FORMAT[metric])


def _emulated(result: Result) -> str:
    return bracketed(result.emulated, result.modelled["machine"] if result.modelled else None)


def layout_table(result: Result) -> Table:
    """One layout: a row for each core, then all of them."""
    emulated = _emulated(result)
    mark = MARK if result.counting else ""
    kernels = f"{result.clusters} kernel{'s' * (result.clusters != 1)}"
    load = f"{result.served_by}, YCSB {result.workload.upper()}"
    title = f"{result.layout}: {kernels}, lock {result.lock}, {load}{emulated}"
    names = ["ops/s", "p50 µs", "p99 µs", "CPU", f"entries\n/s{mark}", f"con-\nflicts{mark}", f"wait{mark},\ncycles"]
    shown = {m: name for m, name in zip(PER_CORE, names) if m in _printed(result, dict.fromkeys(PER_CORE))}
    metrics = list(shown)
    table = plain_table(title, ("cluster", "core", *shown.values()), note=_note([result], split=False),
                        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)  # fits into 80 columns
    for core in result.per_core:
        known = _printed(result, core)
        idle = not core["ops_per_s"]  # no latency then
        table.add_row(
            str(core["cluster"]), str(core["core"]),
            *["-" if idle and m.startswith("p") else _text(m, known.get(m)) for m in metrics]
        )
    table.add_section()
    total = _printed(result, result.metrics)
    table.add_row("all", "", *[_text(m, total.get(m)) for m in metrics], style="bold")
    return table


def ratios(first: Result, second: Result) -> dict[str, float]:
    return _ratios(first.metrics, second.metrics)


def _ratios(a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
    """a / b, where both have the metric and it is not 0."""
    return {metric: a[metric] / b[metric] for metric, _, _ in FIGURES if a.get(metric) is not None and b.get(metric)}


OVER_IMAGES = (
    "A ratio with an interval is the median over images, and where that of another image lies (95 %); the columns are "
    "of the first."
)


def comparison_table(first: Result, second: Result, spreads: Mapping[str, object] = {}) -> Table:
    """`spreads`: by metric, the ratio over images, as text."""
    emulated = _emulated(first)
    title = f"{first.layout} beside {second.layout}, {first.served_by}, YCSB {first.workload.upper()}{emulated}"
    of_first, of_second = _printed(first, first.metrics), _printed(second, second.metrics)
    table = _beside(title, first.layout, of_first, second.layout, of_second, first.counting is not None, spreads)
    notes = [_note([first, second]), OVER_IMAGES if spreads else None]
    table.caption, table.caption_justify = "\n".join(note for note in notes if note) or None, "left"
    return table


def linux_table(first: Result, linux: Mapping[str, Any]) -> Table:
    """Skerry beside Linux, with what still differs between them."""
    emulated = _emulated(first)
    title = f"{first.layout} beside Linux {linux['kernel']}, {first.served_by}, YCSB {first.workload.upper()}{emulated}"
    of_linux = _printed(first, linux["metrics"])
    table = _beside(title, first.layout, _printed(first, first.metrics), "Linux", of_linux, first.counting is not None)
    notes = [note] if (note := _note([first])) else []
    table.caption = "\n".join([*notes, *linux_differences(linux["network"])])
    table.caption_justify = "left"
    return table


def linux_differences(network: str) -> list[str]:
    """Returns the remaining differences when Linux does the same work, in lines."""
    return [
        f"Linux's clients and servers speak over {network}, Skerry's over lwIP and a cable in shared memory.",
        "Memory per instance: used_memory_rss after the run. Skerry counts pages when they are handed out, Linux when",
        "they are first touched; for Skerry the whole heap of an instance is reserved (`heap` of the deployment).",
    ]


def _beside(
    title: str, a: str, of_a: Mapping[str, float], b: str, of_b: Mapping[str, float], counted_apart: bool = False,
    spreads: Mapping[str, object] = {},
) -> Table:
    table = plain_table(title, ("", a, b, f"{a} / {b}"))
    quotient = _ratios(of_a, of_b)
    for metric, name, _ in FIGURES:
        if metric == TOTAL and metric not in of_a and metric not in of_b and _counted(of_a) and _counted(of_b):
            sums = _counted(of_a), _counted(of_b)  # sums of the parts, which the next rows are
            table.add_row(f"{name}{SPLIT_MARK}", *(_text(metric, one) for one in sums), f"{sums[0] / sums[1]:.3f}")
        if metric in of_a or metric in of_b:
            ratio = str(spreads.get(metric) or (f"{quotient[metric]:.3f}" if metric in quotient else "-"))
            name += MARK if counted_apart and metric in COUNTED else ""
            table.add_row(name, _text(metric, of_a.get(metric)), _text(metric, of_b.get(metric)), ratio)
    return table


def _counted(of: Mapping[str, float]) -> float:
    """All that a plugin counted of an operation."""
    return sum(of.get(f"{SPLIT}.{group}", 0.0) for group in GROUPS)


def pairs(results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """The first layout beside each other one, for each workload."""
    both = []
    for workload in dict.fromkeys(r.workload for r in results):
        first, *others = [r for r in results if r.workload == workload]
        both += [(first, other) for other in others]
    return both


def ratio_json(first: Result, second: Result) -> dict[str, Any]:
    entry: dict[str, Any] = {"of": first.layout, "to": second.layout, "workload": first.workload}
    if first.emulated:
        entry["emulated"] = True
    return entry | {"metrics": nested(ratios(first, second))}
