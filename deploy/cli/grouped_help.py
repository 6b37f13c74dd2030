# SPDX-License-Identifier: BSD-2-Clause
"""The options of a help page in groups, where they are many. Pages of few options have one list."""

from __future__ import annotations

from collections.abc import Mapping

import click
from typer.core import TyperCommand

MANY = 14  # options, from which on a page is in groups
FIRST = "Options"  # whatever is in no other group
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Machine": ("--sockets", "--cores", "--memory", "--topology", "--smt", "--machine", "--driver"),
    "Clusters and kernels": ("--layout", "--lock", "--switch", "--metrics", "--stat"),
    "Load": ("--workload", "--records", "--operations", "--clients", "--value-size", "--delay", "--delays"),
    "Emulator": ("--accel", "--icount", "--boot", "--uefi", "--timeout", "--gdb"),
    "Output": ("--verbose", "--plot", "--quiet", "--json", "--help"),
}


def group_of(parameter: click.Parameter) -> str:
    return next((group for group, names in GROUPS.items() if not {*parameter.opts}.isdisjoint(names)), FIRST)


class GroupedCommand(TyperCommand):
    """A command, its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        by_group: dict[str, list[tuple[str, str]]] = {"Arguments": [], FIRST: [], **{group: [] for group in GROUPS}}
        options = [p for p in self.get_params(ctx) if p.param_type_name == "option"]
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                place = (
                    "Arguments" if parameter not in options else group_of(parameter) if len(options) >= MANY else FIRST
                )
                by_group[place].append(record)
        for title, records in by_group.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
