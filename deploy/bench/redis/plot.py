# SPDX-License-Identifier: BSD-2-Clause
"""Throughput, throughput over utilisation, idle time and delay between kernel entries, over cores, for each lock."""

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deploy.bench.redis.measure import PER, Point
from deploy.bench.redis.table import NOTES
from deploy.results.figure import MARKERS, plain_axes, publish, subplots
from deploy.results.kinds import bracketed

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
