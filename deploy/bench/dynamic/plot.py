# SPDX-License-Identifier: BSD-2-Clause
"""Uhlig's figures as they are drawn there: bars for one core, lines over cores."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from deploy.bench.dynamic.measure import (
    FORK_JOIN,
    IPC,
    LOAD,
    SPACES,
    TITLES,
    UNMAP,
    ForkJoin,
    Ipc,
    Load,
    bases,
    published_ipc,
)
from deploy.bench.dynamic.table import UNIT
from deploy.bench.dynamic.unmap_series import Unmap
from deploy.bench.dynamic.unmap_table import title_of
from deploy.results.figure import MARKERS, publish, subplots
from topology.model.papers import UHLIG


def plot_dynamic(
    ipc: Sequence[Ipc], joins: Sequence[ForkJoin], loads: Sequence[Load], unmaps: Sequence[Unmap], mode: str,
    output: Path
) -> None:
    panels: list[tuple[str, Callable[[Any], None]]] = []
    for unit in bases(ipc):
        rows = [row for row in ipc if row.unit == unit]
        panels.append((f"{TITLES[IPC]}, {rows[0].unit} of the kernel", partial(_bars, rows=rows)))
    if joins:
        panels.append((TITLES[FORK_JOIN], lambda axes: _joins(axes, joins)))
    panels += _panels_of_unmaps(unmaps)
    if loads:
        panels.append((TITLES[LOAD], lambda axes: _loads(axes, loads)))
    across = min(2, len(panels))
    down = -(-len(panels) // across)
    figure, grid = subplots(down, across, figsize=(7.2 * across, 0.6 + 4.4 * down), squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, draw) in zip(grid.flat, panels):
        axes.set_title(title, size=9)
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    note = textwrap.fill(f"{UHLIG}. {mode}", width=int(21 * figure.get_figwidth()))
    publish(figure, output, "Regime dynamic", note, 0.3 / figure.get_figheight())


def _bars(axes: Any, rows: Sequence[Ipc]) -> None:
    base, width = bases(rows)[rows[0].unit], 0.8 / len(rows)
    for number, row in enumerate(rows):
        heights = [row.one_way(where) for where in SPACES]
        places = [place + (number - (len(rows) - 1) / 2) * width for place in range(len(SPACES))]
        bars = axes.bar(places, heights, width,
                        label=row.series.name + (f" ({row.series.paper})" if row.series.paper else ""))
        over = [f"×{row.over(base, where):.2f}" for where in SPACES]
        published = [published_ipc(row.series, where) for where in SPACES]
        axes.bar_label(bars, [f"{ours}\n(paper ×{there:.2f})" if there and row is not base else ours
                              for ours, there in zip(over, published)], size=6)
    axes.set_xticks(range(len(SPACES)), list(SPACES.values()))
    axes.margins(y=0.2)


def _joins(axes: Any, rows: Sequence[ForkJoin]) -> None:
    for number, name in enumerate(dict.fromkeys(row.series.name for row in rows)):
        mine = sorted((row for row in rows if row.series.name == name), key=lambda row: row.cores)
        cores, cycles = [row.cores for row in mine], [row.latency.running for row in mine]
        axes.plot(cores, cycles, marker=MARKERS[number % len(MARKERS)], markersize=4, label=name)
        _ranges(axes, cores, [row.range for row in mine], f"C{number % 10}", 1)
    axes.set_xlabel("cores")
    axes.set_ylabel("cycles from the first signal until the last worker runs")
    axes.set_ylim(bottom=0)


def _panels_of_unmaps(rows: Sequence[Unmap]) -> list[tuple[str, Callable[[Any], None]]]:
    """One for each series of cycles, and one for all that is counted."""
    modelled = [row for row in rows if row.machine]
    panels: list[tuple[str, Callable[[Any], None]]] = []
    for series in dict.fromkeys(row.series for row in modelled):
        lines = {f"{n} core{'s' if n > 1 else ''}": [row for row in modelled if row.series == series
                                                     and row.calls.cores == n]
                 for n in sorted({row.calls.cores for row in modelled})}  # fmt: skip
        panels.append((title_of(series), partial(_unmaps, lines=lines)))
    if counted := [row for row in rows if not row.machine]:
        lines = {name: [row for row in counted if row.series.name == name]
                 for name in dict.fromkeys(row.series.name for row in counted)}
        panels.append((f"{TITLES[UNMAP]}: one core", partial(_unmaps, lines=lines)))
    return panels


def _unmaps(axes: Any, lines: Mapping[str, Sequence[Unmap]]) -> None:
    for number, (name, rows) in enumerate(lines.items()):
        mine = sorted(rows, key=lambda row: row.calls.pages)
        pages = [row.calls.pages for row in mine]
        axes.plot(pages, [row.calls.mapping for row in mine], marker=MARKERS[number % len(MARKERS)], markersize=4,
                  label=name)
        _ranges(axes, pages, [row.range for row in mine], f"C{number % 10}", 1)
        axes.set_ylabel(f"{mine[0].unit} of a mapping" if mine else "")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("pages that one call protects")
    axes.set_ylim(bottom=0)


def _loads(axes: Any, rows: Sequence[Load]) -> None:
    for number, name in enumerate(dict.fromkeys(row.series.name for row in rows)):
        mine = sorted((row for row in rows if row.series.name == name), key=lambda row: row.point.cores)
        cores, values = [row.point.cores for row in mine], [UNIT * row.point.throughput for row in mine]
        axes.plot(cores, values, marker=MARKERS[number % len(MARKERS)], markersize=4, label=name)
        _ranges(axes, cores, [row.range for row in mine], f"C{number % 10}", UNIT)
    axes.set_xlabel("cores")
    axes.set_ylabel(f"kernel entries in {UNIT:,} cycles")
    axes.set_ylim(bottom=0)


def _ranges(axes: Any, cores: Sequence[int], bounds: Sequence[tuple[float, float] | None], colour: str,
            by: float) -> None:
    known = [(n, of) for n, of in zip(cores, bounds) if of]
    if known:
        axes.fill_between([n for n, _ in known], [by * of[0] for _, of in known], [by * of[1] for _, of in known],
                          color=colour, alpha=0.15, linewidth=0)
