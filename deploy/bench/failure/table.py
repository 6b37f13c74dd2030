# SPDX-License-Identifier: BSD-2-Clause
"""Kills as a table: each figure of each way of failing, its goals beside."""

from __future__ import annotations

from statistics import median

from rich.table import Table

from deploy.bench.failure.cost import Cost
from deploy.bench.failure.measure import COUNTED, FIGURES, HOST, SAID, TICKS, Figure, Measured, goals
from deploy.results.tables import plain_table

_NOTE = (
    f"Clock: {HOST}, seen from outside, up to 100 ms of it before the cluster obeys; {TICKS}, the machine's as its "
    f"managers\n"
    "report it, in ticks of at most 50 ms. Stall: the longest answer from the order to the PONG, less the longest of "
    "the calm\n"
    "seconds before it, which are fewer: rather too long than too short. Goals: emulated on an idle host; KVM and "
    "metal."
)


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 1 or value == 0 else f"{value:.2f} ms"


def _row(measured: Measured, how: str, figure: Figure) -> tuple[str, ...]:
    job = measured.job
    values, (emulated, metal) = measured.values(how, figure), goals(figure, how, job.first, job.silence)
    goal = emulated if job.accel.emulated else metal
    if figure.clock == COUNTED:
        total = sum(values)
        return figure.title, figure.clock, f"{total:,.0f}", "", f"{emulated:g}", f"{metal:g}", _met(total <= goal)
    if not values:
        return figure.title, figure.clock, "-", "-", _ms(emulated), _ms(metal), ""
    return (
        figure.title, figure.clock, _ms(median(values)), _ms(max(values)), _ms(emulated), _ms(metal),
        _met(median(values) <= goal),
    )  # fmt: skip


def _met(met: bool) -> str:
    return "met" if met else "no"


def failure_table(measured: Measured, cost: Cost | None) -> Table:
    emulated = "  (emulated)" if measured.job.accel.emulated else ""
    ended = "The first cluster" if measured.job.first else "A cluster"
    table = plain_table(f"{ended} fails: median and worst of {measured.job.repeats}{emulated}",
                        ("figure", "clock", "median", "worst", "goal", "KVM, metal", "met"),
                        ("figure", "clock", "met"), _NOTE)
    for column in table.columns:
        column.style = "dim" if column.header in ("clock", "goal", "KVM, metal") else ""
    for how in measured.job.ways:
        if not measured.of(how):
            continue
        table.add_section()
        table.add_row(SAID[how], style="bold")
        for figure in FIGURES:
            table.add_row(*_row(measured, how, figure))
    table.add_section()
    table.add_row("all", style="bold")
    table.add_row(
        f"false alarms, in {measured.seconds / 60:.1f} min of this", COUNTED, f"{measured.false_alarms}", "",
        "0 an hour", "0 an hour", _met(not measured.false_alarms),
    )  # fmt: skip
    for name, count in measured.alarms.items():
        row = (
            f"false alarms, in {measured.job.quiet / 60:.1f} min {name}", COUNTED, f"{count}", "", "0 an hour",
            "0 an hour", _met(not count)
        )
        table.add_row(*row)
    if cost:
        table.add_row(
            "instructions/operation to be ready", COUNTED, f"{100 * cost.more:+.2f} %", "",
            f"{100 * cost.GOAL:+g} %", "", _met(cost.more <= cost.GOAL),
        )  # fmt: skip
        table.add_row("of all, in functions that watch", COUNTED, f"{100 * cost.watching:.3f} %", "", "", "", "")
    return table
