# SPDX-License-Identifier: BSD-2-Clause
"""The options of a help page in groups, where they are many. Pages of few options have one list."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

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


def _renamed(args: Sequence[str], own: Collection[str]) -> Iterator[str]:
    """The arguments, former names replaced up to `--`."""
    for number, word in enumerate(args):
        name, equals, value = word.partition("=")
        former = name in FORMER and name not in own and FORMER[name] in own and "--" not in args[:number]
        yield f"{FORMER[name]}{equals}{value}" if former else word


# Names of the version before, which are still taken and no longer shown.
FORMER = {"--patience": "--failure-timeout", "--pong": "--readiness", "--no-pong": "--no-readiness"}


class GroupedCommand(TyperCommand):
    """A command, its options under headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Takes former names of options, where this command has the option."""
        own = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
        return super().parse_args(ctx, list(_renamed(args, own)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found: dict[str, list[tuple[str, str]]] = {"Arguments": [], FIRST: [], **{group: [] for group in GROUPS}}
        options = [p for p in self.get_params(ctx) if p.param_type_name == "option"]
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                place = "Arguments" if parameter not in options else group_of(parameter) if len(options) >= MANY else FIRST
                found[place].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
