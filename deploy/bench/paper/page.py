# SPDX-License-Identifier: BSD-2-Clause
"""The report of the papers' figures: ours, out of results files, beside the published points, with the kind of
each."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from deploy.base.atomic_files import write_text
from deploy.bench.paper.figures import DRAWN, KINDS, NOT_MEASURED, Figure as PaperFigure
from deploy.bench.paper.work import Task
from deploy.report import figures, load, sections
from deploy.report.group import Value, groups
from deploy.report.page import render
from deploy.report.sections import Cell, Figure, Section, Table
from deploy.report.svg import COLOURS, MARKERS, drawing
from topology.model.papers import PETERS_FIGURE_1

CURVE = "throughput_per_cycle"


@dataclass(frozen=True)
class Point:
    """One published value or pair of bounds, and ours; several runs of ours where they differ."""

    name: str
    ours: tuple[float, ...]
    published: float | None = None
    bounds: tuple[float, float] | None = None
    extent: tuple[float, float] | None = None  # ours, at half and double line costs
    met: bool | None = None
    source: str = ""

    @property
    def mean(self) -> float:
        return sum(self.ours) / len(self.ours)

    @property
    def ratio(self) -> float | None:
        """Ours over the published value."""
        return self.mean / self.published if self.published else None


Given = tuple[str, Mapping[str, float]]  # a metric, and its published ratio to `none` by lock


def of_documents(documents: Sequence[Mapping[str, Any]], published: Given | None = None) -> list[Point]:
    """Returns the points of all runs of one figure."""
    points: dict[str, Point] = {}
    for document in documents:
        for point in _of(document, published):
            before = points.get(point.name)
            points[point.name] = Point(**{**vars(point), "ours": (*before.ours, *point.ours)}) if before else point
    return list(points.values())


def _of(document: Mapping[str, Any], published: Given | None) -> Iterator[Point]:
    for result in document.get("results", []):
        metrics = result.get("metrics") or {}
        if metrics.get("modelled") is not None:
            yield _validated(result, metrics)
        elif isinstance(result.get("published"), Mapping) and metrics.get(CURVE) is not None:
            yield _curve(result, metrics)
    for ratio in document.get("ratios", []):
        for metric, value in _published(ratio, published).items():
            ours = next((v for name, v in ratio.get("metrics", {}).items() if name == metric
                         or name.startswith(f"{metric}_kernel_")), None)
            if ours is not None and value is not None:
                yield Point(f"{ratio.get('of')} / {ratio.get('to')}: {metric.replace('_', ' ')}", (float(ours),),
                            float(value))


def _published(ratio: Mapping[str, Any], published: Given | None) -> Mapping[str, Any]:
    """Returns the published values by metric. `published`, of another paper, replace those in the file."""
    if published is None:
        return ratio.get("published") or {}
    metric, values = published
    return {metric: values[ratio["of"]]} if ratio.get("of") in values else {}


def _validated(result: Mapping[str, Any], metrics: Mapping[str, Any]) -> Point:
    return Point(
        str(result.get("row", "")), (float(metrics["modelled"]),), _number(metrics.get("reference")),
        _pair(result.get("bounds")),
        _pair((result.get("range") or {}).get("modelled")), result.get("met"), str(result.get("source", "")),
    )  # fmt: skip


def _curve(result: Mapping[str, Any], metrics: Mapping[str, Any]) -> Point:
    published = result["published"]
    name = f"{result.get('lock')}, delay {metrics.get('delay_cycles', 0):g}, {result.get('cores')} cores"
    extent = _pair((result.get("range") or {}).get(CURVE))
    return Point(name, (float(metrics[CURVE]),), _number(published.get("fit")), _pair(published.get("bounds")), extent,
                 published.get("met"))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _pair(value: Any) -> tuple[float, float] | None:
    return (float(value[0]), float(value[1])) if isinstance(value, list | tuple) and len(value) == 2 else None


Curves = dict[str, dict[int, tuple[list[float], tuple[float, float] | None]]]  # by lock and delay, then cores


def curves(documents: Sequence[Mapping[str, Any]]) -> Curves:
    """Throughput over cores, of results that have it; nothing where there are not three sizes."""
    lines: Curves = {}
    for document in documents:
        for result in document.get("results", []):
            metrics = result.get("metrics") or {}
            if metrics.get(CURVE) is None or "modelled" in metrics:
                continue
            line = lines.setdefault(f"{result.get('lock')}, delay {metrics.get('delay_cycles', 0):g}", {})
            runs, _ = line.setdefault(int(result.get("cores", 1)), ([], None))
            runs.append(float(metrics[CURVE]))
            line[int(result.get("cores", 1))] = (runs, _pair((result.get("range") or {}).get(CURVE)))
    return {name: dict(sorted(line.items())) for name, line in lines.items() if len(line) >= 3}


def drawn(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the programs of each core, of a figure that is a drawing."""
    texts = []
    for result in documents[0].get("results", []) if documents else []:
        if isinstance(result.get("programs"), Mapping) and isinstance(result.get("published"), Mapping):
            ours, theirs = (", ".join(f"{n} × {name}" for name, n in sorted(result[key].items()))
                            for key in ("programs", "published"))
            texts.append(f"Core {result.get('core')}: {ours}; "
                         + ("as published." if result.get("same") else f"published: {theirs}."))
    return texts


def not_run(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows without a figure, and why."""
    rows = [result for document in documents for result in document.get("results", []) if result.get("not_run")]
    return list(dict.fromkeys(f"{row.get('row')}: {row['not_run']}" for row in rows))


MOST_ROWS = 40  # ratios in a drawing
MOST_LINES = 6
UNIT = 1000  # cycles


def write(path: Path, done: Sequence[Task]) -> None:
    raw = {task: json.loads(task.path.read_text()) for task in done}
    sources = {task: load.read(task.path) for task in done if task.figure.kind != DRAWN}
    of_figures = [(figure, list(of)) for figure, of in groupby(done, lambda task: task.figure)]
    made = [_section(figure, [raw[task] for task in of], [sources[task] for task in of if task in sources])
            for figure, of in of_figures]
    near = [abs(p.ratio - 1) for section in made for p in section[1] if p.ratio]
    paragraphs = [p for section in made for p in section[1]]
    met = [p for p in paragraphs if p.met is not None]
    head = [
        (str(len(made)), f"figure{'s' * (len(made) != 1)} of the papers"),
        (str(len(paragraphs)), "published points with ours beside them"),
        *([(f"{sum(bool(p.met) for p in met)} of {len(met)}", "goals met, of points that have one")] if met else []),
    ]
    middle = sorted(near)[len(near) // 2] if near else None
    sentence = (
        f"Half of ours are within {middle:.0%} of the published value."
        if middle is not None else "No point has a published value."
    )
    words = [sentence, f"Not measured: {'; '.join(NOT_MEASURED.values())}."]
    text = render([section for section, _ in made], list(sources.values()), "The papers' figures", words, head)
    write_text(path, text)


OTHERS: Mapping[str, Given] = {  # published ratios that the file of a figure's command does not have
    "peters-1": ("one_way", {lock: published.value for lock, published in PETERS_FIGURE_1.items()}),
}


def _section(figure: PaperFigure, raw: Sequence[Mapping[str, Any]],
             sources: Sequence[load.Source]) -> tuple[Section, list[Point]]:
    points, lines = of_documents(raw, OTHERS.get(figure.id)), curves(raw)
    points = _own(figure, points)
    made = Section(figure.id, f"{figure.paper}, {figure.number}: {figure.title}")
    made.words = [f"{figure.kind.capitalize()}: {KINDS[figure.kind]}. Compared: {figure.compared}."]
    made.words += [f"Not run: {why}" for why in not_run(raw)] + drawn(raw)
    made.figures = [*_curve_figures(figure, lines), *_ratio_figures(figure, points)]
    made.tables = [_table(figure, points)] if points else []
    if not made.figures and not made.tables and sources:
        made.tables = _plain_tables(sources)
    return made, points


def _own(figure: PaperFigure, points: Sequence[Point]) -> list[Point]:
    """Returns the points of this figure where a command measures rows of several, without its number, which is in the
    heading."""
    named = re.compile(r"(?:\w+, )?(?:Figure|Table) \d+: ")
    mine = (f"{figure.number}: ", f"{figure.paper.split()[0]}, {figure.number}: ")
    own = [point for point in points if point.name.startswith(mine) or not named.match(point.name)]
    return [replace(point, name=named.sub("", point.name, count=1)) for point in own or points]


def _label(name: str) -> str:
    """In two lines where it is long: the ends of names tell rows apart."""
    lines = textwrap.wrap(name, figures.LONGEST)
    return "\n".join(lines[:2]) + "…" * (len(lines) > 2)


def _curve_figures(figure: PaperFigure, lines: Curves) -> list[Figure]:
    """Throughput over cores, some lines at a time: of one lock all delays, where there are many."""
    names = list(lines)
    sets = [names] if len(names) <= MOST_LINES else [list(of)
                                                     for _, of in groupby(names, lambda name: name.partition(",")[0])]
    made = []
    for place, some in enumerate(of[i : i + MOST_LINES] for of in sets for i in range(0, len(of), MOST_LINES)):
        of = {
            name: {
                cores: Value(tuple(UNIT * run for run in runs), extent and (UNIT * extent[0], UNIT * extent[1]))
                for cores, (runs, extent) in lines[name].items()
            }
            for name in some
        }
        title = f"Kernel entries in {UNIT:,} cycles over cores"
        svg = figures.over_cores(f"{figure.id}-curve-{place}", title, f"entries in {UNIT:,} cycles", of)
        caption = "Whiskers: half and double line costs, where they were run; else one standard deviation of repeats."
        made.append(Figure(f"{title}: {', '.join(dict.fromkeys(name.partition(',')[0] for name in some))}", svg,
                           f"{figure.kind}. {caption}", []))
    return made


def _ratio_figures(figure: PaperFigure, points: Sequence[Point]) -> list[Figure]:
    known = [point for point in points if point.ratio and point.ratio > 0]
    made = []
    for place, start in enumerate(range(0, len(known), MOST_ROWS)):
        svg = _ratios(f"{figure.id}-ratio-{place}", known[start : start + MOST_ROWS])
        made.append(Figure("Ours over the published value", svg, f"{figure.kind}. On the line both are equal.", []))
    return made


def _ratios(name: str, points: Sequence[Point]) -> Markup:
    text = "; ".join(f"{point.name}: {point.ratio:.2f}" for point in points)
    with drawing(name, "Ours over the published value", text, height=0.9 + 0.3 * len(points)) as made:
        axes = made.axes
        for place, point in enumerate(points):
            assert point.published and point.ratio
            low, high = point.extent or (point.mean, point.mean)
            reach = [[max(0.0, point.ratio - low / point.published)], [max(0.0, high / point.published - point.ratio)]]
            axes.errorbar(
                point.ratio, place, xerr=reach, fmt=MARKERS[0 if point.met is not False else 1],
                color=COLOURS[0 if point.met is not False else 1], markersize=4, capsize=2.5, linewidth=1,
            )  # fmt: skip
        axes.axvline(1.0, color="#010203", linewidth=0.8)
        axes.set_yticks(range(len(points)), [_label(point.name) for point in points], fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("ours / published; square: goal not met")
        axes.grid(True, axis="x")
    return made.svg


def _table(figure: PaperFigure, points: Sequence[Point]) -> Table:
    """Published value, ours and their ratio; bounds in place of the value where only those are published."""
    has_bounds = any(point.bounds for point in points)
    has_extent = any(point.extent for point in points)
    head = ["published", *(["at least", "at most"] if has_bounds else []), "ours",
            *(["ours, least", "most"] if has_extent else []), "ours / published"]
    rows = []
    for point in points:
        cells: list[Cell | None] = [_cell(point.published)]
        cells += [_cell(one) for one in point.bounds or (None, None)] if has_bounds else []
        cells.append(Cell(Value(point.ours)))
        cells += [_cell(one) for one in point.extent or (None, None)] if has_extent else []
        cells.append(Cell(Value((point.ratio,)), ".3f") if point.ratio else None)
        mark = "" if point.met is None else " (goal met)" if point.met else " (goal not met)"
        rows.append((f"{point.name}{mark}", cells))
    return Table(f"{figure.number}, {figure.kind}", head, rows)


def _cell(value: float | None) -> Cell | None:
    return None if value is None else Cell(Value((value,)))


def _plain_tables(sources: Sequence[load.Source]) -> list[Table]:
    """Returns tables of measurements for figures whose paper has no values in its text."""
    measured = [group for group in groups(sources) if group.metrics]
    return sections.others(measured, 0).tables if measured else []
