# SPDX-License-Identifier: BSD-2-Clause
"""Figure 8 of `skerry bench dynamic` as tables: pages by cores for each series, and how each series goes over the
cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from deploy.bench.dynamic.measure import TITLES, UNMAP
from deploy.bench.dynamic.table import noted_table, range_text
from deploy.bench.dynamic.unmap_series import LEAST_R_SQUARED, MOST_RISE, Guard, Trend, Unmap, trends

UNMAP_NOTE = (
    "One call on core 0 takes the right to write from so many mappings, while each other core takes it from one page "
    "of its own and gives it back, without end: the mean of all calls, for each mapping."
)
COUNTED_NOTE = (
    "One call takes the right to write from so many mappings: the mean of all calls, for each mapping. 'kernel': all "
    "frames are in its own domain."
)
TRENDS_NOTE = (
    "From the fewest cores to the most; in brackets: under half and double line costs. Of (a) the rise is to be "
    f"{MOST_RISE:.0%} at most, of (b) R² of the straight line {LEAST_R_SQUARED} at least. The paper's two knees of (a) "
    "cannot show: that at 5 processors is the line of a page that processors of two nodes share, and here cores share "
    "none; that at 9 is the second thread of a processor, which modelled cores do not have."
)


def title_of(series: Guard) -> str:
    return f"{TITLES[UNMAP]}{f' ({series.part})' if series.part else ''}, {series.name}"


def unmap_tables(rows: Sequence[Unmap]) -> Iterator[Table]:
    """Yields the tables of one unit: one for each series where cycles are modelled, else one for all."""
    if rows and not rows[0].machine:
        yield _counted(rows)
        return
    for series in dict.fromkeys(row.series for row in rows):
        mine = [row for row in rows if row.series == series]
        assert mine[0].machine
        title = f"{title_of(series)}: cycles of a mapping (modelled: {mine[0].machine.name})"
        yield _by_cores(title, f"{series.means[0].upper()}{series.means[1:]}. {UNMAP_NOTE}", mine)
    if rising := trends(rows):
        yield _trends(rising)


def _by_cores(title: str, note: str, rows: Sequence[Unmap]) -> Table:
    counts = sorted({row.calls.cores for row in rows})
    table = noted_table(title, note, "pages", *(f"{n} core{'s' if n > 1 else ''}" for n in counts))
    by = {(row.calls.pages, row.calls.cores): row.calls.mapping for row in rows}
    for pages in sorted({row.calls.pages for row in rows}):
        table.add_row(str(pages), *(f"{by[pages, n]:,.0f}" if (pages, n) in by else "-" for n in counts))
    return table


def _counted(rows: Sequence[Unmap]) -> Table:
    names = list(dict.fromkeys(row.series.name for row in rows))
    table = noted_table(f"{TITLES[UNMAP]}: instructions of the kernel for a mapping, one core (counted, emulated)",
                        COUNTED_NOTE, "pages", *names)
    by = {(row.calls.pages, row.series.name): row.calls.mapping for row in rows}
    for pages in sorted({row.calls.pages for row in rows}):
        table.add_row(str(pages), *(f"{by[pages, name]:,.1f}" if (pages, name) in by else "-" for name in names))
    return table


def _trends(shown: Sequence[Trend]) -> Table:
    table = noted_table(f"{TITLES[UNMAP]}: over the cores", TRENDS_NOTE, "series", "pages", "from", "to", "rise", "R²")
    for series in dict.fromkeys(trend.series for trend in shown):
        mine = sorted((trend for trend in shown if trend.series == series), key=lambda trend: trend.pages)
        for trend in dict.fromkeys((mine[0], mine[len(mine) // 2], mine[-1])):
            first, last = trend.rows[0], trend.rows[-1]
            cells = (f"{row.calls.mapping:,.0f}{range_text(row.range, 0)}" for row in (first, last))
            name = f"{series.name}{f' ({series.part})' if series.part else ''}"
            table.add_row(name, str(trend.pages), *cells, f"{trend.rise:+.1%}", f"{trend.r_squared:.3f}")
    return table
