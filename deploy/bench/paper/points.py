# SPDX-License-Identifier: BSD-2-Clause
"""Ours beside the published points, out of results files of the commands that make the papers' figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
