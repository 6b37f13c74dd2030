# SPDX-License-Identifier: BSD-2-Clause
"""A profile as tables: by program and component, and the functions that take the most."""

from __future__ import annotations

from collections.abc import Mapping

from rich.markup import escape
from rich.table import Table

from deploy.profile.components import group
from deploy.profile.tally import Profile
from deploy.results.tables import plain_table
from topology.units import MIB

REPEATED = "rep movs, stos"  # string instructions: the emulator counts each step, a processor one instruction

SPEED = "requests for each second of the emulator's processor time, without the plugin, on this host"


def _table(profile: Profile, title: str, *names: str) -> Table:
    return plain_table(title, (f"instructions/{profile.unit}", "share", *names), left=names)


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
    if profile.repeated:
        table.add_row(*_figures(profile, profile.repeated), "of these steps", "", REPEATED)
    return table


def functions(profile: Profile, title: str, most: int) -> Table:
    table = _table(profile, title, "program", "component", "function")
    for line in profile.lines[:most]:
        table.add_row(*_figures(profile, line.instructions), escape(line.program), line.component,
                      escape(line.function))
    rest = sum(line.instructions for line in profile.lines[most:])
    if rest:
        table.add_section()
        table.add_row(*_figures(profile, rest), f"{len(profile.lines) - most} others")
    return table


def compared(
    name: str, counted: Profile, other_name: str, other: Profile,
    metrics: tuple[Mapping[str, float], Mapping[str, float]] = ({}, {}), title: str = "An operation",
) -> Table:  # fmt: skip
    """Two systems that did the same; `metrics` of both, for the memory of an instance and what the host measures."""
    first = f"instructions/{counted.unit}"
    table = plain_table(f"{title}: {name} beside {other_name}  (counted, emulated)",
                        (first, name, other_name, f"{other_name} / {name}"), left=(first,))
    a, b = counted.by_group(), other.by_group()
    for each in dict.fromkeys((*a, *b)):
        table.add_row(each, *_pair(a.get(each), b.get(each), ",.0f"))
    table.add_section()
    table.add_row("all", *_pair(counted.instructions / counted.operations, other.instructions / other.operations,
                                ",.0f"), style="bold")
    if counted.repeated or other.repeated:
        once = [(profile.instructions - profile.repeated) / profile.operations for profile in (counted, other)]
        table.add_row(f"all but steps of {REPEATED}", *_pair(once[0], once[1], ",.0f"))
    memory = [figures["memory_per_instance"] / MIB if "memory_per_instance" in figures else None for figures in metrics]
    if any(memory):
        table.add_row("resident memory of an instance, MiB", *_pair(memory[0], memory[1], ",.1f"))
    speed = [figures.get("requests_per_cpu_s") for figures in metrics]
    if all(speed):
        table.add_section()
        table.add_row(SPEED, *_pair(speed[0], speed[1], ",.0f"))
    return table


def _pair(a: float | None, b: float | None, form: str) -> tuple[str, str, str]:
    return *("-" if value is None else f"{value:{form}}" for value in (a, b)), f"{b / a:.2f}" if a and b else "-"  # type: ignore[return-value]
