# SPDX-License-Identifier: BSD-2-Clause
"""`skerry paper`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from deploy.base import process
from deploy.base.choices import argument, files, option
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.bench.paper import page, work
from deploy.bench.paper.figures import FIGURES, figure
from deploy.cli import options
from deploy.results.scheduler import workers
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError

FOLDER = BUILD / "paper"


def paper(
    which: Annotated[list[str] | None, argument("FIGURE...", "Some figures, by their names; else all.")] = None,
    into: Annotated[Path | None, option("--into FOLDER", "Where results and report go (build/paper).",
                                        shell_complete=files())] = None,
    repeats: Annotated[int, option("--repeats N", "Repeats of figures whose runs differ.", 1, 100)] = 3,
    only_list: Annotated[bool, option("--list", "List the figures, and which are done.")] = False,
    fresh: Annotated[bool, option("--fresh", "Repeat finished figures.")] = False,
    scheduler: options.Scheduler = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Run every figure of the papers and put ours beside the published points, in one report.

    Each figure has its results file in the folder, with CSV beside it. What is there of the same sources, arguments and
    host is not run again: an interrupted run resumes. Figures on modelled machines and counts are the same in each run
    and run once; those of this host's own cores are repeated and get error bars. All figures take more than an hour.
    """
    process.heed_signals()
    output = Output(quiet, json)
    chosen = [figure(name) for name in dict.fromkeys(which)] if which else list(FIGURES)
    folder = into or FOLDER
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--into {folder}", "is no folder")
    state = work.state()
    todo = work.tasks(chosen, folder, repeats, state, fresh)
    failed: list[tuple[work.Task, str]] = []
    if not only_list:
        with alone("skerry paper", folder):
            todo = work.tasks(chosen, folder, repeats, state, fresh)  # another one may have done some
            failed = _run(todo, state, output, scheduler)
        todo = work.tasks(chosen, folder, repeats, state, False)
    output.table(work.table(chosen, todo))
    report = folder / "report.html"
    done = [task for task in todo if task.is_done]
    if not only_list and done:
        page.write(report, done)
        output.line(f"Report: {report}, of {len(done)} of {len(todo)} runs.")
    output.results(_document(folder, report, todo))
    if failed:
        raise Failure("; ".join(f"{task.figure.id}: {why} (all of it: {task.log})" for task, why in failed))


def _run(todo: Sequence[work.Task], state: dict[str, Any], output: Output,
         scheduler: str | None) -> list[tuple[work.Task, str]]:
    if scheduler is None:
        return work.run(todo, state, output)
    ensure_built(output, needs.EVERYTHING)  # a figure's command knows alone what it needs: workers must have all
    with workers(scheduler) as pool:
        return work.run(todo, state, output, pool)


def _document(folder: Path, report: Path, tasks: Sequence[work.Task]) -> dict[str, Any]:
    return {
        "skerry": version(),
        "command": "paper",
        "folder": str(folder),
        "report": str(report) if report.is_file() else None,
        "figures": [
            {"id": task.figure.id, "kind": task.figure.kind, "run": task.run, "done": task.is_done,
             "results": str(task.path)} for task in tasks
        ],
    }
