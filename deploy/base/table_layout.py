# SPDX-License-Identifier: BSD-2-Clause
"""Fits wide tables into narrow terminals: in parts, one below the other, each with the columns that name its rows.

Rich by itself shortens the widest columns evenly, and cuts figures off while there is room in other columns.
"""

import copy

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Column, Table

NAME = 24  # a column of names is not made narrower than this, unless it is by itself


def parts(table: Table, console: Console) -> list[Table]:
    """The table, or parts of it that fit: headers and names may wrap between words, and no figure does.

    The title stands above the first part, the caption below the last. A part has at least one column that names no row.
    """
    named, first, tables = _naming(table), _naming(table), []
    whole = _fitted(table, console)
    if whole or named >= len(table.columns):
        return [whole or table]
    while first < len(table.columns):
        part = _with_columns(table, named, first, first + 1)
        part = _fitted(part, console) or part
        end = first + 1
        while end < len(table.columns) and (wider := _fitted(_with_columns(table, named, first, end + 1), console)):
            part, end = wider, end + 1
        tables.append(part)
        first = end
    for part in tables[1:]:
        part.title = None
    for part in tables[:-1]:
        part.caption = None
    return tables


def _naming(table: Table) -> int:
    """Returns how many columns name the rows: those up to the last one without a header, which has names, or else the
    first."""
    return max((number for number, column in enumerate(table.columns, 1) if not str(column.header)), default=1)


def _fitted(table: Table, console: Console) -> Table | None:
    """The table if it fits as it is; a copy with widths for its columns; None if it cannot fit."""
    wide = console.options.update(max_width=10_000)

    def measure(what: RenderableType) -> Measurement:
        return Measurement.get(console, wide, what)

    most = [max(measure(cell).maximum for cell in (column.header, *column.cells)) for column in table.columns]
    room = console.width - (measure(table).maximum - sum(most))
    if sum(most) <= room:
        return table
    widths = [_least(column, measure(column.header).minimum, console) for column in table.columns]
    left = room - sum(widths)
    if left < 0:
        return None
    for number in sorted(range(len(most)), key=lambda number: most[number] - widths[number]):
        more = min(left, most[number] - widths[number])
        widths[number] += more
        left -= more
    fitted = _with_columns(table, 0, 0, len(most))
    for column, width in zip(fitted.columns, widths, strict=True):
        column.width = width
    return fitted


def _least(column: Column, header: int, console: Console) -> int:
    """Its narrowest width: figures stay whole, and so do words."""
    cells = [Measurement.get(console, console.options.update(max_width=10_000), cell) for cell in column.cells]
    longest, word = max((cell.maximum for cell in cells), default=0), max((cell.minimum for cell in cells), default=0)
    return max(header, longest if column.justify == "right" else max(word, min(longest, NAME)))


def _with_columns(table: Table, named: int, first: int, end: int) -> Table:
    """Returns the table with the columns that name rows, and those from `first` to before `end`."""
    part = copy.copy(table)
    part.columns, part.rows = [], []
    columns = [*table.columns[:named], *table.columns[first:end]]
    for column in columns:
        part.add_column(
            column.header, column.footer, header_style=column.header_style, style=column.style, justify=column.justify,
            overflow=column.overflow, no_wrap=column.no_wrap,
        )  # fmt: skip
    for row, cells in zip(table.rows, zip(*(column.cells for column in columns), strict=True), strict=True):
        part.add_row(*cells, style=row.style, end_section=row.end_section)
    return part
