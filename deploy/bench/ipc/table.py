# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench ipc` as a table."""

import textwrap
from collections.abc import Mapping, Sequence

from rich.table import Table

from deploy.bench.ipc import reference
from deploy.bench.ipc.measure import ONE_WAY, OPERATIONS, Measured
from deploy.bench.regimes import BASELINE
from deploy.results.kinds import bracketed
from deploy.results.tables import plain_table
from topology.model.papers import ELPHINSTONE, FIGURE_3, PETERS, PETERS_FIGURE_1


def _cell(measured: Measured, name: str, exact: bool) -> str:
    """The median; the range where rounds of counted instructions differ."""
    value = measured.spread[name]
    text = f"{value.median:,g}"
    return f"{text} [{value.least:,g}..{value.most:,g}]" if exact and value.least != value.most else text


def ipc_table(measured: Sequence[Measured]) -> Table:
    """A row for each operation; seL4's figures stand there only where instructions are counted."""
    baseline = measured[0]
    counted = baseline.unit == "instructions"
    emulated = bracketed(baseline.emulated, baseline.modelled.name if baseline.modelled else None)
    columns = [column for one in measured
               for column in (one.title, *([f"/ {BASELINE}"] if one.lock != BASELINE else []))]
    table = plain_table(f"Kernel {baseline.unit} from system-call entry to exit, one way, one core{emulated}",
                        ("", *columns), note=_caption(measured, counted))
    if counted:
        table.add_column("seL4 SMP*", justify="right", style="dim")
        table.add_column("seL4, no lock*", justify="right", style="dim")
    for name, title in (OPERATIONS | {ONE_WAY: "One way: mean of Call and ReplyRecv, no words"}).items():
        if name in ("reply_recv", "slow_call", "slow_reply_recv", "signal", ONE_WAY):
            table.add_section()
        table.add_row(title, *_cells(measured, name, counted), *(_sel4(name) if counted else ()))
    return table


def published_table(measured: Sequence[Measured]) -> Table | None:
    """The papers' ratios beside these; None where none of these regimes is in the papers."""
    published = [one for one in measured if one.lock in FIGURE_3]
    if not published:
        return None
    base = measured[0].spread[ONE_WAY].median
    table = plain_table(f"IPC over {BASELINE}, beside the papers, whose cycles are real machines'",
                        ("", "ours", ELPHINSTONE, "ours/paper", PETERS, "ours/paper"), note=_sources(published))
    for one in published:
        ours = one.spread[ONE_WAY].median / base if base > 0 else 0.0
        cells = []
        for value in (FIGURE_3[one.lock].value, PETERS_FIGURE_1[one.lock].value):
            cells += [f"{value:.2f}", f"{ours / value:.3f}" if ours else "-"]
        table.add_row(one.lock, f"{ours:.3f}" if ours else "-", *cells)
    return table


def _sources(published: Sequence[Measured]) -> str:
    sources = dict.fromkeys(paper[one.lock].source for paper in (FIGURE_3, PETERS_FIGURE_1) for one in published)
    return "; ".join(sources) + ": a 2 x 14 Xeon E5-2683 v3, and a Core i7-4770."


def _cells(measured: Sequence[Measured], name: str, counted: bool) -> list[str]:
    cells = []
    base = measured[0].spread[name].median
    for one in measured:
        cells.append(_cell(one, name, counted))
        if one.lock != BASELINE:
            cells.append(f"{one.spread[name].median / base:.3f}" if base > 0 else "-")
    return cells


def _sel4(name: str) -> list[str]:
    def text(table: Mapping[str, int]) -> str:
        if name == ONE_WAY:
            return f"{(table['call'] + table['reply_recv']) / 2:,g}"
        return str(table.get(name, ""))

    return [text(reference.SEL4_SMP), text(reference.SEL4_ONE_CORE)]


def _caption(measured: Sequence[Measured], counted: bool) -> str:
    baseline = measured[0]
    lines = [f"Medians of {baseline.rounds:,} rounds; client and server in two address spaces, of equal priority."]
    if counted:
        lines[0] += " SYSCALL is not counted, SYSRET is."
        lines.append(f"* {reference.SEL4}: for reference, not measured here.")
    elif baseline.modelled:
        lines.append("Modelled cycles. One core moves no line to another: half and double line costs change no figure.")
    elif baseline.emulated:
        lines.append("Emulated time: only ratios mean something, and little; --icount counts instructions.")
    if baseline.emulated and not baseline.modelled and any(one.lock == "rtm" for one in measured):
        lines.append("The emulator has no transactions: rtm ran as what it falls back to, clh.")
    return "\n".join([*lines, textwrap.fill(f"Stands for {reference.FIGURE}", 120)])
