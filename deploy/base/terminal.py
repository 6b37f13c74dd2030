# SPDX-License-Identifier: BSD-2-Clause
"""Output of commands.

Tables and prose go to standard output, progress to standard error. With `--json -` standard output carries the
JSON alone and everything else moves to standard error; `--quiet` drops progress.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from deploy.base import export
from deploy.base.atomic_files import free, write_text
from deploy.base.choices import files, option
from deploy.base.errors import Failure
from deploy.base.paths import RESULTS
from deploy.base.table_layout import parts
from deploy.base.version import version as version
from topology.errors import InputError

PAGE_WIDTH = 150  # columns of a table that goes to a file

Quiet = Annotated[bool, option("--quiet -q", "No progress; results and errors only.")]
Json = Annotated[str | None, option("--json FILE", "Write results as JSON; - for stdout.", shell_complete=files())]
Plot = Annotated[Path | None, option("--plot FILE", "Write a plot: .png, .svg or .pdf.")]


def make_console(stderr: bool = False) -> Console:
    """The terminal's width, or a wide page where there is no terminal."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, emoji=False, soft_wrap=True,
                   width=None if stream.isatty() else PAGE_WIDTH)


def finite(data: Any) -> Any:
    """JSON has no infinity and nothing that is not a number: null stands for them."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    return [finite(value) for value in data] if isinstance(data, (list, tuple)) else data


PLOTS = (".png", ".svg", ".pdf")


def check_plot(plot: Path | None) -> None:
    """Before anything is computed."""
    if plot and not plot.resolve().parent.is_dir():
        raise InputError(f"--plot {plot}", "no such folder")
    if plot and plot.suffix not in PLOTS:
        raise InputError(f"--plot {plot}", f"is none of {', '.join(PLOTS)}")


def places(kind: str, json: str | None, plot: Path | None) -> tuple[str, Path]:
    """Returns where results and plot go: the plot stands next to the results, both in build/results by default."""
    check_plot(plot)
    RESULTS.mkdir(parents=True, exist_ok=True)
    base = RESULTS / f"bench-{kind}-{time.strftime('%Y%m%d-%H%M%S')}"
    picture = Path(json).with_suffix(".png") if json not in (None,
                                                             "-") and Path(json).suffix != ".png" else base.with_suffix(
                                                                ".png")
    if picture.parent.is_dir() and picture.parent.is_relative_to("/dev"):  # /dev/null, /dev/stdout
        picture = base.with_suffix(".png")
    return json or str(base.with_suffix(".json")), plot or picture


def check_target(path: Path, option: str = "--json") -> None:
    """Now, and not after minutes of work."""
    culprit = f"{option} {path}"
    try:
        is_folder, folder = path.is_dir(), path.resolve().parent
        has_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name that is none
        reason = getattr(error, "strerror", None) or "is not a file's name"
        raise InputError(option, f"{str(path)[:100]!r}: {reason.lower()}") from None
    if is_folder or not has_folder:
        raise InputError(culprit, "is a folder" if is_folder else "no such folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(culprit, "permission denied")
    if (path.is_file() or not path.exists()) and free(folder) == 0:
        raise Failure(f"cannot write {path}: no space left on device")


class Output:
    """Prints what one command has to say: `table` and `line` for results, `step` and `progress` for what it is
    doing."""

    def __init__(self, quiet: bool = False, json_to: str | None = None) -> None:
        self.quiet = quiet
        self.json_to = json_to
        self.err = make_console(stderr=True)
        self.out = self.err if json_to == "-" else make_console()
        self._bars = 0  # that are on the terminal now
        if json_to not in (None, "-"):
            check_target(Path(json_to))

    @property
    def shows_bars(self) -> bool:
        return self.err.is_terminal and not self.quiet

    @property
    def _results(self) -> Console:
        """Returns the console for results. While a bar stands on the same terminal, it is the bar's console, which
        prints above the bar: another one would write into its line."""
        return self.err if self._bars and self.out.is_terminal else self.out

    def step(self, text: str) -> None:
        """Says what is being done now."""
        if not self.quiet:
            self.err.print(text, style="dim", markup=False)

    def line(self, text: str) -> None:
        """One line of the result, as it is."""
        self._results.print(text, markup=False)

    @contextmanager
    def ending(self, paragraphs: Iterable[Sequence[str]]) -> Iterator[None]:
        """Prints paragraphs of sentences last, also where a file cannot be written: minutes of work are in them."""
        try:
            yield
        finally:
            for sentences in paragraphs:
                self.prose("\n" + "\n".join(sentences))

    def prose(self, text: str) -> None:
        """A paragraph of the result, wrapped between words where there is a terminal."""
        self._results.print(text, markup=False, soft_wrap=not self.out.is_terminal)

    def table(self, renderable: Any, columns: int = PAGE_WIDTH) -> None:
        """A rich table or other renderable that is part of the result; a table of more columns, or wider than a
        terminal, in parts."""
        room = self.out if self.out.width <= columns or self.out.is_terminal else Console(width=columns)
        for part in parts(renderable, room) if isinstance(renderable, Table) else (renderable,):
            self._results.print(part)

    def written(self, picture: Path | None = None) -> None:
        """Says where results and plot are."""
        results = [f"Results: {self.json_to}."] if self.json_to not in (None, "-") else []
        if words := [*results, *([f"Plot: {picture}."] if picture else [])]:
            self.line(" ".join(words))

    def results(self, data: dict[str, Any]) -> None:
        """Writes the results file, if one was asked for."""
        if self.json_to is None:
            return
        text = json.dumps(finite(data), indent=2, allow_nan=False) + "\n"
        if self.json_to == "-":
            sys.stdout.write(text)
            return
        path = Path(self.json_to)
        others = export.files(path, data) if path.is_file() or not path.exists() else ()  # not beside a pipe
        for where, content in [(path, text), *others]:
            write_text(where, content)

    @contextmanager
    def progress(self, text: str, total: float | None = None) -> Iterator[Any]:
        """A bar on the terminal; yields update(completed=…, description=…). Nothing where no terminal is."""
        with self.several(total) as start:
            yield start(text)

    @contextmanager
    def several(self, total: float | None = None) -> Iterator[Callable[[str], Callable[..., None]]]:
        """A bar for each of several things: yields start(text), which returns its update."""
        shown = self.shows_bars
        columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()]
        # else lines of the result would go to the terminal with the bar, not where they should
        mixed = sys.stdout.isatty()
        with Progress(*columns, console=self.err, transient=True, disable=not shown, redirect_stdout=mixed) as bars:

            def start(text: str) -> Callable[..., None]:
                if not shown:
                    self.step(text)
                task = bars.add_task(text, total=total)
                return lambda **what: bars.update(task, **what)

            self._bars += shown
            try:
                yield start
            finally:
                self._bars -= shown
