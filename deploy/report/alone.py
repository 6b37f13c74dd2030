# SPDX-License-Identifier: BSD-2-Clause
"""The drawing of a machine as a file of its own: `skerry topology --format svg`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deploy.report import machine
from deploy.report.load import MachineEntry

_CSS = Path(__file__).with_name("page.css")


def svg(title: str, document: Mapping[str, Any]) -> str:
    """`document`: a machine and its map as `topology --json` has them."""
    channels = [channel["ends"] for channel in document["channels"]]
    known = {"name": title, **{key: document[key] for key in ("cpus", "clusters", "applications")},
             "channels": channels}
    text = str(machine.draw("machine", title, MachineEntry.model_validate(known)))
    head, end, rest = text.partition(">")
    return f"{head} width=\"{2 * machine.WIDTH}\"{end}<style>{_style()}</style>{rest}\n"


def _style() -> str:
    """The page's rules for machines, and its colours for light and dark."""
    lines = _CSS.read_text().splitlines()
    colours = lines[1 : lines.index("* { box-sizing: border-box; }")]
    return "\n".join([*colours, "svg { color: var(--ink); }", *(line for line in lines if line.startswith(".machine"))])
