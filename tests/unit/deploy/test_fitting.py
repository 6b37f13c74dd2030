# SPDX-License-Identifier: BSD-2-Clause
"""Wide tables in narrow terminals."""

from __future__ import annotations

import io

import pytest
from rich import box
from rich.console import Console
from rich.table import Table

from deploy.base.table_layout import parts

ROWS = ("Call, no words", "One way: half a round trip, of 100 in a row")
VALUES = ["67.7 [66.4..71.2]", "1.033"]


def wide(columns: int) -> Table:
    table = Table(title="Cycles", caption="Medians.", title_justify="left")
    table.add_column("")
    for number in range(columns):
        table.add_column(f"regime-{number}", justify="right")
        table.add_column(f"/ none{number}", justify="right")
    for row in ROWS:
        table.add_row(row, *VALUES * columns, end_section=row == ROWS[0])
    return table


def printed(table: Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    for part in parts(table, console):
        console.print(part)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("width", [60, 80, 150])
def test_split(width: int) -> None:
    """a table that is too wide comes in parts: each names the rows, no word is cut off, every column is there once"""
    text = printed(wide(7), width)
    assert "…" not in text and max(map(len, text.splitlines())) <= width, text
    assert text.count("Cycles") == 1 and text.count("Medians.") == 1
    many = text.count("Call, no") + text.count("Call,  ")
    assert many == len(parts(wide(7), Console(width=width, file=io.StringIO()))) > 1
    for number in range(7):
        assert text.count(f"regime-{number}") == 1 and text.count(f"none{number}") == 1
    assert text.count("[66.4..71.2]") == text.count("67.7 ") == 7 * len(ROWS) and text.count("1.033") == 7 * len(ROWS)
    assert text.count("├") == many  # the line between the sections


def test_whole() -> None:
    """one that fits is left as it is, and so is one that has nothing to leave out"""
    console = Console(width=80, file=io.StringIO())
    fits, hopeless = wide(1), Table("", "x" * 100, box=box.SIMPLE)
    assert parts(fits, console) == [fits]
    hopeless.add_row("a", "b")
    assert [part.columns[1].header for part in parts(hopeless, console)] == ["x" * 100]


def test_row_names() -> None:
    """the columns up to one without a header name the rows, and stand in each part"""
    table = Table("delay", "cores", "", *(f"{'long' * 6}{n}" for n in range(4)))
    table.add_row("125", "2", "clh", *"abcd")
    found = parts(table, Console(width=60, file=io.StringIO()))
    assert len(found) == 4 and all([str(c.header) for c in part.columns][:3] == ["delay", "cores", ""] for part in found)
