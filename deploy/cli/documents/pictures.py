# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of docs/, as SVG that follows the reader's choice of light or dark: the machine, the way of a request,
the comparison's result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from deploy.cli.documents import result

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
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" role="img" aria-labelledby="t d">',
            f'<title id="t">{escape(self.title)}</title><desc id="d">{escape(self.words)}</desc>',
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse">'
            '<path class="tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>',
            *self.parts,
            "</svg>",
        ]) + "\n"  # fmt: skip


def machine() -> str:
    """Two clusters of one machine."""
    width, height = 760, 330
    made = Drawing(width, height, "The machine",
                   "Two clusters, one on each socket. Each has its own kernel under its own lock, a manager, a switch "
                   "and programs on its cores. Only declared message channels with doorbells join them.")
    for place, kind in enumerate(("first", "second")):
        x = 10 + place * 420
        made.box(x, 10, 320, 310, kind)
        made.text(x + 14, 34, f"cluster {place}", "head")
        made.text(x + 306 - 120, 34, f"socket {place}, shared L3", "small faint")
        for column in range(3):
            left = x + 14 + column * 99
            made.box(left, 46, 93, 112)
            core = column + 3 * place
            programs = ("switch", "driver" if place == 0 else "", "") if column == 0 else ("Redis", "lwIP", "client")
            made.text(left + 46, 66, f"core {core}", "head small", middle=True)
            for line, name in enumerate(filter(None, programs)):
                made.text(left + 46, 90 + 22 * line, name, "small", middle=True)
        made.box(x + 14, 168, 292, 40)
        made.text(x + 160, 193, "manager: the first task", "small", middle=True)
        made.box(x + 14, 218, 292, 46)
        made.text(x + 160, 238, "cluster-kernel", "head small", middle=True)
        made.text(x + 160, 256, "one lock: clh, mcs, ticket, rtm or fine", "small", middle=True)
        made.text(x + 160, 290, "memory of its own", "small", middle=True)
    made.line((334, 188), (426, 188), both=True)
    made.text(380, 166, "channels", "small", middle=True)
    made.text(380, 180, "of messages", "small", middle=True)
    made.line((334, 241), (426, 241), both=True)
    made.text(380, 231, "doorbells", "small", middle=True)
    made.text(380, 272, "nothing else", "small faint", middle=True)
    made.text(380, 287, "is shared", "small faint", middle=True)
    return made.svg()


STEPS = (
    ("YCSB client", "write()"),
    ("its lwIP", "a frame into its port's ring"),
    ("switch", "finds the port by MAC"),
    ("server's lwIP", "TCP, into the socket"),
    ("Redis", "epoll_wait, read, write"),
)


def request() -> str:
    """From a client to Redis and back."""
    width, height = 760, 218
    made = Drawing(width, height, "The way of a request",
                   "A client writes; its lwIP puts a frame into a ring; the switch passes it on, over a channel where "
                   "the server is in another cluster; the server's lwIP gives the bytes to Redis. The answer goes the "
                   "same way back. Frames lie in shared memory; only wake-ups enter a kernel.")  # fmt: skip
    for place, (name, does) in enumerate(STEPS):
        x = 8 + place * 151
        made.box(x, 44, 128, 62, "box")
        made.text(x + 64, 68, name, "head", middle=True)
        if len(does) <= 20:
            made.text(x + 64, 90, does, "small", middle=True)
        else:
            half = does.rfind(" ", 0, 17)
            made.text(x + 64, 86, does[:half], "small", middle=True)
            made.text(x + 64, 100, does[half + 1 :], "small", middle=True)
        if place:
            made.line((x - 22, 66), (x - 2, 66))
            made.line((x - 2, 86), (x - 22, 86))
    made.text(8, 24, "request →", "small faint")
    made.text(680, 24, "← answer", "small faint")
    made.box(8, 128, 732, 30, "first")
    made.text(374, 148, "rings in shared memory: frames are read where they lie, checked, never trusted", "small",
              middle=True)
    made.box(8, 168, 732, 40, "second")
    made.text(374, 185, "kernel: wakes the thread that sleeps at the other end. Same kernel: a notification.", "small",
              middle=True)
    made.text(374, 201, "Another kernel: a doorbell, and an interrupt to one of its cores.", "small", middle=True)
    return made.svg()


PANELS = (
    ("ops_per_s", "operations per second", "{:,.0f}"),
    ("p99_us", "p99 latency, µs", "{:,.0f}"),
    ("lock_conflict_ratio", "entries that find the lock taken", "{:.0%}"),
)


def comparison() -> str:
    """The result, from the recorded run. Bars of two colours that differ in grey; the ratio's intervals are in the
    heading."""
    document = result.known()
    results, (ratio,) = document["results"], document["ratios"]
    texts = [f"{r['layout']}: " + ", ".join(f"{name} {form.format(result.figure(r, key))}"
                                            for key, name, form in PANELS) for r in results]
    made = Drawing(760, 214, "One kernel per socket beside one for the machine", "; ".join(texts))
    median, images, prices = result.intervals()
    made.text(8, 22, f"{ratio['of']} does {median:.2f} times the operations of {ratio['to']} ({images} on another "
                     f"image, {prices} at other prices)", "head")
    made.text(8, 42, f"Redis under YCSB C, lock {results[0]['lock']}; modelled {ratio['modelled']['machine']}",
              "small faint")
    for place, (key, name, form) in enumerate(PANELS):
        values = [result.figure(r, key) for r in results]
        x, most = 8 + place * 254, max(values)
        made.text(x, 76, name, "head small")
        for row, (of, value) in enumerate(zip(results, values)):
            y, length = 88 + 58 * row, 232 * value / most if most else 0.0
            made.text(x, y + 14, f"{of['layout']}: {form.format(value)}", "small")
            made.bar(x, y + 20, max(length, 1), 22, "first-bar" if row == 0 else "second-bar")
    return made.svg()


PICTURES: dict[str, Callable[[], str]] = {"machine": machine, "request": request, "comparison": comparison}
