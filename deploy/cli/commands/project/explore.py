# SPDX-License-Identifier: BSD-2-Clause
"""`skerry explore`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table

from deploy.base import host
from deploy.base.choices import option
from deploy.base.errors import Failure
from deploy.base.paths import LOGS
from deploy.base.process import heed_signals
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import takes
from deploy.deployment.modules import REGIMES
from deploy.setup import needs
from deploy.setup.build import ensure_built
from deploy.tools import explore as explorer
from deploy.tools.explore import Explored, Theme
from topology.errors import InputError

REGIME, THEME = "clh", "all"
BYTES = 32  # that a state needs (model/states/states.h)
_OF_REPLAY = re.compile(r"^regime (\S+)$", re.MULTILINE)
HEAD = 4096  # bytes of a replay file that may hold the regime


@dataclass(frozen=True)
class ExploreOptions:
    lock: Annotated[str | None, option("--lock REGIME", f"Lock regime of the kernel ({REGIME}).")] = None
    theme: Annotated[str | None, option("--theme NAME", f"Operations to explore ({THEME}: the whole alphabet).")] = None
    every: Annotated[bool, option("--all", "Every theme, one after the other.")] = False
    depth: Annotated[int | None, option("--depth N", "Steps of the longest path (the theme's).", 1, 255)] = None
    seconds: Annotated[int | None, option("--time S", "Seconds for each theme (no limit).", 1, 1000000)] = None
    states: Annotated[int, option("--states N", f"States to store, {BYTES} bytes each.", 1, 2000000000)] = 4000000
    cores: Annotated[int | None, option("--cores N", "Cores of the machine, 1 to 3 (the theme's).", 1, 3)] = None
    jobs: Annotated[int | None, option("--jobs N", "Processes that share the states (the host's cores).", 1, 64)] = None
    pairs: Annotated[bool, option("--pairs", "Also make each step in two machines with different secrets.")] = False
    reduce: Annotated[bool, option("--reduce", "Of orders of steps that commute, try one; for several cores.")] = False
    replay: Annotated[Path | None, option("--replay FILE", "Repeat the path of a find.")] = None
    listing: Annotated[bool, option("--list", "List the themes.")] = False
    quiet: Quiet = False
    json: Json = None


@takes(ExploreOptions)
def explore(args: ExploreOptions) -> None:
    """Explore every state of a kernel that short sequences of operations lead to, on a tiny machine.

    The kernel is the one that ships, in a process of this host. After each step all invariants are checked: of memory,
    capabilities, threads, address spaces and time; a crash of the kernel is a find, too. What is found is printed as a
    shortest path and kept in a file for --replay; the exit status is 1 then.
    """
    output = Output(args.quiet, args.json)
    _check(args)
    heed_signals()
    regime = _regime_of(args.replay) if args.replay else args.lock or REGIME
    ensure_built(output, needs.NAMES_OF_TESTS)
    ensure_built(output, needs.Needs(frozenset((explorer.target(regime),))))
    themes = {theme.name: theme for theme in explorer.themes(explorer.program(regime))}
    if args.theme and args.theme not in themes:
        raise InputError(f"--theme {args.theme}", f"not one of {'; '.join(themes)}")
    if args.listing:
        _list(output, list(themes.values()))
        return
    chosen = [*themes] if args.every else [args.theme or THEME]
    if args.pairs:
        chosen = [name for name in chosen if (args.cores or themes[name].cores) == 1]
        if not chosen:
            raise InputError("--pairs", f"theme {args.theme or THEME} needs several cores, and pairs are for one")
    if args.reduce:
        chosen = [name for name in chosen if (args.cores or themes[name].cores) > 1]
        if not chosen:
            raise InputError("--reduce", f"theme {args.theme or THEME} has one core: only steps of several commute")
    _explore(output, regime, args, chosen)


def _check(args: ExploreOptions) -> None:
    if args.lock and args.lock not in REGIMES:
        raise InputError(f"--lock {args.lock}", f"not one of {', '.join(REGIMES)}")
    if args.theme and args.every:
        raise InputError("--theme, --all", "at most one of the two is allowed")
    if args.replay and (args.lock or args.theme or args.every or args.cores or args.depth or args.pairs or
                        args.reduce):
        raise InputError("--replay", "the file says regime, theme, cores and steps: leave these options out")
    total, available = host.memory()
    if args.states * BYTES > available:
        raise InputError(f"--states {args.states}", f"needs {args.states * BYTES >> 20} MiB, and {available >> 20} of "
                         f"{total >> 20} MiB are free")
    if args.lock == "none" and args.cores and args.cores > 1:
        raise InputError(f"--lock none --cores {args.cores}", "this regime is for one core")


def _regime_of(path: Path) -> str:
    """Returns the regime of a replay file."""
    try:
        with path.open(errors="replace") as file:
            match = _OF_REPLAY.search(file.read(HEAD))
    except OSError as error:
        raise InputError(f"--replay {path}", (error.strerror or "cannot be read").lower()) from None
    if not match or match[1] not in REGIMES:
        raise InputError(f"--replay {path}", "a line 'regime NAME' of a known regime is expected")
    return match[1]


def _list(output: Output, themes: list[Theme]) -> None:
    table = Table("theme", box=None)
    for title in ("cores", "operations", "depth"):
        table.add_column(title, justify="right")
    for theme in themes:
        table.add_row(theme.name, str(theme.cores), str(theme.operations), str(theme.depth))
    output.table(table)
    output.results({"skerry": version(), "command": "explore", "results": [vars(theme) for theme in themes]})


def _command(regime: str, args: ExploreOptions, theme: str, record: Path) -> list[str]:
    command = [str(explorer.program(regime)), "--jobs", str(args.jobs or len(os.sched_getaffinity(0))), "--states",
               str(args.states), "--record", str(record), "--theme", theme]
    for name, value in (("--depth", args.depth), ("--time", args.seconds), ("--cores", args.cores)):
        command += [name, str(value)] if value else []
    return command + (["--pairs"] if args.pairs else []) + (["--reduce"] if args.reduce else [])


def _explore(output: Output, regime: str, args: ExploreOptions, chosen: list[str]) -> None:
    results: list[Explored] = []
    folder = LOGS / "explore"
    folder.mkdir(parents=True, exist_ok=True)
    title = "Repeating a path" if args.replay else f"Exploring {len(chosen)} theme{'s' if len(chosen) > 1 else ''}"
    try:
        with output.progress(f"{title}, {regime}", total=len(chosen)) as update:
            for theme in [args.replay.name] if args.replay else chosen:
                record = args.replay or folder / f"{regime}-{re.sub(r'[^a-z]+', '-', theme)}.txt"
                command = ([str(explorer.program(regime)), "--replay", str(record)] if args.replay
                           else _command(regime, args, theme, record))

                def show(state: Explored) -> None:
                    output.step(f"{state.theme}: depth {state.depth}, {state.states:,} states, {state.rate:,.0f}/s")

                result = explorer.run(command, theme, show)
                result.record = record if result.found else None
                results.append(result)
                update(completed=len(results))
    finally:
        if results:
            _report(output, regime, results, bool(args.replay))
    if finds := [result for result in results if result.found]:
        raise Failure("; ".join(f"{result.theme}: {result.found}" for result in finds))


def _report(output: Output, regime: str, results: list[Explored], replayed: bool) -> None:
    if not replayed:
        output.table(_table(results))
    for result in results:
        if result.found and not replayed:
            output.line(f"{result.theme}, a shortest path:")
            for number, step in enumerate(result.path, 1):
                output.line(f"  {number}. core {step}")
            output.line(f"replay: ./skerry explore --replay {result.record}")
        elif replayed:
            output.line(f"{result.theme}: {result.found or result.end}")
    output.results({
        "skerry": version(), "command": "explore", "host": {"cpu": host.cpu().model, "cores": host.cpu().cores},
        "results": [_to_json(regime, result) for result in results],
    })


def _to_json(regime: str, result: Explored) -> dict[str, Any]:
    return vars(result) | {"regime": regime, "record": str(result.record) if result.record else None,
                           "outcome": "found" if result.found else "passed"}


def _table(results: list[Explored]) -> Table:
    table = Table("theme", "", box=None)
    for title in ("depth", "states", "transitions", "pairs", "states/s"):
        table.add_column(title, justify="right")
    for one in results:
        table.add_row(one.theme, one.found or one.end, str(one.depth), f"{one.states:,}", f"{one.transitions:,}",
                      f"{one.pairs:,}" if one.pairs else "", f"{one.rate:,.0f}", style="red" if one.found else None)
    return table
