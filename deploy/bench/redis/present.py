# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench redis` as tables and plots: throughput, utilisation and idle time over cores for each lock."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.bench.redis.measure import COUNTED, MODELLED, NO_RANGES, PER, STEP, TSC, Point, Ranges
from deploy.results.figure import MARKERS, plain_axes, publish, subplots
from deploy.results.kinds import bracketed
from deploy.results.tables import add_rows, plain_table

FIGURES = (
    "Stands for Figures 6 and 7 of Elphinstone et al., 'An Evaluation of Coarse-Grained Locking for Multicore "
    "Microkernels' (2016): a virtual network processor on core 0, on every other core a Redis and two clients, each "
    "with an lwIP process of its own; there the lock keeps up to 5 cores, and delays are 800 cycles on core 0 and "
    "1,600 on the others. And for Figures 3 and 4 of Peters et al., 'For a Microkernel, a Big Lock Is Fine' (2015): "
    "throughput over cores, and throughput over utilisation (Xput), which there hardly depends on the lock."
)
NOTES = {
    STEP: "Emulated: every core executes one instruction a cycle and all cores go in step (emulator), programs "
    "between two kernel entries as far ahead as they like. So this shows cores that queue for the lock by the "
    "instructions for which it is held, by kernels that count and so hold it longer; not what moving cache lines "
    "costs. Timers go by the host's time: the slower it emulates, the more of their interrupts fall on an operation. "
    "Compare figures of one run with each other. Operations/s are the host's pace.",
    MODELLED: "Modelled: every core has a clock in cycles of the machine file, and lines that move cost what it says. "
    "Kernels "
    "count here, so that they read the clock while they hold the lock. Compare figures of one run with each other.",
    COUNTED: "Emulated: one clock counts the instructions of all cores, which run in turns; a core that waits for its "
    "turn counts as busy. Instructions for an operation are exact; throughput over cores is not shown by this.",
    TSC: "Cycles of the TSC. Under an emulator they are the host's time: then only ratios of one run mean something.",
}
FALLS_BACK = "Regime rtm runs as clh where the processor has no usable transactions, as no emulator's has."


def tables(points: Sequence[Point], ranged: Ranges = NO_RANGES) -> list[Table]:
    made = [_throughput([p for p in points if p.stack == stack], ranged)
            for stack in dict.fromkeys(p.stack for p in points)]
    made.append(_details(points))
    notes = [NOTES[points[0].clock], *([FALLS_BACK] if any(p.lock == "rtm" for p in points) else []), FIGURES]
    made[-1].caption = "\n".join(textwrap.fill(note, 112) for note in notes)
    made[-1].caption_justify = "left"
    return made


def _title(text: str, points: Sequence[Point]) -> str:
    result = points[0].result
    return text + bracketed(result.emulated, result.modelled["machine"] if result.modelled else None)


def _throughput(points: Sequence[Point], ranged: Ranges) -> Table:
    locks = list(dict.fromkeys(point.lock for point in points))
    title = _title(f"lwIP {_where(points[0].stack)}: operations in {PER:,} cycles, all cores together", points)
    at = {(point.size, point.lock): point for point in points}
    return add_rows(plain_table(title, ("cores", *locks)), at, locks, lambda point: _with_range(point, ranged))


def _with_range(point: Point, ranged: Ranges) -> str:
    """In brackets: under half and double line costs."""
    least, most = ranged.get(point.key, (0.0, 0.0))
    return f"{point.throughput:.2f}" + (f" [{least:.2f}..{most:.2f}]" if most else "")


def _where(stack: str) -> str:
    return "in a process of its own" if stack == "process" else "inside each process"


def _details(points: Sequence[Point]) -> Table:
    columns = ("stack", "cores", "lock", "idle", "delay, core 0", "delay, others", "kernel/entry", "entries/op",
               "interrupts/op", "conflicts", "Xput", "instr/op")
    table = plain_table(_title("Each boot", points), columns, ("stack", "lock"))
    for point in points:
        m = point.metrics
        table.add_row(
            point.stack, str(point.size), point.lock, f"{m['idle_ratio']:.1%}", f"{m['delay_core0_cycles']:,.0f}",
            f"{m['delay_cycles']:,.0f}" if "delay_cycles" in m else "-", f"{m['kernel_cycles_per_entry']:,.0f}",
            f"{m['kernel_entries_per_op']:.1f}", f"{m['interrupts_per_op']:.1f}", f"{m['lock_conflict_ratio']:.1%}",
            f"{point.normalised:.2f}", f"{m['instructions_per_op']:,.0f}" if "instructions_per_op" in m else "-",
        )
    return table


def instance_table(points: Sequence[Point], linux: Sequence[Mapping[str, Any]]) -> Table:
    """Returns the costs of an instance in each set-up: issues of size rather than of locks."""
    title = "An instance: memory resident, given to its stack process; power-on to the first +PONG"
    columns = ("system", "cores", "operations/s", "instr/op", "resident MiB", "stack MiB", "+PONG s")
    table = plain_table(_title(title, points), columns, ("system",))
    last = {point.stack: point for point in points}  # the largest machine's of each
    entries = [(f"skerry, {_where(stack)}", point.size, point.metrics) for stack, point in last.items()]
    entries += [("linux", int(entry["cores"]), entry["metrics"]) for entry in linux]
    for name, cores, m in entries:
        table.add_row(name, str(cores), *[_cell(m, key, per, form) for key, per, form in _CELLS])
    return table


_CELLS = (
    ("ops_per_s", 1, ",.0f"),
    ("instructions_per_op", 1, ",.0f"),
    ("memory_per_instance", 1 << 20, ".1f"),
    ("memory_of_stack", 1 << 20, ".1f"),
    ("boot_to_pong_s", 1, ".2f"),
)


def _cell(metrics: Mapping[str, float], key: str, per: int, form: str) -> str:
    return f"{metrics[key] / per:{form}}" if key in metrics else "-"


_LINES = {"process": "-", "inproc": "--"}
Value = Callable[[Point], float | None]
_PANELS: tuple[tuple[str, str, Value], ...] = (
    ("Throughput (Elphinstone 7, Peters 3)", f"operations in {PER:,} cycles", lambda p: p.throughput),
    ("Throughput over utilisation (Peters 4)", "Xput", lambda p: p.normalised),
    ("Idle time", "share of all cores' time", lambda p: 1 - p.utilisation),
    ("Delay between kernel entries, but for core 0", "user cycles", lambda p: p.metrics.get("delay_cycles")),
)


def plot_redis(points: Sequence[Point], mode: str, output: Path) -> None:
    """Panels named after the papers' figures; one curve for each lock and stack."""
    figure, grid = subplots(2, 2, figsize=(11.5, 8.0))
    for axes, (title, label, value) in zip(grid.flat, _PANELS):
        axes.set_title(title, size=9)
        _curves(axes, points, value)
        plain_axes(axes, (point.size for point in points), label)
    grid[0][1].legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    first = points[0].result
    emulated = bracketed(first.emulated, first.modelled["machine"] if first.modelled else None, " ")
    title = f"Redis under YCSB workload {points[0].result.workload.upper()}, with the network on core 0{emulated}"
    publish(figure, output, title, textwrap.fill(f"{mode}. {NOTES[points[0].clock]}", width=230), 0.05)


def _curves(axes: Any, points: Sequence[Point], value: Value) -> None:
    locks, several = list(dict.fromkeys(p.lock for p in points)), len({p.stack for p in points}) > 1
    for stack in dict.fromkeys(p.stack for p in points):
        for number, lock in enumerate(locks):
            mine = sorted((p for p in points if (p.stack, p.lock) == (stack, lock)), key=lambda p: p.size)
            places = [(p.size, height) for p in mine if (height := value(p)) is not None]
            label = f"{lock}, {stack}" if several else lock
            axes.plot(
                [x for x, _ in places], [y for _, y in places], _LINES[stack], marker=MARKERS[number % len(MARKERS)],
                color=f"C{number % 10}", markersize=4, linewidth=1, label=label,
            )
