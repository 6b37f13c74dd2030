# SPDX-License-Identifier: BSD-2-Clause
"""A profile as tables: by program and component, and the functions that take the most."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from deploy.profile.components import group
from deploy.profile.tally import Profile


def _table(profile: Profile, title: str, *names: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(f"instructions/{profile.unit}", justify="right")
    table.add_column("share", justify="right")
    for name in names:
        table.add_column(name)
    return table


def _figures(profile: Profile, instructions: float) -> tuple[str, str]:
    return f"{instructions / profile.operations:,.1f}", f"{instructions / profile.instructions:.1%}"


def components(profile: Profile, title: str) -> Table:
    table = _table(profile, title, "program", "component", "group")
    for (program, component), instructions in profile.by("program", "component").most_common():
        table.add_row(*_figures(profile, instructions), escape(program), component, group(component))
    table.add_section()
    for name, of_operation in profile.by_group().items():
        table.add_row(*_figures(profile, of_operation * profile.operations), "", "", name)
    table.add_section()
    table.add_row(*_figures(profile, profile.instructions), "all", style="bold")
    return table


def functions(profile: Profile, title: str, most: int) -> Table:
    table = _table(profile, title, "program", "component", "function")
    for line in profile.lines[:most]:
        table.add_row(*_figures(profile, line.instructions), escape(line.program), line.component, escape(line.function))
    rest = sum(line.instructions for line in profile.lines[most:])
    if rest:
        table.add_section()
        table.add_row(*_figures(profile, rest), f"{len(profile.lines) - most} others")
    return table
