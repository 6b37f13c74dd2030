# SPDX-License-Identifier: BSD-2-Clause
"""The look of all tables of results: title and note on the left, numbers on the right."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from rich.table import Table


def plain_table(title: str, columns: Iterable[str], left: Collection[str] = ("",), note: str | None = None,
                **more: Any) -> Table:
    """`left`: columns of words. `more`: as rich has it."""
    table = Table(title=title, title_justify="left", title_style="bold", **more)
    if note is not None:
        table.caption, table.caption_justify = note, "left"
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right")
    return table
