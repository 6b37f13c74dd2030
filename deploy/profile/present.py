# SPDX-License-Identifier: BSD-2-Clause
"""A profile as tables and as a flame graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from rich.markup import escape as markup
from rich.table import Table

from deploy.profile.components import group
from deploy.profile.tally import Line, Profile
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
        table.add_row(*_figures(profile, instructions), markup(program), component, group(component))
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
        table.add_row(*_figures(profile, line.instructions), markup(line.program), line.component,
                      markup(line.function))
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
    first, second = ("-" if value is None else f"{value:{form}}" for value in (a, b))
    return first, second, f"{b / a:.2f}" if a and b else "-"


WIDTH, ROW, MARGIN, HEADER = 1200, 18, 10, 44  # pixels
_LETTER = 6.6  # pixels of one, about
_NARROWEST = 0.3  # pixels: what is narrower is not drawn
_LEVELS = ("program", "component", "function")
_HUES = {"program": 210, "component": 35, "function": 15}


@dataclass(frozen=True)
class Box:
    level: int  # 0 is the lowest
    start: int  # instructions before it
    size: int
    name: str
    kind: str


def boxes(lines: Sequence[Line]) -> Iterator[Box]:
    """Yields the boxes level by level; boxes on the same one below stand beside each other, the widest first."""
    yield Box(0, 0, sum(line.instructions for line in lines), "all", "program")
    yield from _above(lines, 0, 0)


def _above(lines: Sequence[Line], level: int, start: int) -> Iterator[Box]:
    if level == len(_LEVELS):
        return
    parts: dict[str, list[Line]] = {}
    for line in lines:
        parts.setdefault(getattr(line, _LEVELS[level]), []).append(line)
    sizes = {name: sum(line.instructions for line in part) for name, part in parts.items()}
    for name in sorted(parts, key=lambda name: -sizes[name]):
        yield Box(level + 1, start, sizes[name], name, _LEVELS[level])
        yield from _above(parts[name], level + 1, start)
        start += sizes[name]


def _colour(box: Box) -> str:
    return f"hsl({_HUES[box.kind] + sum(box.name.encode()) % 25} 70% {62 + sum(box.name.encode()) % 16}%)"


def _drawn(box: Box, profile: Profile, scale: float, height: int) -> str:
    x, y, width = MARGIN + box.start * scale, height - MARGIN - (box.level + 1) * ROW, box.size * scale
    label = (
        f"{box.name}: {box.size / profile.operations:,.1f} instructions/{profile.unit}, "
        f"{box.size / profile.instructions:.1%}"
    )
    letters = int((width - 4) / _LETTER)
    name = box.name if len(box.name) <= letters else box.name[: letters - 1] + "…" if letters > 3 else ""
    text = f'<text x="{x + 3:.1f}" y="{y + 13}">{escape(name)}</text>' if name else ""
    rectangle = f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}" fill="{_colour(box)}"/>'
    return f"<g><title>{escape(label)}</title>{rectangle}{text}</g>"


def svg(profile: Profile, title: str) -> str:
    scale = (WIDTH - 2 * MARGIN) / max(1, profile.instructions)
    height = HEADER + (len(_LEVELS) + 1) * ROW + MARGIN
    drawn = [_drawn(box, profile, scale, height) for box in boxes(profile.lines) if box.size * scale >= _NARROWEST]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'font-size="12">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="26" font-size="15">{escape(title)}</text>',
        *drawn,
        "</svg>",
    ]) + "\n"  # fmt: skip
