# SPDX-License-Identifier: BSD-2-Clause
"""The look of all tables of results: title and note on the left, numbers on the right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from rich.table import Table

_Cell = TypeVar("_Cell")


def plain_table(title: str, columns: Iterable[str], left: Collection[str] = ("",), note: str | None = None,
                **more: Any) -> Table:
    """`left`: columns of words. `more`: as rich has it."""
    table = Table(title=title, title_justify="left", title_style="bold", **more)
    if note is not None:
        table.caption, table.caption_justify = note, "left"
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right")
    return table


def add_rows(table: Table, cells: Mapping[tuple[Any, Any], _Cell], columns: Sequence[Any],
             text: Callable[[_Cell], str], rows: Iterable[Any] | None = None) -> Table:
    """Adds a row for each of `rows`, by default all in order; `cells` are by row and column. Returns the table."""
    for row in sorted({row for row, _ in cells}) if rows is None else rows:
        table.add_row(str(row), *(text(cells[row, column]) if (row, column) in cells else "-" for column in columns))
    return table
