# SPDX-License-Identifier: BSD-2-Clause
"""The runs of the papers' figures: one file each, kept while sources, arguments and host are the same."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.base import host, parallel
from deploy.base.atomic_files import write_bytes, write_text
from deploy.base.errors import Failure
from deploy.base.parallel import Call, Pool, Report
from deploy.base.partial import Parts
from deploy.base.paths import ROOT
from deploy.base.terminal import Output
from deploy.base.version import version
from deploy.bench.paper.figures import COUNTED, DRAWN, MODELLED, Figure
from deploy.results import fingerprint
from deploy.results.scheduler import changes
from deploy.results.tables import plain_table

SAME_EACH_TIME = (MODELLED, COUNTED, DRAWN)


def state() -> dict[str, Any]:
    """Returns all that results depend on beside their command; a change makes them stale."""
    on = host.environment()
    return {"skerry": version(), "commit": on["commit"], "changes": changes(), "cpu": host.cpu().model,
            "cores": host.cpu().cores}


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


def run(todo: Sequence[Task], of: dict[str, Any], output: Output, pool: Pool | None = None) -> list[tuple[Task, str]]:
    """Returns the tasks that failed, and why; the others go on. With a pool, what is the same on each host runs there,
    each command once."""
    left = [task for task in todo if not task.is_done]
    there = {task.figure.command: task for task in todo if task.is_done and task.figure.kind in SAME_EACH_TIME}
    failed: list[tuple[Task, str]] = []
    if pool:
        sent: dict[tuple[str, ...], Task] = {}
        for task in left:
            if task.figure.kind in SAME_EACH_TIME and task.figure.command not in there:
                sent.setdefault(task.figure.command, task)
        failed = _run_in(pool, list(sent.values()), of, output)
        there |= {task.figure.command: task for task in sent.values() if _is_done(task, of)}
        left = [task for task in left if task not in sent.values() and
                (task.figure.command in there or task.figure.command not in sent)]
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
        if task.figure.kind in SAME_EACH_TIME:
            there[task.figure.command] = task
        _finish(task, of, time.monotonic() - began)
    return failed


def _finish(task: Task, of: dict[str, Any], seconds: float) -> None:
    known = {"state": of, "command": list(task.figure.command), "seconds": round(seconds, 1)}
    write_text(task.stamp, json.dumps(known, indent=1) + "\n")


def _run_in(pool: Pool, tasks: Sequence[Task], of: dict[str, Any], output: Output) -> list[tuple[Task, str]]:
    """Returns what failed of tasks that run in a pool, side by side."""
    parts = Parts(output)
    with output.progress(f"{len(tasks)} figures", total=len(tasks)) as update:
        ended = [0]

        def on_result(place: int, result: tuple[str, dict[str, bytes], float]) -> None:
            why, files, seconds = result
            for name, data in files.items():
                write_bytes(tasks[place].folder / Path(name).name, data)
            if why:
                parts.record(tasks[place].name, Failure(why))
            else:
                _finish(tasks[place], of, seconds)
            ended[0] += 1
            update(completed=ended[0], description=f"{tasks[place].name}: {ended[0]} of {len(tasks)} figures")

        calls = [Call(task.name, elsewhere, (task,), fingerprint.files()) for task in tasks]
        parallel.run(calls, 1, parts=parts, on_result=on_result, pool=pool)
    if parts.interrupted:
        raise KeyboardInterrupt
    return [(task, parts.failed.get(task.name, "not begun")) for task in tasks if not _is_done(task, of)]


def elsewhere(task: Task, on_report: Report) -> tuple[str, dict[str, bytes], float]:
    """Runs a task in a folder of its own. Returns why it failed, or nothing; its files by name; the seconds it took."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skerry-paper-") as folder:
        why = _run(replace(task, folder=Path(folder)), lambda: None)
        return why, {path.name: path.read_bytes() for path in Path(folder).iterdir()}, time.monotonic() - began


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
