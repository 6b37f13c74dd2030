# SPDX-License-Identifier: BSD-2-Clause
"""Figures 4 and 5 as tables: each lock at some numbers of cores, one lock beside what the paper says of it, and a
verdict in words."""

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from deploy.bench.scale.figure_sweep import GOAL, published_point
from deploy.bench.scale.measure import Key, Point, key_of
from deploy.results.tables import plain_table
from topology.model import papers, published

UNIT = 1000  # cycles
SHOWN = (1, 2, 4, 6, 8, 10, 12, 14, 15, 16, 18, 20, 24, 28)  # rows; the plot and the JSON have all
Ranges = Mapping[Key, tuple[float, float]]


def tables(points: Sequence[Point], ranged: Ranges, figure: str) -> list[Table]:
    locks = list(dict.fromkeys(point.lock for point in points))
    if figure == "5":
        return [_by_lock(points, locks, ranged)]
    made = [_by_delay([p for p in points if p.lock == lock], ranged) for lock in locks]
    one = [point for point in points if point.lock == "clh"]
    return [*made, against_paper(one)] if one else made


def _shown(points: Sequence[Point]) -> list[int]:
    there = sorted({point.cores for point in points})
    return [n for n in there if n in SHOWN or len(there) <= len(SHOWN)]


def _cell(point: Point | None, ranged: Ranges) -> str:
    if point is None:
        return "-"
    low, high = ranged.get(key_of(point), (0.0, 0.0))
    starved = f" starved: {len(point.starved)}" if point.starved else ""
    return f"{UNIT * point.throughput:.3g}" + (f" [{UNIT * low:.3g}..{UNIT * high:.3g}]" if high else "") + starved


def _table(title: str, columns: Sequence[str], ranged: Ranges) -> Table:
    brackets = " In brackets: half and double line costs." if ranged else ""
    return plain_table(f"{title}: kernel entries in {UNIT:,} cycles (modelled).{brackets}", columns)


def _by_delay(points: Sequence[Point], ranged: Ranges) -> Table:
    delays = sorted({point.delay for point in points})
    at = {(point.cores, point.delay): point for point in points}
    table = _table(f"Figure 4, {points[0].lock}", ("cores", *(f"delay {delay:g}" for delay in delays)), ranged)
    for cores in _shown(points):
        table.add_row(str(cores), *(_cell(at.get((cores, delay)), ranged) for delay in delays))
    return table


def _by_lock(points: Sequence[Point], locks: Sequence[str], ranged: Ranges) -> Table:
    at = {(point.cores, point.lock): point for point in points}
    table = _table(f"Figure 5, delay {points[0].delay:g}", ("cores", *locks), ranged)
    for cores in _shown(points):
        table.add_row(str(cores), *(_cell(at.get((cores, lock)), ranged) for lock in locks))
    return table


def against_paper(points: Sequence[Point]) -> Table:
    """One lock: ours, what the paper has, and how far apart; * where that is more than the goal."""
    delays = sorted({point.delay for point in points})
    at = {(point.cores, point.delay): point for point in points}
    table = _table("Figure 4, clh beside the paper: ours, its fit and the error, or its bounds",
                   ("cores", *(f"delay {d:g}" for d in delays)), {})
    for cores in _shown(points):
        table.add_row(str(cores), *(_against(at.get((cores, delay))) for delay in delays))
    table.caption = (
        f"Up to {published.SOCKET} cores: its fit with a service time of {published.SERVICE:g} cycles; beyond, between "
        f"its bounds for {published.BOUNDS[1]:g} and {published.BOUNDS[0]:g}. Its text has no points. * more than "
        f"{GOAL:.0%} off, or outside."
    )
    table.caption_justify = "left"
    return table


def _against(point: Point | None) -> str:
    if point is None:
        return "-"
    paper, ours = published_point(point), f"{UNIT * point.throughput:.3g}"
    star = "" if paper["met"] else "*"
    if "fit" in paper:
        return f"{ours} ({UNIT * paper['fit']:.3g}, {paper['error']:+.0%}){star}"
    return f"{ours} ({UNIT * paper['bounds'][0]:.3g}..{UNIT * paper['bounds'][1]:.3g}){star}"


def sentences(points: Sequence[Point], figure: str) -> Iterator[str]:
    """The figure's main result in words, for a reader who has not seen it."""
    at = {(point.lock, point.delay, point.cores): point.throughput for point in points}
    if figure == "4":
        yield from _about_fit([point for point in points if point.lock == "clh"])
    most = max((point.cores for point in points), default=0)
    delay = published.SPANS_SOCKET
    for lock in dict.fromkeys(point.lock for point in points):
        whole, half, one = (at.get((lock, delay, n)) for n in (most, published.SOCKET, 1))
        if whole and half and one and most > published.SOCKET:
            yield (
                f"{lock}, delay {delay:g}: {most} cores do {whole / one:.1f} times what one does, and "
                f"{whole / half:.2f} times what {published.SOCKET} do. {_said(lock, whole / one, whole / half, most)}"
            )


def _said(lock: str, over_one: float, over_half: float, most: int) -> str:
    if lock in ("fine", "rtm"):
        agrees = over_one > 0.95 * most
        return (
            f"The paper: scales perfectly ({papers.FIGURE_5_FINE.source.split(', ')[-1].split(':')[0]}): "
            f"{'agrees' if agrees else 'disagrees'}."
        )
    if lock == "clh":
        return f"The paper: a lower plateau on both sockets: {'agrees' if over_half < 1 else 'disagrees'}."
    return "The paper does not have this curve."


def _about_fit(points: Sequence[Point]) -> Iterator[str]:
    compared = [(point, published_point(point)) for point in points]
    near, far = ([one for one in compared if "fit" in one[1]], [one for one in compared if "bounds" in one[1]])
    if near:
        worst, of = max(near, key=lambda one: abs(one[1]["error"]))
        yield (
            f"clh, one socket: {sum(of['met'] for _, of in near)} of {len(near)} points are within {GOAL:.0%} of the "
            f"paper's fit; the worst is {of['error']:+.0%} ({worst.cores} cores, delay {worst.delay:g})."
        )
    if far:
        below = sum(1 for point, of in far if point.throughput < of["bounds"][0])
        inside = sum(of["met"] for _, of in far)
        yield (
            f"clh, two sockets: {inside} of {len(far)} points are between its bounds, {below} below and "
            f"{len(far) - inside - below} above."
        )
