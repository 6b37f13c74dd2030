# SPDX-License-Identifier: BSD-2-Clause
"""The measured machine as SVG: a box for each cluster, in it its cores by socket and L3 cache, and what ran on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from deploy.report.load import Entry, MachineEntry, PlacedCluster, PlacedCpu
from deploy.report.svg import open_svg
from topology.foreign import format_spans

WIDTH = 360  # units, about pixels on a phone
COLUMNS = 4
_GAP, _PAD, _HEAD, _ROW = 6, 10, 22, 18
CELL = (WIDTH - 4 * _PAD - (COLUMNS - 1) * _GAP) / COLUMNS
_LINES = 3  # lines of a core: its number and two programs


@dataclass
class _Pen:
    """The drawing so far, and the place of the next part."""

    y: float = 4
    parts: list[str] | None = None

    def text(self, x: float, y: float, words: str, kind: str) -> None:
        assert self.parts is not None
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str) -> None:
        assert self.parts is not None
        self.parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>')


def known(entry: Entry) -> MachineEntry:
    """The machine of a result; of an old one what its cores tell."""
    if entry.machine:
        return entry.machine
    cores = sorted({(each.cluster, each.core) for each in entry.per_core if each.core is not None})
    clusters = [
        PlacedCluster(cluster=cluster, kernel=entry.lock or "?", cpus=[core for _, core in of])
        for cluster, of in groupby(cores, lambda place: place[0])
    ]
    return MachineEntry(cpus=[PlacedCpu(cpu=core) for _, core in cores], clusters=clusters)


def can_draw(entry: Entry) -> bool:
    return entry.system == "skerry" and bool(known(entry).clusters) and bool(known(entry).cpus)


def draw(name: str, title: str, machine: MachineEntry) -> Markup:
    pen = _Pen(parts=[])
    cpus = {cpu.cpu: cpu for cpu in machine.cpus}
    for cluster in machine.clusters:
        _cluster(pen, cluster, cpus, machine)
    for a, b in machine.channels:
        pen.text(_PAD, pen.y + 12, f"cluster {a} ⟷ cluster {b}: a channel", "note")
        pen.y += _ROW
    svg = open_svg(name, f'viewBox="0 0 {WIDTH} {pen.y + 4:g}"', title, spoken(machine))
    return svg + Markup('<g class="machine">' + "".join(pen.parts or ()) + "</g></svg>")


def _cluster(pen: _Pen, cluster: PlacedCluster, cpus: dict[int, PlacedCpu], machine: MachineEntry) -> None:
    top = pen.y
    start = len(pen.parts or ())
    pen.text(_PAD, top + 16, f"cluster {cluster.cluster}: kernel {cluster.kernel}", "head")
    pen.y = top + _HEAD
    for where, places in _rows(cluster.cpus, cpus):
        if where:
            pen.text(2 * _PAD, pen.y + 11, where, "note")
            pen.y += _ROW - 2
        for number, place in enumerate(places):
            row, column = divmod(number, COLUMNS)
            height = _LINES * 13 + 6
            x, y = 2 * _PAD + column * (CELL + _GAP), pen.y + row * (height + _GAP)
            pen.box(x, y, CELL, height, "core")
            pen.text(x + 5, y + 14, f"core {place}", "core-name")
            for line, words in enumerate(_programs(place, machine)):
                pen.text(x + 5, y + 27 + 12 * line, words, "program")
        pen.y += -(-len(places) // COLUMNS) * (_LINES * 13 + 6 + _GAP)
    pen.y += 2
    assert pen.parts is not None
    kind = "cluster" if cluster.cluster % 2 == 0 else "cluster odd"
    box = f'<rect class="{kind}" x="2" y="{top:g}" width="{WIDTH - 4:g}" height="{pen.y - top:g}" rx="7"/>'
    pen.parts.insert(start, box)
    pen.y += 10


def _rows(places: Iterable[int], cpus: dict[int, PlacedCpu]) -> Iterator[tuple[str, list[int]]]:
    """Cores that share socket, cache and node together."""
    for where, group in groupby(places, lambda place: _where(cpus.get(place))):
        yield where, list(group)


def _where(cpu: PlacedCpu | None) -> str:
    if cpu is None or cpu.socket is None:
        return ""
    cache = "no L3" if cpu.l3 is None else f"L3 {cpu.l3}"
    return f"socket {cpu.socket} · {cache} · node {cpu.node}"


def _programs(place: int, machine: MachineEntry) -> list[str]:
    """Two lines of names, with how many there are of each; the rest is counted."""
    names: dict[str, int] = {}
    for app in machine.applications:
        if app.cpu == place:
            names[app.program] = names.get(app.program, 0) + 1
    labels = [(name if len(name) <= 12 else name[:11] + "…") + (f" ×{count}" if count > 1 else "")
              for name, count in names.items()]
    return labels if len(labels) < 3 else [labels[0], f"and {len(labels) - 1} more"]


def spoken(machine: MachineEntry) -> str:
    """The drawing in words."""
    parts = []
    for cluster in machine.clusters:
        here = set(cluster.cpus)
        apps = [f"{app.program} on core {app.cpu}" for app in machine.applications if app.cpu in here]
        runs = f", running {', '.join(apps)}" if apps else ""
        parts.append(f"cluster {cluster.cluster} with kernel {cluster.kernel} on cores {format_spans(here)}{runs}")
    return "; ".join(parts)


_CSS = Path(__file__).with_name("page.css")


def svg(title: str, document: Mapping[str, Any]) -> str:
    """`document`: a machine and its map as `topology --json` has them."""
    channels = [channel["ends"] for channel in document["channels"]]
    known = {"name": title, **{key: document[key] for key in ("cpus", "clusters", "applications")},
             "channels": channels}
    text = str(draw("machine", title, MachineEntry.model_validate(known)))
    head, end, rest = text.partition(">")
    return f"{head} width=\"{2 * WIDTH}\"{end}<style>{_style()}</style>{rest}\n"


def _style() -> str:
    """The page's rules for machines, and its colours for light and dark."""
    lines = _CSS.read_text().splitlines()
    colours = lines[1 : lines.index("* { box-sizing: border-box; }")]
    return "\n".join([*colours, "svg { color: var(--ink); }", *(line for line in lines if line.startswith(".machine"))])
