# SPDX-License-Identifier: BSD-2-Clause
"""The queueing models' curves as a picture; throughput is entries in 1,000 cycles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deploy.report.model_results import Bounds
from deploy.results.figure import plain_axes, publish, subplots
from topology.model.fit import Fit
from topology.model.plan import Advice
from topology.model.regimes import ClosedForm

UNIT = 1000
BOUNDED = (500.0, 4000.0)  # the delays of Elphinstone's Figure 4(b)


def _curve(form: ClosedForm, delay: float, cores: Sequence[int]) -> list[float]:
    return [UNIT * form.steady(delay, n).throughput for n in cores]


def _finish(figure: Any, panels: Sequence[Any], title: str, output: Path) -> None:
    for axes in panels:
        axes.set_xlabel("cores")
        plain_axes(axes, label="kernel entries in 1,000 cycles")
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    publish(figure, output, title, "", 0, 0.97)


def plot_predictions(
    form: ClosedForm, delays: Sequence[float], cores: Sequence[int], bounds: Bounds, output: Path
) -> None:
    """Elphinstone's Figure 4: the curves, and beside them the bounds of two sockets."""
    figure, grid = subplots(1, 2 if bounds else 1, figsize=(14 if bounds else 7, 4.6), squeeze=False)
    panels = list(grid[0])
    for delay in delays:
        panels[0].plot(
            cores, _curve(form, delay, cores), label=f"delay {delay:g}", marker="." if len(cores) < 3 else None
        )
    panels[0].set_title(f"service {form.service:g} cycles")
    if bounds:
        chosen = [delay for delay in delays if delay in BOUNDED] or [delays[0], delays[len(delays) // 2]]
        for number, delay in enumerate(dict.fromkeys(chosen)):
            upper, lower = (_curve(ClosedForm(form.lock, s, form.transfer), delay, cores) for s in bounds)
            panels[1].fill_between(cores, lower, upper, color=f"C{number}", alpha=0.25)
            for values, service, style in ((upper, bounds[0], "-"), (lower, bounds[1], "--")):
                panels[1].plot(cores, values, style, color=f"C{number}", label=f"delay {delay:g}, service {service:g}")
        panels[1].set_title(f"two sockets: service between {bounds[0]:g} and {bounds[1]:g} cycles")
    _finish(figure, panels, f"{form.lock}: {form.model} model", output)


def plot_fits(fits: Sequence[Fit], output: Path) -> None:
    """Points are measured, lines are the model."""
    figure, axes = subplots(figsize=(8, 4.6))
    for number, fit in enumerate(fits):
        sizes, measured = zip(*sorted(fit.curve.points))
        cores = range(1, max(sizes) + 1)
        axes.plot(sizes, [UNIT * x for x in measured], "o", color=f"C{number}", markersize=4)
        label = f"{fit.curve.name}: service {fit.service.value:.0f}"
        axes.plot(cores, [UNIT * fit.throughput(n) for n in cores], color=f"C{number}", label=label)
    kinds = " and ".join(dict.fromkeys(fit.curve.kind for fit in fits if fit.curve.kind))
    _finish(figure, [axes], f"Measured and fitted{f' ({kinds})' if kinds else ''}", output)


def plot_plan(advice: Advice, limit: float, title: str, output: Path) -> None:
    figure, axes = subplots(figsize=(8, 4.6))
    sizes = [point.cores for point in advice.curve]
    axes.plot(sizes, [UNIT * p.throughput for p in advice.curve], marker=".", label="with the lock")
    ideal = [UNIT * p.throughput / (1 - p.loss) for p in advice.curve]
    axes.plot(sizes, ideal, ":", color="#555555", label="nobody waits")
    axes.plot(sizes, [x * (1 - limit) for x in ideal], "--", color="#d97925", label=f"{100 * limit:g} % of it lost")
    axes.axvline(advice.largest, color="#5a9e4b", linewidth=1, label=f"largest cluster: {advice.largest}")
    _finish(figure, [axes], title, output)
