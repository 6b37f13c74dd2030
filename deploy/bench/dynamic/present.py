# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench dynamic` as tables and plots, with the paper's figures beside ours, and what follows in a line each."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rich.table import Table

from deploy.bench.dynamic.measure import (
    DELAY,
    FORK_JOIN,
    INTER,
    INTRA,
    IPC,
    LOAD,
    SPACES,
    TITLES,
    UNMAP,
    WAKE,
    ForkJoin,
    Ipc,
    Load,
    bases,
    crossing,
    pairs as joined_pairs,
    published_ipc,
)
from deploy.bench.dynamic.unmap import LEAST_R_SQUARED, MOST_RISE, Guard, Trend, Unmap, trends
from deploy.results.figure import MARKERS, publish, subplots
from deploy.results.tables import add_rows, plain_table
from topology.model.papers import UHLIG, UHLIG_FIGURE_6, UHLIG_FIGURE_7, UHLIG_MACHINE

Row = TypeVar("Row", ForkJoin, Load, Unmap)
UNIT = 1000  # cycles of a throughput
MESSAGES, LOCKS, FINE = "messages", "dynamic fine", "fine"  # series
LOCKS_OVER_FINE = 0.8  # at most: a kernel that switches its locks, beside one that has them always
WIDTH = 112
IPC_NOTE = (
    "One way, no words: the mean of Call and ReplyRecv on the fast path. 'dynamic coarse' is the same image as "
    "'dynamic fine' with one lock for the kernel; clh and fine are kernels of their own. In 'messages' all objects are "
    "at home on the core, which takes no lock of theirs. The paper's cycles are those of "
)
FORK_JOIN_NOTE = (
    "Core 0 signals a worker on each other core, which is halted: from before the first signal until the last "
    "worker runs at user level; medians. 'signals made': until the coordinator has made all signals. How long an "
    "interrupt takes to another core is an assumed price of the machine file (ipi). In brackets: under half and double "
    "line costs. In 'messages' each worker's notification is at home on its core: the coordinator's call travels "
    "there, and comes back. The paper has no points of single series in its text."
)
WAKE_NOTE = (
    "As Figure 7, by a call for each worker and by one call for all of them (SYS_SIGNAL_SET), which interrupts their "
    "cores in one round. 'signals made': until the last call is over. No figure of the paper."
)
LOAD_NOTE = (
    f"Independent ping-pong on every core, a mean delay of {DELAY:g} cycles before each entry. In brackets: under half "
    "and double line costs. No figure of the paper."
)


def noted_table(title: str, note: str, *columns: str) -> Table:
    return plain_table(title, columns, columns[:1], textwrap.fill(note, WIDTH))


def _kind(row: Ipc) -> str:
    modelled = row.measured.modelled
    return (
        f"cycles of the kernel (modelled: {modelled.name})"
        if modelled else "instructions of the kernel (counted, emulated)"
    )


def ipc_table(rows: Sequence[Ipc]) -> Table:
    """Rows of one unit."""
    base = bases(rows)[rows[0].unit]
    table = noted_table(
        f"{TITLES[IPC]}, {_kind(base)}", IPC_NOTE + f"{UHLIG_MACHINE}.", "series", "there",
        *(column for where in SPACES for column in (f"{where}-space", f"/ {base.series.name}", "paper", "ours/paper")),
    )
    for row in rows:
        cells = []
        for where in SPACES:
            ours, published = row.over(base, where), published_ipc(row.series, where)
            over = "" if row is base else f"{ours:.3f}"
            cells += [f"{row.one_way(where):,g}", over, f"{published:.3f}" if published else "",
                      f"{ours / published:.3f}" if published else ""]
        table.add_row(row.series.name, row.series.paper, *cells)
    return table


def range_text(bounds: tuple[float, float] | None, digits: int, by: float = 1.0) -> str:
    return f" [{bounds[0] * by:,.{digits}f}..{bounds[1] * by:,.{digits}f}]" if bounds else ""


def fork_join_table(rows: Sequence[ForkJoin]) -> Table:
    names = list(dict.fromkeys(row.series.name for row in rows))
    pairs = {pair.locks.cores: pair for pair in joined_pairs(rows)}
    figure = rows[0].figure
    table = noted_table(
        f"{TITLES[figure]}, cycles until the last worker runs (modelled: {rows[0].machine.name})",
        FORK_JOIN_NOTE if figure == FORK_JOIN else WAKE_NOTE,
        "cores", *(column for name in names for column in (name, "signals made")),
        *(("messages/locks", "paper") if pairs else ()),
    )
    by = {(row.series.name, row.cores): row for row in rows}
    for cores in sorted({row.cores for row in rows}):
        cells = []
        for row in (by.get((name, cores)) for name in names):
            cells += [f"{row.latency.running:,.0f}{range_text(row.range, 0)}",
                      f"{row.latency.signalled:,.0f}"] if row else ["-", "-"]
        if pair := pairs.get(cores):
            cells += [f"{pair.ours:.2f}", f"{pair.published:.1f}" if pair.published else ""]
        table.add_row(str(cores), *cells)
    return table


def load_table(rows: Sequence[Load]) -> Table:
    names = list(dict.fromkeys(row.series.name for row in rows))
    table = noted_table(f"{TITLES[LOAD]}, kernel entries in {UNIT:,} cycles (modelled: {rows[0].machine.name})",
                        LOAD_NOTE, "cores", *names)
    return add_rows(table, {(row.point.cores, row.series.name): row for row in rows}, names,
                    lambda row: f"{UNIT * row.point.throughput:.3f}{range_text(row.range, 3, UNIT)}")


def sentences(ipc: Sequence[Ipc], joins: Sequence[ForkJoin], loads: Sequence[Load]) -> Iterator[str]:
    """Yields the conclusions from the tables, beside those of the paper."""
    by_unit = {unit: [row for row in ipc if row.unit == unit] for unit in bases(ipc)}
    for unit, rows in by_unit.items():
        for row in rows:
            if published_ipc(row.series, INTER) and row.series.kernel != rows[0].series.kernel:
                ours = ", ".join(
                    f"{row.over(bases(rows)[unit], where) - 1:+.1%} {SPACES[where]} (paper: "
                    f"{UHLIG_FIGURE_6[where, row.series.paper].value - 1:+.1%}, cycles)"
                    for where in (INTER, INTRA)
                )
                yield f"{row.series.name}, the paper's {row.series.paper}, in {_unit(unit)}: {ours}."
        yield from _order(rows, unit)
    if pairs := sorted(joined_pairs(joins), key=lambda pair: pair.locks.cores):
        ours = ", ".join(f"{pair.ours:.2f} on {pair.locks.cores} cores" for pair in pairs)
        published = ", ".join(f"{one.value:g} on {cores} cores" for cores, one in UHLIG_FIGURE_7.items())
        yield (f"Time of fork and join by messages, as a multiple of that by locks: {ours}. {UHLIG}, Figure 7: "
               f"{published}.")
    if loads:
        yield _crossing(loads)


def _unit(unit: str) -> str:
    return f"modelled {unit}" if unit == "cycles" else unit


def _order(rows: Sequence[Ipc], unit: str) -> Iterator[str]:
    """Whether each way of keeping cores apart costs less than the next."""
    by = {row.series.name: row.one_way(INTER) for row in rows}
    if not {MESSAGES, LOCKS, FINE} <= set(by):
        return
    messages, locks, fine = by[MESSAGES], by[LOCKS], by[FINE]
    claims = {
        f"messages ({messages:g}) < locks ({locks:g})": messages < locks,
        f"locks ({locks:g}) <= {LOCKS_OVER_FINE} x fine ({fine:g})": locks <= LOCKS_OVER_FINE * fine,
        f"messages <= {LOCKS_OVER_FINE} x fine": messages <= LOCKS_OVER_FINE * fine,
    }
    text = "; ".join(f"{claim} {'holds' if holds else 'does not hold'}" for claim, holds in claims.items())
    yield f"In {_unit(unit)}, {SPACES[INTER]}: {text}."


def _crossing(rows: Sequence[Load]) -> str:
    text = {
        (first, second): f"from {cores} cores on"
        if (cores := crossing(rows, first, second)) else "on no number of cores measured"
        for first, second in (("dynamic coarse", "dynamic fine"), ("clh", "fine"))
    }
    return "; ".join(f"{second} does more than {first} {when}" for (first, second), when in text.items()) + "."


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
    return add_rows(table, by, counts, "{:,.0f}".format)


def _counted(rows: Sequence[Unmap]) -> Table:
    names = list(dict.fromkeys(row.series.name for row in rows))
    table = noted_table(f"{TITLES[UNMAP]}: instructions of the kernel for a mapping, one core (counted, emulated)",
                        COUNTED_NOTE, "pages", *names)
    by = {(row.calls.pages, row.series.name): row.calls.mapping for row in rows}
    return add_rows(table, by, names, "{:,.1f}".format)


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


def plot_dynamic(
    ipc: Sequence[Ipc], joins: Sequence[ForkJoin], loads: Sequence[Load], unmaps: Sequence[Unmap], mode: str,
    output: Path
) -> None:
    panels: list[tuple[str, Callable[[Any], None]]] = []
    for unit in bases(ipc):
        rows = [row for row in ipc if row.unit == unit]
        panels.append((f"{TITLES[IPC]}, {rows[0].unit} of the kernel", partial(_bars, rows=rows)))
    for figure in (FORK_JOIN, WAKE):
        if rows_of := [row for row in joins if row.figure == figure]:
            panels.append((TITLES[figure], partial(_joins, rows=rows_of)))
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
        panels.append((f"{TITLES[UNMAP]}: one core", partial(_unmaps, lines=_by_name(counted))))
    return panels


def _lines(axes: Any, lines: Mapping[str, Sequence[Row]], at: Callable[[Row], int], value: Callable[[Row], float],
           by: float = 1) -> None:
    """Draws a line for each series, `by` times its values, and the range of each."""
    for number, (name, rows) in enumerate(lines.items()):
        mine = sorted(rows, key=at)
        axes.plot([at(row) for row in mine], [by * value(row) for row in mine], marker=MARKERS[number % len(MARKERS)],
                  markersize=4, label=name)
        if known := [(at(row), row.range) for row in mine if row.range]:
            axes.fill_between([n for n, _ in known], [by * low for _, (low, _) in known],
                              [by * high for _, (_, high) in known], color=f"C{number % 10}", alpha=0.15, linewidth=0)
    axes.set_ylim(bottom=0)


def _by_name(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {name: [row for row in rows if row.series.name == name]
            for name in dict.fromkeys(row.series.name for row in rows)}


def _joins(axes: Any, rows: Sequence[ForkJoin]) -> None:
    _lines(axes, _by_name(rows), lambda row: row.cores, lambda row: row.latency.running)
    axes.set(xlabel="cores", ylabel="cycles from the first signal until the last worker runs")


def _unmaps(axes: Any, lines: Mapping[str, Sequence[Unmap]]) -> None:
    _lines(axes, lines, lambda row: row.calls.pages, lambda row: row.calls.mapping)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("pages that one call protects")
    *_, last = lines.values()
    axes.set_ylabel(f"{last[0].unit} of a mapping" if last else "")


def _loads(axes: Any, rows: Sequence[Load]) -> None:
    _lines(axes, _by_name(rows), lambda row: row.point.cores, lambda row: row.point.throughput, UNIT)
    axes.set(xlabel="cores", ylabel=f"kernel entries in {UNIT:,} cycles")
