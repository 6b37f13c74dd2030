# SPDX-License-Identifier: BSD-2-Clause
"""One-way IPC under each lock as tables and as Figure 3."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from deploy.bench.ipc.measure import FIGURE, FIGURE_RATIOS, ONE_WAY, OPERATIONS, SEL4, SEL4_ONE_CORE, SEL4_SMP, Measured
from deploy.bench.regimes import BASELINE
from deploy.results.figure import publish, subplots
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

    return [text(SEL4_SMP), text(SEL4_ONE_CORE)]


def _caption(measured: Sequence[Measured], counted: bool) -> str:
    baseline = measured[0]
    lines = [f"Medians of {baseline.rounds:,} rounds; client and server in two address spaces, of equal priority."]
    if counted:
        lines[0] += " SYSCALL is not counted, SYSRET is."
        lines.append(f"* {SEL4}: for reference, not measured here.")
    elif baseline.modelled:
        lines.append("Modelled cycles. One core moves no line to another: half and double line costs change no figure.")
    elif baseline.emulated:
        lines.append("Emulated time: only ratios mean something, and little; --icount counts instructions.")
    if baseline.emulated and not baseline.modelled and any(one.lock == "rtm" for one in measured):
        lines.append("The emulator has no transactions: rtm ran as what it falls back to, clh.")
    return "\n".join([*lines, textwrap.fill(f"Stands for {FIGURE}", 120)])


_PARTS = (("call", "Call", "#1b6ca8"), ("reply_recv", "ReplyRecv", "#d97925"), (ONE_WAY, "mean", "#5a9e4b"))


def plot_ipc(measured: Sequence[Measured], mode: str, output: Path) -> None:
    first = measured[0]
    figure, axes = subplots(figsize=(3.0 + 1.6 * len(measured), 4.4))
    width = 0.26
    for number, (name, label, colour) in enumerate(_PARTS):
        places = [x + (number - 1) * width for x in range(len(measured))]
        heights = [one.spread[name].median for one in measured]
        bars = axes.bar(places, heights, width, label=label, color=colour)
        base = first.spread[name].median
        axes.bar_label(bars, [f"{h:,g}\n×{h / base:.2f}" if base > 0 else f"{h:,g}" for h in heights], size=7)
    names = []
    for one in measured:
        paper = FIGURE_RATIOS.get(one.lock)
        names.append(f"{one.lock}\n(paper: ×{paper:.2f})" if paper else one.title)
    axes.set_xticks(range(len(measured)), names)
    axes.set_ylabel(f"kernel {first.unit}, one way")
    axes.margins(y=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    note = "Elphinstone et al., Figure 3 (there in cycles of a real machine)"
    # counted ones are exact
    emulated = "emulated: compare ratios only\n" if first.emulated and first.unit != "instructions" else ""
    wrapped = textwrap.fill(mode, width=int(22 * figure.get_figwidth()))
    publish(figure, output, "One-way IPC without words, one core", f"{note}\n{emulated}{wrapped}", 0.12, 0.97)
