# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD, ROOT
from tests.long.mutations import verdicts
from tests.long.mutations.campaign import Campaign
from tests.long.mutations.catalogue import CatalogueError, Mutation, load
from tests.long.mutations.verdicts import CAUGHT, Verdicts

PAGE = ROOT / "docs" / "generated" / "mutations.md"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.long.mutations", description="Mutation testing of the kernel, its managers and the loader.")
    parser.add_argument("--only", metavar="WORD", default="", help="mutations with WORD in area, name, file or function")
    parser.add_argument("--list", action="store_true", help="list them and end")
    parser.add_argument("--json", metavar="FILE", help="write the verdicts; - for standard output")
    parser.add_argument("--fresh", action="store_true", help="forget the verdicts and the baseline of what is to be tried")
    parser.add_argument("--survivors", action="store_true", help="try those again that nothing caught")
    parser.add_argument("--page", action="store_true", help="write docs/generated/mutations.md from the verdicts there are, try none")
    parser.add_argument("--quick", action="store_true", help="without the slow hosted tests: model, sanitizers, threads, random system calls")
    parser.add_argument("--work", metavar="DIR", type=Path, default=BUILD / "mutations", help="where the copies are kept")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="workers, each with a copy of its own")
    parser.add_argument("--budget", metavar="MINUTES", type=float, help="stop then; what is under way is tried next time")
    return parser.parse_args()


def table(chosen: list[Mutation], found: Verdicts) -> Table:
    shown = Table("mutation", "verdict", "by")
    for mutation in chosen:
        verdict = found.of(mutation)
        shown.add_row(escape(mutation.name), verdict.verdict if verdict else "not tried", escape(verdict.by) if verdict else "")
    return shown


def rows(chosen: list[Mutation], found: Verdicts) -> list[dict[str, str]]:
    return [{"name": m.name, "area": m.area, "file": str(m.file), "breaks": m.breaks, "verdict": v.verdict, "by": v.by}
            for m in chosen if (v := found.of(m))]


def report(options: argparse.Namespace, every: list[Mutation], chosen: list[Mutation], found: Verdicts) -> None:
    if options.json != "-":
        Console().print(table(chosen, found))
    if options.json:
        text = json.dumps({"mutations": rows(chosen, found)}, indent=1) + "\n"
        sys.stdout.write(text) if options.json == "-" else Path(options.json).write_text(text)
    PAGE.write_text(verdicts.page(every, found))


def main() -> int:
    options = arguments()
    if options.jobs < 1 or (options.budget is not None and options.budget <= 0):
        raise CatalogueError("--jobs and --budget are numbers above 0")
    process.heed_signals()
    say = Console(stderr=True)
    every = load()
    chosen = [m for m in every if options.only.lower() in f"{m.area} {m.name} {m.where}".lower()]
    if not chosen:
        raise CatalogueError(f"{options.only}: no mutation has this word")
    if options.list:
        for mutation in chosen:
            print(f"{mutation.area}: {mutation.name} ({mutation.where}): {mutation.breaks}")
        return 0
    with alone("tests.long.mutations", verdicts.FILE, BUILD / "mutations.lock"):
        return attend(options, every, chosen, say)


def attend(options: argparse.Namespace, every: list[Mutation], chosen: list[Mutation], say: Console) -> int:
    """Tries what is to be tried. Returns the exit status."""
    found = Verdicts(every)
    if options.page:
        PAGE.write_text(verdicts.page(every, found))
        return 0
    if options.fresh:
        found.forget(chosen)
    if options.survivors:
        found.forget([m for m in chosen if (v := found.of(m)) and v.verdict != CAUGHT])
    todo = [m for m in chosen if not found.of(m)]
    todo.sort(key=lambda m: "arch-x86_64" in m.file.parts)  # what only a booted machine sees takes minutes: last
    if todo:
        options.work.mkdir(parents=True, exist_ok=True)
        campaign = Campaign(todo, found, every, options.work.resolve(), say)
        if options.fresh:
            campaign.baseline.forget()
        try:
            campaign.run(min(options.jobs, len(todo)), options.quick, options.budget and options.budget * 60)
        finally:
            PAGE.write_text(verdicts.page(every, found))
    report(options, every, chosen, found)
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
