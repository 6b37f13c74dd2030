# SPDX-License-Identifier: BSD-2-Clause
"""Boxes, lines and words as SVG that follows the reader's choice of light or dark."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1b1f24; }
.head { font-weight: 600; } .small { font-size: 11.5px; } .faint { fill: #57606a; }
.box { fill: #ffffff; stroke: #57606a; stroke-width: 1; }
.first { fill: #4477aa2b; stroke: #4477aa; stroke-width: 1.5; } .second { fill: #d5782a2b; stroke: #d5782a; stroke-width: 1.5; stroke-dasharray: 7 3; }
.first-bar { fill: #1f4e79; stroke: #57606a; } .second-bar { fill: #f2b27a; stroke: #57606a; }
.line { stroke: #1b1f24; stroke-width: 1.5; fill: none; } .tip { fill: #1b1f24; }
@media (prefers-color-scheme: dark) {
text { fill: #e6e8eb; } .faint { fill: #a3abb6; } .box { fill: #1e2227; stroke: #a3abb6; } .line { stroke: #e6e8eb; } .tip { fill: #e6e8eb; }
}
"""


@dataclass
class Drawing:
    width: float
    height: float
    title: str
    words: str  # a description for those who do not see it
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box") -> None:
        self.parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>')

    def bar(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        self.parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>')

    def text(self, x: float, y: float, words: str, kind: str = "", middle: bool = False) -> None:
        anchor = ' text-anchor="middle"' if middle else ""
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}"{anchor}>{escape(words)}</text>')

    def line(self, *points: tuple[float, float], both: bool = False) -> None:
        """With an arrow's tip at its end, or at both ends."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        start = ' marker-start="url(#tip)"' if both else ""
        self.parts.append(f'<polyline class="line" points="{path}" marker-end="url(#tip)"{start}/>')

    def svg(self) -> str:
        return "\n".join([
            "<!-- SPDX-License-Identifier: BSD-2-Clause -->",
            "<!-- Made by build/venv/bin/python -m deploy.cli.documents; do not edit. -->",
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" role="img" aria-labelledby="t d">',
            f'<title id="t">{escape(self.title)}</title><desc id="d">{escape(self.words)}</desc>',
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
            '<path class="tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>',
            *self.parts,
            "</svg>",
        ]) + "\n"  # fmt: skip
