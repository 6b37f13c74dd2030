# SPDX-License-Identifier: BSD-2-Clause
import argparse
import json
import os
import random
import resource
import sys
import time
from collections.abc import Generator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deploy.base import process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD
from deploy.results.scheduler import workers
from tests.mistakes import drawn, verdicts
from tests.mistakes.campaign import COLOUR, Campaign
from tests.mistakes.catalogue import MANAGER, CatalogueError, Mistake, load
from tests.mistakes.drawn import Tried
from tests.mistakes.verdicts import CAUGHT, Verdicts
from topology.errors import InputError

LOWEST = 19  # priority, as nice(1) has it


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mistakes",
                                     description="Plants mistakes, each of which a test must see.")
    parser.add_argument("--only", metavar="WORD", default="",
                        help="mistakes with WORD in area, name, file, function or test")
    parser.add_argument("--list", action="store_true", help="list them and end")
    parser.add_argument("--sample", metavar="SECONDS", type=float,
                        help="try some for so much processor time; writes no verdict")
    parser.add_argument("--seed", metavar="N", type=int, help="of the sample, or the order; else any")
    parser.add_argument("--background", action="store_true",
                        help="at the lowest priority, in a drawn order: each part of the campaign is a sample of all")
    parser.add_argument("--explored", metavar="WORD",
                        help="try what the explorer must find, with WORD in test or name; writes no verdict")
    parser.add_argument("--json", metavar="FILE", help="write the verdicts; - for standard output")
    parser.add_argument("--fresh", action="store_true",
                        help="forget the verdicts and the baseline of what is to be tried")
    parser.add_argument("--survivors", action="store_true", help="try those again that nothing caught")
    parser.add_argument("--page", action="store_true", help="write build/docs/mistakes.md from the verdicts, try none")
    parser.add_argument("--light", action="store_true",
                        help="only those that a component's test is meant to see, and only by it")
    parser.add_argument("--quick", action="store_true",
                        help="without the slow hosted tests: model, sanitizers, threads, random system calls")
    parser.add_argument("--work", metavar="DIR", type=Path, default=BUILD / "mutations",
                        help="where the copies of HEAD are kept")
    parser.add_argument("--jobs", metavar="N", type=int, default=1,
                        help="workers, each with a mirror or a copy of its own")
    parser.add_argument("--scheduler", metavar="ADDRESS",
                        help="try them on the workers of this Dask scheduler, those that need whole images here")
    parser.add_argument("--budget", metavar="MINUTES", type=float,
                        help="stop then; what is under way is tried next time")
    return parser.parse_args()


def table(chosen: list[Mistake], known: Verdicts) -> Table:
    shown = Table("mistake", "verdict", "by")
    for mistake in chosen:
        verdict = known.of(mistake)
        shown.add_row(escape(mistake.name), verdict.verdict if verdict else "not tried",
                      escape(verdict.by) if verdict else "")
    return shown


def rows(chosen: list[Mistake], known: Verdicts) -> list[dict[str, str]]:
    return [{"name": m.name, "area": m.area, "file": str(m.file), "breaks": m.breaks, "verdict": v.verdict, "by": v.by}
            for m in chosen if (v := known.of(m))]


def report(options: argparse.Namespace, every: list[Mistake], chosen: list[Mistake], known: Verdicts) -> None:
    if options.json != "-":
        Console().print(table(chosen, known))
    if options.json:
        text = json.dumps({"mistakes": rows(chosen, known)}, indent=1) + "\n"
        sys.stdout.write(text) if options.json == "-" else Path(options.json).write_text(text)
    verdicts.write_page(every, known)


def main() -> int:
    options = arguments()
    if options.jobs < 1 or any(value is not None and value <= 0 for value in (options.budget, options.sample)):
        raise CatalogueError("--jobs, --budget and --sample are numbers above 0")
    if options.scheduler is not None and (options.sample or options.explored is not None):
        raise CatalogueError("--scheduler is not for --sample and --explored")
    process.heed_signals()
    say = Console(stderr=True)
    every = load()
    word = options.only.lower()
    chosen = [m for m in every if not m.argued and word in f"{m.area} {m.name} {m.where} {'; '.join(m.tests)}".lower()]
    if not chosen:
        raise CatalogueError(f"--only {options.only}: no mistake has this word")
    if options.explored is not None:
        return explored(options, every)
    if options.list:
        for mistake in chosen:
            print(f"{mistake.area}: {mistake.name} ({mistake.where}){': ' if mistake.breaks else ''}{mistake.breaks}")
        return 0
    if options.sample:
        return sample(chosen, options.seed, options.sample)
    with alone("tests.mistakes", verdicts.FILE, BUILD / "mistakes.lock"):
        return attend(options, every, chosen, say)


def explored(options: argparse.Namespace, every: list[Mistake]) -> int:
    """Prints a line of JSON for each mistake that the explorer must find. Returns the exit status: 1 where one is not
    found."""
    named = {f"{m.tests[0]}, the explorer finds {m.name}": m for m in every if m.explored}
    named = {name: m for name, m in named.items() if options.explored.lower() in name.lower()}
    if options.list:
        print("\n".join(named))
        return 0
    names = {m.key: name for name, m in named.items()}
    status = 0
    for one in drawn.attempt(list(named.values()), min(options.jobs, len(named))) if named else ():
        status = status if one.verdict.verdict == CAUGHT else 1
        result = {"name": names[one.mistake.key], "verdict": one.verdict.verdict, "by": one.verdict.by,
                  "seconds": one.seconds}
        print(json.dumps(result), flush=True)
    return status


def sample(chosen: list[Mistake], seed: int | None, seconds: float) -> int:
    """Tries some. Returns the exit status: 1 where a mistake is not seen."""
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    print(f"seed {seed}", flush=True)
    unseen = tried = 0
    for one in drawn.sample(chosen, Verdicts(chosen), seed, seconds):
        tried += 1
        unseen += one.verdict.verdict != CAUGHT
        print(f"{one.verdict.verdict}: {one.mistake.key}: {one.verdict.by or '; '.join(map(str, one.mistake.seen_by))}",
              flush=True)
    print(f"{tried} mistakes tried, {unseen} not seen; seed {seed}")
    return 1 if unseen else 0


def attend(options: argparse.Namespace, every: list[Mistake], chosen: list[Mistake], say: Console) -> int:
    """Tries what is to be tried. Returns the exit status."""
    known = Verdicts(every)
    if options.page:
        verdicts.write_page(every, known)
        return 0
    if options.fresh:
        known.forget(chosen)
    if options.survivors:
        known.forget([m for m in chosen if (v := known.of(m)) and v.verdict != CAUGHT])
    if options.background:
        os.nice(LOWEST)
        random.Random(options.seed).shuffle(chosen)
    end = time.monotonic() + options.budget * 60 if options.budget else None
    try:
        light(options, [m for m in chosen if not known.of(m)], known, say, end)
        if not options.light:
            whole(options, [m for m in chosen if not known.of(m)], every, known, say, end)
    finally:
        verdicts.write_page(every, known)
    report(options, every, chosen, known)
    return 0 if all((v := known.of(m)) and (v.verdict == CAUGHT or m.unseen) for m in chosen) else 1


def light(options: argparse.Namespace, todo: list[Mistake], known: Verdicts, say: Console, end: float | None) -> None:
    """Tries them in mirrors, by the tests that are meant to see them. Where these do not, others may (whole())."""
    todo = drawn.tryable(todo)
    if not todo:
        return
    with workers(options.scheduler) as pool:
        _take(options, drawn.attempt(todo, min(options.jobs, len(todo)), pool=pool), len(todo), known, say, end)


def _take(options: argparse.Namespace, tried: Generator[Tried, None, None], count: int, known: Verdicts, say: Console,
          end: float | None) -> None:
    for number, one in enumerate(tried, 1):
        mistake, verdict = one.mistake, one.verdict
        if verdict.verdict == CAUGHT or options.light or not _of_images(mistake):
            known.set(mistake, verdict)
        colour = COLOUR[verdict.verdict]
        say.print(f"{number}/{count} [{colour}]{verdict.verdict}[/] {escape(mistake.key)}: {escape(verdict.by)}",
                  highlight=False, emoji=False)
        if end and time.monotonic() > end:
            say.print("the budget is spent", style="dim")
            break
    tried.close()  # its processes end
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    say.print(f"{number} tried, {used / number:.1f} s of this host's processors each", highlight=False)


def _of_images(mistake: Mistake) -> bool:
    return mistake.of_kernel or mistake.file.is_relative_to(MANAGER)


def whole(options: argparse.Namespace, todo: list[Mistake], every: list[Mistake], known: Verdicts, say: Console,
          end: float | None) -> None:
    """Tries them in copies of HEAD, by all tests of the kernel and the managers, the booted ones included."""
    todo = [mistake for mistake in todo if _of_images(mistake)]
    left = end - time.monotonic() if end else None
    if not todo or (left is not None and left <= 0):
        return
    todo.sort(key=lambda m: "arch-x86_64" in m.file.parts)  # what only a booted machine sees takes minutes: last
    options.work.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(todo, known, every, options.work.resolve(), say)
    if options.fresh:
        campaign.baseline.forget()
    campaign.run(min(options.jobs, len(todo)), options.quick, left)


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    try:
        sys.exit(main())
    except (CatalogueError, Failure, InputError) as error:
        print(f"mistakes: {error}", file=sys.stderr)
        sys.exit(1 if isinstance(error, Failure) else 2)
    except KeyboardInterrupt:
        sys.exit(130)
