# SPDX-License-Identifier: BSD-2-Clause
"""The page's figures. Nothing in them is told by colour alone: bars have names, lines have strokes and marks."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from deploy.report.group import Value
from deploy.report.svg import COLOURS, HATCHES, LINES, MARKERS, Drawing, drawing
from deploy.results.figure import ticker
from deploy.results.ycsb import percentile
from topology.model.fit import Fit

LONGEST = 34  # characters of a name beside a bar
PERCENTILES = (0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999)
UNIT = 1000  # cycles


def short(text: str, most: int = LONGEST) -> str:
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def spoken(names: Sequence[str], values: Sequence[Value], unit: str) -> str:
    """Describes a bar chart in words."""
    parts = [f"{name}: {number(value.mean)}{_give_or_take(value)}" for name, value in zip(names, values)]
    return f"{unit}. " + "; ".join(parts)


def _give_or_take(value: Value) -> str:
    return f" ± {number(value.deviation)}" if value.deviation is not None else ""


def number(value: float) -> str:
    """Four digits that matter; whole where there are more before the point."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.4g}"
    return f"{value:.4g}"


def bars(
    name: str, title: str, unit: str, names: Sequence[str], values: Sequence[Value], styles: Sequence[int] | None = None
) -> Markup:
    """Lying bars; a whisker is the standard deviation of the repeats, a ring one run. Without `styles` all differ."""
    with drawing(name, title, spoken(names, values, unit), height=0.75 + 0.44 * len(names)) as made:
        axes = made.axes
        for place, value in enumerate(values):
            style = (styles[place] if styles else place) % len(COLOURS)
            axes.barh(
                place, value.mean, height=0.62, color=COLOURS[style], hatch=HATCHES[style], edgecolor="#ffffff80",
                linewidth=0
            )
            if any(value.reach):
                axes.errorbar(value.mean, place, xerr=[[r] for r in value.reach], color="#010203", capsize=3,
                              linewidth=1)
            if value.deviation is not None:
                axes.plot(value.runs, [place + 0.2] * len(value.runs), "o", mfc="none", mec="#010203", markersize=3,
                          mew=0.7)
            reach = max(value.mean + value.reach[1], *value.runs)
            axes.annotate(number(value.mean), (reach, place), (4, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(names)), [short(text) for text in names])
        axes.invert_yaxis()
        axes.margins(x=0.22)
        axes.set_xlim(left=min(0.0, *(value.mean for value in values)))
        axes.set_xlabel(unit)
        axes.xaxis.set_major_locator(ticker().MaxNLocator(4))
        axes.xaxis.set_major_formatter(ticker().FuncFormatter(lambda x, _: number(x)))
    return made.svg


def _look(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)],
            "marker": MARKERS[place % len(MARKERS)]}


def _finish(made: Drawing, x: str, y: str, bottom: float | None = None) -> None:
    """Names the axes, and sets a grid behind the lines and a legend below them."""
    axes = made.axes
    axes.set(xlabel=x, ylabel=y)
    if bottom is not None:
        axes.set_ylim(bottom=bottom)
    axes.grid(True)
    made.figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=1)


def over_cores(name: str, title: str, unit: str, of: Mapping[str, Mapping[int, Value]]) -> Markup:
    """A line for each of what is compared; whiskers as those of bars."""
    lines = [f"{key}: " + ", ".join(f"{n} cores {number(v.mean)}" for n, v in line.items()) for key, line in of.items()]
    with drawing(name, title, f"{unit}. " + "; ".join(lines), height=2.5 + 0.18 * len(of)) as made:
        axes = made.axes
        for place, (key, line) in enumerate(of.items()):
            axes.errorbar(
                list(line), [v.mean for v in line.values()], yerr=list(zip(*(v.reach for v in line.values()))),
                capsize=3, linewidth=1.2, markersize=4, label=short(key), **_look(place),
            )
        axes.xaxis.set_major_locator(ticker().MaxNLocator(8, integer=True))
        axes.yaxis.set_major_formatter(ticker().FuncFormatter(lambda y, _: number(y)))
        _finish(made, "cores", unit, bottom=0)
    return made.svg


def latencies(name: str, title: str, of: Mapping[str, Sequence[tuple[float, int]]]) -> Markup:
    """Latency at each percentile, the tail stretched: every step to the right has a tenth of the operations."""
    most = max(sum(count for _, count in histogram) for histogram in of.values())
    shown = [p for p in PERCENTILES if p < 100 and (p < 99 or most * (100 - p) >= 100)]
    lines = [
        f"{key}: " + ", ".join(f"{p:g} % within {number(percentile(histogram, p))} µs" for p in (50, 99) if p in shown)
        for key, histogram in of.items()
    ]
    with drawing(name, title, "; ".join(lines), height=3.2) as made:
        axes = made.axes
        for place, (key, histogram) in enumerate(of.items()):
            total, seen = sum(count for _, count in histogram), 0
            xs, ys = [1.0], [histogram[0][0]]
            for value, count in histogram:
                seen += count
                xs.append(total / max(total - seen, 1) if seen < total else float(total))
                ys.append(value)
            every = max(1, len(xs) // 8)
            axes.plot(
                xs, ys, drawstyle="steps-pre", markersize=4, markevery=every, linewidth=1.3, label=short(key),
                **_look(place),
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = [p for p in (0, 50, 90, 99, 99.9, 99.99, 99.999) if p in shown]
        axes.xaxis.set_major_locator(ticker().FixedLocator([100 / (100 - p) for p in ticks]))
        axes.xaxis.set_minor_locator(ticker().FixedLocator([]))
        axes.xaxis.set_major_formatter(ticker().FuncFormatter(lambda x, _: f"{100 - 100 / x:g}"))
        axes.yaxis.set_major_locator(ticker().LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ticker().FuncFormatter(lambda y, _: number(y)))
        axes.yaxis.set_minor_formatter(ticker().FuncFormatter(lambda y, _: ""))
        _finish(made, "percentile of operations", "latency, µs")
    return made.svg


def powers(name: str, title: str, unit: str, of: Mapping[str, Sequence[float]]) -> Markup:
    """Histograms by powers of two: how many of each class lie from 2^n on."""
    text = "; ".join(f"{key}: most from {2 ** max(range(len(bins)), key=bins.__getitem__)} {unit} on"
                     for key, bins in of.items())
    last = max((n for bins in of.values() for n, count in enumerate(bins) if count), default=0)
    with drawing(name, title, text, height=2.5 + 0.18 * len(of)) as made:
        axes = made.axes
        for place, (key, bins) in enumerate(of.items()):
            axes.plot(
                range(last + 1), [*bins, *[0] * (last + 1)][: last + 1], markersize=3.5, linewidth=1.2,
                label=short(key), **_look(place),
            )
        axes.set_yscale("symlog", linthresh=1)
        axes.yaxis.set_major_formatter(ticker().FuncFormatter(lambda y, _: number(y)))
        axes.xaxis.set_major_locator(ticker().MaxNLocator(8, integer=True))
        axes.xaxis.set_major_formatter(ticker().FuncFormatter(lambda x, _: number(2.0**x) if x >= 0 else ""))
        axes.tick_params(axis="x", labelsize=7)
        _finish(made, f"{unit}, from this on", "how often", bottom=0)
    return made.svg


def fits(name: str, title: str, fitted: Sequence[Fit]) -> Markup:
    """Points are measured, lines are the fitted model, drawn on to twice the cores that were measured."""
    lines = [
        f"{fit.curve.name}: measured on {', '.join(str(n) for n, _ in sorted(fit.curve.points))} cores, fitted service "
        f"time {number(fit.service.value)} cycles"
        for fit in fitted
    ]
    with drawing(name, title, "; ".join(lines), height=2.6 + 0.36 * len(fitted)) as made:
        axes = made.axes
        most = max(cores for fit in fitted for cores, _ in fit.curve.points)
        for place, fit in enumerate(fitted):
            look = _look(place)
            points: dict[int, list[float]] = {}
            for cores, throughput in fit.curve.points:
                points.setdefault(cores, []).append(UNIT * throughput)
            values = {cores: Value(tuple(runs)) for cores, runs in sorted(points.items())}
            axes.errorbar(
                list(values), [v.mean for v in values.values()], yerr=[v.deviation or 0 for v in values.values()],
                fmt=look["marker"], color=look["color"], markersize=5, capsize=3, label=f"{fit.curve.name}: measured",
            )
            beyond = range(1, 2 * most + 1)
            axes.plot(
                beyond, [UNIT * fit.throughput(n) for n in beyond], color=look["color"], linestyle=look["linestyle"],
                linewidth=1.2, label=f"{fit.curve.name}: model",
            )
        axes.axvline(most, color="#010203", linewidth=0.6, linestyle=":")
        for words, side, aligned in (("measured", -3, "right"), ("model alone", 3, "left")):  # above all curves
            axes.annotate(words, (most, 1), (side, 2), xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                          fontsize=7, ha=aligned)
        axes.xaxis.set_major_locator(ticker().MaxNLocator(8, integer=True))
        _finish(made, "cores of one kernel", "kernel entries in 1,000 cycles", bottom=0)
    return made.svg
