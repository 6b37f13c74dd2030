# SPDX-License-Identifier: BSD-2-Clause
"""Where a command's words go.

Tables and prose go to standard output, progress to standard error. With `--json -` standard output carries the
JSON alone and everything else moves to standard error; `--quiet` drops progress.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from topology.errors import InputError

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; results and errors only.")]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write results as JSON; - for stdout.")]


class Output:
    """What one command prints: `table` and `line` for results, `step` and `progress` for what it is doing."""

    def __init__(self, quiet: bool = False, json_to: str | None = None) -> None:
        self.quiet = quiet
        self.json_to = json_to
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)
        self.out = self.err if json_to == "-" else Console(highlight=False, soft_wrap=True)
        if json_to not in (None, "-") and not Path(json_to).resolve().parent.is_dir():
            raise InputError(f"--json {json_to}", "no such folder")

    def step(self, text: str) -> None:
        """Says what is being done now."""
        if not self.quiet:
            self.err.print(text, style="dim", markup=False)

    def line(self, text: str) -> None:
        """One line of the result, as it is."""
        self.out.print(text, markup=False)

    def table(self, renderable: Any) -> None:
        """A rich table or other renderable that is part of the result."""
        self.out.print(renderable)

    def results(self, data: dict[str, Any]) -> None:
        """Writes the results file, if one was asked for."""
        if self.json_to is None:
            return
        text = json.dumps(data, indent=2) + "\n"
        if self.json_to == "-":
            sys.stdout.write(text)
            return
        try:
            Path(self.json_to).write_text(text)
        except OSError as error:
            raise InputError(f"--json {self.json_to}", error.strerror or "cannot be written") from error

    @contextmanager
    def progress(self, text: str, total: float | None = None) -> Iterator[Any]:
        """A bar on the terminal; yields update(completed=…, description=…). Nothing where no terminal is."""
        shown = self.err.is_terminal and not self.quiet
        if not shown:
            self.step(text)
        columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()]
        with Progress(*columns, console=self.err, transient=True, disable=not shown) as bars:
            task = bars.add_task(text, total=total)
            yield lambda **what: bars.update(task, **what)
