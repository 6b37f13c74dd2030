# SPDX-License-Identifier: BSD-2-Clause
"""`skerry fuzz`."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from deploy.base import host
from deploy.base.errors import Failure
from deploy.base.file_lock import LOCK, alone, exclusive
from deploy.base.parallel import Pool
from deploy.base.process import heed_signals
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import Scheduler, takes
from deploy.deployment.modules import REGIMES
from deploy.results.scheduler import workers
from deploy.setup import needs
from deploy.setup.build import ensure_built
from deploy.tools.fuzz import minimise as minimising, seeds
from deploy.tools.fuzz.run import Limits, State, fuzz as run_fuzzers
from deploy.tools.fuzz.target import KERNEL, NAMES, NET, Target, build
from topology.errors import InputError

SECONDS = 60  # without --time and --runs
DEFAULT_REGIME = "clh"
SAID_EVERY = 20.0  # seconds, where there is no terminal

Runs = Annotated[int | None, typer.Option("--runs", metavar="N", min=1, help="Runs of all jobs, in place of a time.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Parallel processes that share a corpus (1).")]
Merge = Annotated[bool, typer.Option("--merge", help="Merge new inputs into the repository's corpus, minimised.")]


@dataclass(frozen=True)
class FuzzOptions:
    what: Annotated[str, typer.Option("--target", metavar="NAME", help=f"What to fuzz: {', '.join(NAMES)}.")] = KERNEL
    regime: Annotated[str | None, typer.Option("--regime", metavar="REGIME",
                                               help=f"Lock regime of the kernel ({DEFAULT_REGIME}): "
                                               f"{', '.join(REGIMES)}.")] = None
    seconds: Annotated[int | None, typer.Option("--time", metavar="S", min=1, help=f"Seconds ({SECONDS}).")] = None
    runs: Runs = None
    jobs: Jobs = 1
    seed: Annotated[int | None, typer.Option(
        "--seed", metavar="N", min=1, max=2**31 - 1,
        help="Seed of the mutations, or the first seed of target net (default: random).")] = None
    corpus: Annotated[
        Path | None, typer.Option("--corpus", metavar="DIR", help="Folder for inputs with new coverage.")
    ] = None
    merge: Merge = False
    scheduler: Scheduler = None
    quiet: Quiet = False
    json: Json = None


@takes(FuzzOptions)
def fuzz(args: FuzzOptions) -> None:
    """Make arbitrary sequences of system calls, interrupts and faults on several cores of a kernel in a process.

    After each step all invariants are checked, under ASan and UBSan. Another target is one of the readers of
    foreign bytes: maps, program images, archives, ACPI tables, boot information, messages between managers. A find is
    minimised and kept, with the command that replays it; the exit status is 1 then. Target net runs three TCP stacks
    with losses, deaths and hostile far ends, one seed after the other; of a find the seed and the command that repeats
    it are said.
    """
    what, regime, corpus = args.what, args.regime, args.corpus
    output = Output(args.quiet, args.json)
    if args.seconds and args.runs:
        raise InputError("--time, --runs", "at most one of the two is allowed")
    if what not in NAMES:
        raise InputError(f"--target {what}", f"not one of {', '.join(NAMES)}")
    if regime and regime not in REGIMES:
        raise InputError(f"--regime {regime}", f"not one of {', '.join(REGIMES)}")
    if regime and what != KERNEL:
        raise InputError(f"--regime {regime}", f"the kernel has regimes, {what} has none")
    if what == NET and (corpus or args.merge):
        raise InputError("--corpus, --merge", f"{what} has no corpus: its runs are drawn from seeds")
    if corpus and corpus.exists() and not corpus.is_dir():
        raise InputError(f"--corpus {corpus}", "not a folder")
    heed_signals()
    ensure_built(output, needs.NAMES_OF_TESTS if what == NET else needs.FUZZ)
    target = build(output, what, regime or DEFAULT_REGIME)
    limits, first = Limits(args.seconds or SECONDS, args.runs), args.seed or random.randrange(1, 2**31)
    with alone("skerry fuzz", target.folder), workers(args.scheduler) as pool:
        if target.seeded:
            _seeds(output, target, limits, args.jobs, first, pool)
        else:
            _campaign(output, target, corpus or target.folder / "corpus", limits, args, first, pool)


def _campaign(output: Output, target: Target, learned: Path, limits: Limits, args: FuzzOptions, seed: int,
              pool: Pool | None) -> None:
    began = time.monotonic()
    runs = limits.runs
    amount = f"{runs} runs" if runs else f"{limits.seconds} s"
    with output.progress(f"Fuzzing {target.title} for {amount}, seed {seed}", total=runs or limits.seconds) as update:
        state, find = run_fuzzers(target, learned, limits, args.jobs, seed, _shower(output, update, bool(runs)), pool)
    result: dict[str, Any] = {
        "target": target.name, "regime": target.regime or None, "seed": seed, "jobs": args.jobs,
        "seconds": round(time.monotonic() - began, 1),
        "runs": state.runs, "branches": state.coverage, "features": state.features, "corpus": state.corpus,
    }
    output.line(f"{target.title}: {state}")
    if find:
        with output.progress("Minimising what was found"):
            path, before, after = minimising.minimise(target, find)
        unit = "steps" if target.regime else "bytes"
        command = f"{target.replay} -v {path}"
        result["find"] = {"reason": find.reason, "input": str(path), "records": after, "replay": command}
        output.line(f"found: {find.reason}")
        output.line(f"input: {path} ({after} {unit}, minimised from {before})")
        output.line(f"replay: {command}")
    elif args.merge:
        merged = _merge(output, target, learned)
        result["merged"] = vars(merged)
        output.line(f"corpus: {merged}")
    _results(output, result)
    if find:
        raise Failure(f"the fuzzer found: {find.reason}")


def _results(output: Output, result: dict[str, Any]) -> None:
    output.results({
        "skerry": version(),
        "command": "fuzz",
        "host": {"cpu": host.cpu().model, "cores": host.cpu().cores},
        "results": [result],
    })


def _seeds(output: Output, target: Target, limits: Limits, jobs: int, seed: int, pool: Pool | None) -> None:
    began = time.monotonic()
    runs = limits.runs
    amount = f"{runs} seeds" if runs else f"{limits.seconds} s"
    with output.progress(f"Fuzzing {target.title} for {amount}, seeds from {seed}",
                         total=runs or limits.seconds) as update:
        progress, find = seeds.fuzz(target, limits, jobs, seed, _shower(output, update, bool(runs)), pool)
    result: dict[str, Any] = {
        "target": target.name, "regime": None, "seed": seed, "jobs": jobs,
        "seconds": round(time.monotonic() - began, 1),
        "runs": progress.runs, "connections": progress.connections, "frames": progress.frames,
    }
    output.line(f"{target.title}: {progress}")
    if find:
        result["find"] = {"reason": find.reason, "seed": find.seed, "replay": find.repeat}
        output.line(f"found: seed {find.seed}: {find.reason}")
        output.line(f"replay: {find.repeat}")
    _results(output, result)
    if find:
        raise Failure(f"the fuzzer found: {find.reason}")


def _merge(output: Output, target: Target, learned: Path) -> minimising.Merged:
    """One regime at a time: all have one corpus."""

    def wait(holder: str) -> None:
        output.step(f"Waiting for {holder or 'another process'}, which merges into {target.corpus}")

    with exclusive(target.folder.parent / f"{target.corpus.name}{LOCK}", "skerry fuzz --merge", wait):
        with output.progress("Merging into the repository's corpus"):
            return minimising.merge(target, learned)


def _shower(output: Output, update: Any, by_runs: bool) -> Any:
    """Shows progress: a bar on a terminal, else a line now and then."""
    began = shown = time.monotonic()

    def show(state: State | seeds.Progress) -> None:
        nonlocal shown
        now = time.monotonic()
        update(completed=state.runs if by_runs else now - began, description=str(state))
        if not output.err.is_terminal and now - shown > SAID_EVERY:
            shown = now
            output.step(str(state))

    return show
