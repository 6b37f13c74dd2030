# SPDX-License-Identifier: BSD-2-Clause
"""A profile as a flame graph: one self-contained SVG. Width is instructions; from below: all, program, component,
function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from deploy.profile.tally import Line, Profile

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
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="26" font-size="15">{escape(title)}</text>',
        *drawn,
        "</svg>",
    ]) + "\n"  # fmt: skip
