# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench dynamic` as tables, with the paper's figures beside ours, and what follows from them in a line each."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

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
    ForkJoin,
    Ipc,
    Load,
    bases,
    crossing,
    pairs as joined_pairs,
    published_ipc,
)
from deploy.results.tables import plain_table
from topology.model.papers import UHLIG, UHLIG_FIGURE_6, UHLIG_FIGURE_7, UHLIG_MACHINE

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
    "Core 0 signals a worker on each other core, whose cores are halted: from before the first signal until the last "
    "worker runs at user level; medians. 'signals made': until the coordinator has made all signals. How long an "
    "interrupt takes to another core is an assumed price of the machine file (ipi). In brackets: under half and double "
    "line costs. In 'messages' each worker's notification is at home on its core: the coordinator's call travels "
    "there, and comes back. The paper has no points of single series in its text."
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
    table = noted_table(
        f"{TITLES[FORK_JOIN]}, cycles until the last worker runs (modelled: {rows[0].machine.name})", FORK_JOIN_NOTE,
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
    by = {(row.series.name, row.point.cores): row for row in rows}
    for cores in sorted({row.point.cores for row in rows}):
        having = (by.get((name, cores)) for name in names)
        table.add_row(str(cores), *(f"{UNIT * row.point.throughput:.3f}{range_text(row.range, 3, UNIT)}" if row else "-"
                                    for row in having))
    return table


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
