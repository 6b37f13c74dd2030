# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from deploy import process
from deploy.errors import Failure
from deploy.paths import BUILD, ROOT
from tests.long.mutations import results as verdicts
from tests.long.mutations.catalogue import CatalogueError, Mutation, load
from tests.long.mutations.results import CAUGHT, SURVIVED, UNFIT, Results, Verdict
from tests.long.mutations.stages import Stage, stages
from tests.long.mutations.workspace import BuildFailure, Workspace

PAGE = ROOT / "docs" / "mutations.md"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.long.mutations", description="Mutation testing of the kernel.")
    parser.add_argument("--only", metavar="WORD", default="", help="mutations with WORD in area, name or file")
    parser.add_argument("--list", action="store_true", help="list them and end")
    parser.add_argument("--json", metavar="FILE", help="write the verdicts; - for standard output")
    parser.add_argument("--fresh", action="store_true", help="a new copy of HEAD; forget the verdicts of what is to be tried")
    parser.add_argument("--survivors", action="store_true", help="a new copy of HEAD; try those again that nothing caught")
    parser.add_argument("--page", action="store_true", help="write docs/mutations.md from the verdicts there are, try none")
    parser.add_argument("--quick", action="store_true", help="without the slow hosted tests: model, sanitizers, threads, random system calls")
    parser.add_argument("--work", metavar="DIR", type=Path, default=BUILD / "mutations", help="where the copy is kept")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="of the compiler")
    return parser.parse_args()


def calibrate(workspace: Workspace, steps: list[Stage], jobs: int, say: Console) -> None:
    """Without a mutation: how long things take, and what fails anyway."""
    known = json.loads(workspace.baseline.read_text()) if workspace.baseline.exists() else {}
    for step in steps:
        if step.name in known:
            step.ignored, step.took = set(known[step.name]["ignored"]), known[step.name]["took"]
            continue
        start = time.monotonic()
        workspace.make(step.targets, jobs)
        for text in step.run(workspace, calibrating=True):
            say.print(f"[yellow]fails without a mutation, ignored:[/] {text}", highlight=False)
        say.print(f"{step.name}: {time.monotonic() - start:.0f} s", style="dim")
        known[step.name] = {"ignored": sorted(step.ignored), "took": step.took}
        workspace.baseline.write_text(json.dumps(known, indent=1) + "\n")


def attempt(workspace: Workspace, mutation: Mutation, steps: list[Stage], jobs: int) -> tuple[str, str]:
    """Verdict and its reason."""
    try:
        with workspace.broken(mutation):
            for step in (step for step in steps if step.sees(mutation)):
                workspace.make(step.targets, jobs)
                for text in step.run(workspace, calibrating=False):
                    return CAUGHT, text
    except (CatalogueError, BuildFailure) as error:
        return UNFIT, str(error)
    return SURVIVED, ""


def campaign(todo: list[Mutation], workspace: Workspace, found: Results, jobs: int, quick: bool, say: Console) -> None:
    if not todo:
        return
    steps = [step for step in stages(workspace) if not (quick and step.slow)]
    calibrate(workspace, steps, jobs, say)
    for place, mutation in enumerate(todo, 1):
        start = time.monotonic()
        verdict, by = attempt(workspace, mutation, steps, jobs)
        seconds = time.monotonic() - start
        found.set(mutation, Verdict(mutation.digest, verdict, by, workspace.commit or "", round(seconds, 1)))
        colour = {CAUGHT: "green", SURVIVED: "bold red", UNFIT: "yellow"}[verdict]
        say.print(f"{place}/{len(todo)} [{colour}]{verdict}[/] {mutation.name}: {by} ({seconds:.0f} s)", highlight=False)


def table(chosen: list[Mutation], found: Results) -> Table:
    shown = Table("mutation", "verdict", "by")
    for mutation in chosen:
        verdict = found.of(mutation)
        shown.add_row(mutation.name, verdict.verdict if verdict else "not tried", verdict.by if verdict else "")
    return shown


def main() -> int:
    options = arguments()
    process.heed_signals()
    say = Console(stderr=True)
    every = load()
    chosen = [m for m in every if options.only.lower() in f"{m.area} {m.name} {m.file}".lower()]
    if not chosen:
        raise CatalogueError(f"{options.only}: no mutation has this word")
    if options.list:
        for mutation in chosen:
            print(f"{mutation.area}: {mutation.name} ({mutation.file}): {mutation.breaks}")
        return 0

    options.work.mkdir(parents=True, exist_ok=True)
    workspace, found = Workspace(options.work.resolve()), Results(options.work / "results.json")
    if options.page:
        PAGE.write_text(verdicts.page(every, found))
        return 0
    if options.fresh:
        found.forget(chosen)
    if options.survivors:
        found.forget([m for m in chosen if (v := found.of(m)) and v.verdict != CAUGHT])
    if options.fresh or options.survivors or not workspace.commit:
        workspace.renew()
    campaign([m for m in chosen if not found.of(m)], workspace, found, options.jobs, options.quick, say)

    if options.json != "-":
        Console().print(table(chosen, found))
    if options.json:
        rows = [{"name": m.name, "area": m.area, "file": str(m.file), "breaks": m.breaks, "verdict": v.verdict, "by": v.by,
                 "commit": v.commit, "seconds": v.seconds} for m in chosen if (v := found.of(m))]
        text = json.dumps({"mutations": rows}, indent=1) + "\n"
        sys.stdout.write(text) if options.json == "-" else Path(options.json).write_text(text)
    if all(found.of(m) for m in every):
        PAGE.write_text(verdicts.page(every, found))
        say.print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if all((v := found.of(m)) and (v.verdict == CAUGHT or m.unseen) for m in chosen) else 1


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    try:
        sys.exit(main())
    except (CatalogueError, Failure) as error:
        print(f"mutations: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, CatalogueError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
