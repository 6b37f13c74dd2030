# SPDX-License-Identifier: BSD-2-Clause
"""A map as contours that can be told apart in grey, with what was measured as numbers in it."""

from collections.abc import Sequence
from math import ceil, nan, sqrt
from pathlib import Path
from typing import Any

from deploy.compare.closed import EVEN
from deploy.compare.map import LOADS, Cell
from deploy.results.figure import publish, subplots

LEVELS = (1 / EVEN, EVEN, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2)
GREYS = ("#d9d9d9", "#ffffff", *(f"#{shade:02x}{shade:02x}{shade:02x}" for shade in range(248, 150, -14)))


def plot(cells: Sequence[Cell], output: Path, layouts: tuple[str, str]) -> None:
    """One panel for each cell."""
    columns = ceil(sqrt(len(cells)))
    rows = ceil(len(cells) / columns)
    figure, panels = subplots(rows, columns, figsize=(max(6.4, 3.6 * columns), 3.2 * rows + 0.8), squeeze=False)
    every = [axes for row in panels for axes in row]
    for axes, cell in zip(every, cells):
        _panel(axes, cell)
    for axes in every[len(cells):]:
        axes.set_visible(False)
    publish(figure, output, f"Operations per second: {layouts[0]} over {layouts[1]}",
            "Contours: closed model of the machine's runs. Dots: measured; the filled one fed the model.\n"
            "Dashed: the same program on more or fewer cores.", bottom=0.08, top=0.98)


def _panel(axes: Any, cell: Cell) -> None:
    ratios = [[nan if ratio is None else ratio for ratio in row] for row in cell.ratios(cell.cores)]
    axes.contourf(LOADS, cell.cores, ratios, levels=(0.0, *LEVELS, 99.0), colors=GREYS)
    lines = axes.contour(LOADS, cell.cores, ratios, levels=LEVELS, colors="black", linewidths=0.7)
    axes.clabel(lines, fmt="%.2f", fontsize=7)
    here = [cell.model.on(cores).load for cores in cell.cores]
    axes.plot(here, cell.cores, "--", color="#1f4e79", linewidth=0.8)
    axes.set_xlim(LOADS[0], LOADS[-1])
    for number, point in enumerate(cell.points):
        axes.plot([point.load], [point.cores], "o", color="#1f4e79", mfc="none" if number else "#1f4e79")
        axes.annotate(f"{point.measured:.2f}", (point.load, point.cores), (4, 4), textcoords="offset points", size=7,
                      weight="bold")
    axes.set_title(cell.name, size=8)
    axes.set_xlabel("load of the lock", size=8)
    axes.set_ylabel("cores of a socket", size=8)
    axes.tick_params(labelsize=7)
