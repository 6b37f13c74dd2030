# SPDX-License-Identifier: BSD-2-Clause
"""The runs of the papers' figures: one file each, kept while sources, arguments and host are the same."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.base import host
from deploy.base.atomic_files import write_bytes, write_text
from deploy.base.paths import ROOT
from deploy.base.terminal import Output
from deploy.base.version import version
from deploy.bench.paper.figures import COUNTED, DRAWN, MODELLED, Figure
from deploy.results.tables import plain_table

SAME_EACH_TIME = (MODELLED, COUNTED, DRAWN)


def state() -> dict[str, Any]:
    """Returns all that results depend on beside their command; a change makes them stale."""
    on = host.environment()
    return {"skerry": version(), "commit": on["commit"], "changes": _changes(), "cpu": host.cpu().model,
            "cores": host.cpu().cores}


def _changes() -> str | None:
    """Returns the changes since the commit of files that git knows; None without any, or without git."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "diff", "HEAD", "--", ".", ":!docs", ":!tests",
               ":!*.md"]
    try:
        text = subprocess.run(command, capture_output=True).stdout
    except OSError:
        return None
    return hashlib.sha256(text).hexdigest()[:16] if text else None


@dataclass(frozen=True)
class Task:
    """One run of a figure."""

    figure: Figure
    run: int  # from 1
    folder: Path
    is_done: bool

    @property
    def name(self) -> str:
        return self.figure.id if self.run == 1 else f"{self.figure.id}-{self.run}"

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.json"

    @property
    def stamp(self) -> Path:
        """Says what the results are of: it is written after them."""
        return self.folder / f"{self.name}.stamp"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"


def tasks(figures: Sequence[Figure], folder: Path, repeats: int, of: dict[str, Any], fresh: bool) -> list[Task]:
    listed = []
    for figure in figures:
        for run in range(1, (1 if figure.kind in SAME_EACH_TIME else repeats) + 1):
            task = Task(figure, run, folder, False)
            listed.append(Task(figure, run, folder, not fresh and _is_done(task, of)))
    return listed


def _is_done(task: Task, of: dict[str, Any]) -> bool:
    try:
        known = json.loads(task.stamp.read_text())
    except (OSError, ValueError):
        return False
    return task.path.is_file() and known.get("state") == of and known.get("command") == list(task.figure.command)


def remaining(todo: Iterable[Task], pace: float) -> str:
    """`pace`: how many times longer runs took here than on two quiet cores."""
    minutes = sum(task.figure.minutes for task in todo) * pace
    return f"about {minutes:.0f} min" if minutes < 90 else f"about {minutes / 60:.1f} h"


def run(todo: Sequence[Task], of: dict[str, Any], output: Output) -> list[tuple[Task, str]]:
    """Returns the tasks that failed, and why; the others go on."""
    left = [task for task in todo if not task.is_done]
    there = {task.figure.command: task for task in todo if task.is_done and task.figure.kind in SAME_EACH_TIME}
    failed: list[tuple[Task, str]] = []
    planned = took = 0.0
    for number, task in enumerate(left, 1):
        pace = took / planned if planned else 1.0
        text = f"{number} of {len(left)}: {task.name}; {remaining(left[number - 1 :], pace)} left"
        began = time.monotonic()
        with output.progress(text, total=task.figure.minutes * 60 * pace) as update:
            same = there.get(task.figure.command)
            why = _copy(same, task) if same else _run(task,
                                                      lambda since=began: update(completed=time.monotonic() - since))
        planned, took = planned + task.figure.minutes, took + (time.monotonic() - began) / 60
        if why:
            failed.append((task, why))
            output.line(f"{task.name}: failed: {why}")
            continue
        known = {"state": of, "command": list(task.figure.command), "seconds": round(time.monotonic() - began, 1)}
        if task.figure.kind in SAME_EACH_TIME:
            there[task.figure.command] = task
        write_text(task.stamp, json.dumps(known, indent=1) + "\n")
    return failed


def _copy(same: Task, task: Task) -> str:
    """Two figures of one command: it need not run twice. A line apart keeps the files different, as repeats are."""
    write_text(task.path, same.path.read_text().rstrip() + "\n" * 2)
    for suffix in (".csv", ".hgrm", ".log"):
        if (made := same.path.with_suffix(suffix)).is_file():
            write_bytes(task.path.with_suffix(suffix), made.read_bytes())
    return ""


def command(task: Task) -> list[str]:
    return [sys.executable, "-m", "deploy.cli.main", *task.figure.command, "--json", str(task.path.resolve()),
            "--quiet"]


def _run(task: Task, tick: Any) -> str:
    """Why it failed; nothing when it did not."""
    for path in (task.stamp, task.path):
        path.unlink(missing_ok=True)
    with task.log.open("w") as log:
        process = subprocess.Popen(command(task), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            while process.poll() is None:
                tick()
                try:
                    process.wait(0.5)
                except subprocess.TimeoutExpired:
                    continue
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode == 0 and task.path.is_file():
        return ""
    lines = [line for line in task.log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("skerry: ") if lines else f"status {process.returncode}, and no word"


def table(figures: Sequence[Figure], todo: Sequence[Task]) -> Table:
    words = ("figure", "what", "kind", "runs")
    made = plain_table("Figures of the papers", (*words, "min"), words)
    for figure in figures:
        mine = [task for task in todo if task.figure is figure]
        done = sum(task.is_done for task in mine)
        made.add_row(figure.id, figure.title, figure.kind, f"{done} of {len(mine)}", f"{figure.minutes:g}")
    return made
