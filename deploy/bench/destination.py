# SPDX-License-Identifier: BSD-2-Clause
"""Where an experiment's results and its plot go, and what is said of that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from deploy.base.partial import Parts
from deploy.base.terminal import Output, places
from deploy.machine.qemu import BINARY, Accel
from deploy.results.result import document, host_description


class Stepped(Protocol):
    @property
    def late(self) -> int: ...


@dataclass(frozen=True)
class Destination:
    output: Output
    json: str
    picture: Path

    @staticmethod
    def of(kind: str, json: str | None, plot: Path | None, quiet: bool) -> Destination:
        """Beside each other in build/results, where no option says more."""
        where, picture = places(kind, json, plot)
        return Destination(Output(quiet, where), where, picture)

    def write(self, command: str, mode: Accel, entries: Iterable[dict[str, Any]], parts: Parts | None = None,
              **more: Any) -> dict[str, Any]:
        """Writes the results file and returns its document. `more`: what it has beside the entries."""
        data = document(command, host_description(mode, BINARY), [], entries) | more
        data |= parts.to_json() if parts else {}
        self.output.results(data)
        return data

    def end(self, parts: Parts | None = None, drawn: bool = True) -> None:
        """Says where results and plot are; raises what `parts` has recorded."""
        self.output.written(self.picture if drawn else None)
        if parts:
            parts.finish()

    def say_late(self, points: Iterable[Stepped]) -> None:
        if late := sum(point.late for point in points):
            self.output.line(f"The host was so busy that cores got out of step {late} times.")
