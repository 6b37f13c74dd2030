# SPDX-License-Identifier: BSD-2-Clause
"""`skerry prove`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table

from deploy.base import host, process
from deploy.base.choices import option
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import LOGS, ROOT
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.setup import needs
from deploy.setup.build import ensure_built
from deploy.tools.testing import meson_tests
from deploy.tools.testing.meson_tests import MesonTest
from deploy.tools.theorems import campaign
from deploy.tools.theorems.prover import Outcome
from topology import foreign
from topology.errors import InputError

SUITE = "model: "
MISTAKES = [sys.executable, "-m", "tests.mistakes", "--explored"]
CASE = re.compile(r"^ok: .*: (\d+) executions, (\d+) redundant, (\d+) states", re.MULTILINE)
_LOOK = 0.05  # seconds between looks at what runs

Only = Annotated[str | None, option("--only WORD", "Only proofs with WORD in their name.")]
Mistakes = Annotated[bool, option("--mistakes", "Also plant known mistakes, each of which must be found.")]
Theorems = Annotated[bool, option("--theorems", "Prove the theorems about arithmetic, not the cases.")]
List = Annotated[bool, option("--list", "List the proofs.")]


@dataclass(frozen=True)
class Proof:
    """One program's cases, and what came of them."""

    name: str
    passed: bool
    seconds: float
    cases: int
    executions: int
    states: int
    log: Path

    def to_json(self) -> dict[str, Any]:
        metrics = {"cases": self.cases, "executions": self.executions, "states": self.states}
        return {"name": self.name, "outcome": "passed" if self.passed else "failed", "seconds": round(self.seconds, 3),
                "metrics": metrics}


def prove(only: Only = None, mistakes: Mistakes = False, theorems: Theorems = False, only_list: List = False,
          quiet: Quiet = False, json: Json = None) -> None:
    """Take small cases of locks, kernel and managers through every execution that two or three threads can have.

    These are proofs within bounds: the sources are those that ship, under the C11 memory model, and each case has few
    threads and steps (docs/kernel-tests.md has them). The exit status is 1 where a case fails; its log shows the
    execution. `skerry test --only "model:"` is the same without mistakes, as tests.

    With --theorems: the contracts of functions of pure arithmetic, by Frama-C, Z3 and cvc5 (docs/proofs.md), for all
    arguments. The exit status is 1 where one is not proved.
    """
    process.heed_signals()
    output = Output(quiet, json)
    if theorems:
        if mistakes:
            raise InputError("--mistakes", "theorems have planted faults of their own: python -m tests.long.theorems")
        _prove_theorems(output, only, only_list)
    else:
        _prove_cases(output, only, only_list, mistakes)


def _prove_cases(output: Output, only: str | None, only_list: bool, mistakes: bool) -> None:
    ensure_built(output, needs.NAMES_OF_TESTS)
    word = (only or "").lower()
    chosen = [test for test in meson_tests.collect(SUITE) if word in test.name.lower()]
    planted = _planted(word) if mistakes else []
    if not chosen and not planted:
        raise InputError(f"--only {only}", "no proof has this in its name")
    if only_list:
        for test in chosen:
            output.line(_name(test))
        for name in planted:
            output.line(name)
    else:
        ensure_built(output, needs.Needs(meson_tests.targets(chosen)))
    proofs = [] if only_list else _prove(output, chosen, planted, word)
    if proofs:
        output.table(_table(proofs))
    output.results({
        "skerry": version(),
        "command": "prove",
        "host": {"cpu": host.cpu().model, "cores": host.cpu().cores},
        "results": [{"name": name} for name in (*map(_name, chosen), *planted)]
        if only_list else [proof.to_json() for proof in proofs],
    })
    if failed := [f"{proof.name} (log: {proof.log})" for proof in proofs if not proof.passed]:
        raise Failure(f"not proved: {'; '.join(failed)}")


def _prove_theorems(output: Output, only: str | None, only_list: bool) -> None:
    found = campaign.chosen((only or "").lower())
    named = campaign.theorems(found)
    if not named:
        raise InputError(f"--only {only}", "no theorem has this in its name")
    outcomes: list[Outcome] = []
    if only_list:
        for theorem in named:
            output.line(f"{theorem.file}: {theorem.function}: {theorem.words}")
    else:
        campaign.need_tools()
        folder = LOGS / "theorems"
        with alone("skerry prove --theorems", folder), output.progress(f"Proving {len(named)} theorems") as update:
            outcomes = campaign.prove(found, folder, len(os.sched_getaffinity(0)), lambda: update())
        output.table(_theorem_table(outcomes))
    output.results({
        "skerry": version(), "command": "prove", "host": {"cpu": host.cpu().model, "cores": host.cpu().cores},
        "results": [{"name": theorem.function} for theorem in named]
        if only_list else [outcome.to_json() for outcome in outcomes],
    })
    if failed := [f"{outcome.theorem.function}: {', '.join(outcome.failed)}" for outcome in outcomes if outcome.failed]:
        raise Failure(f"not proved: {'; '.join(failed)} (log: {LOGS / 'theorems' / 'frama-c.log'})")


def _theorem_table(outcomes: list[Outcome]) -> Table:
    table = Table("theorem", "of", "", box=None)
    for title in ("goals", "Qed", "Z3 by WP", "Z3 on bits", "cvc5", "s"):
        table.add_column(title, justify="right")
    for one in outcomes:
        counts = [str(one.goals.get(prover, "")) for prover in ("Qed", "Z3", "z3", "cvc5")]
        table.add_row(one.theorem.function, one.theorem.file, "FAILED" if one.failed else "ok", str(one.goal_count),
                      *counts, f"{one.seconds:.1f}", style="red" if one.failed else None)
    return table


def _name(test: MesonTest) -> str:
    return test.name.removeprefix(SUITE)


def _prove(output: Output, chosen: list[MesonTest], planted: list[str], word: str) -> list[Proof]:
    proofs: list[Proof] = []
    width, names = len(os.sched_getaffinity(0)), [*map(_name, chosen), *planted]
    with output.progress(f"Exploring {len(names)} programs", total=len(names)) as update:
        for proof in chain(_run(chosen, width), _find(word, width) if planted else ()):
            proofs.append(proof)
            update(completed=len(proofs))
            if not proof.passed:
                output.line(f"not proved: {proof.name}")
    return sorted(proofs, key=lambda proof: names.index(proof.name))


def _planted(word: str) -> list[str]:
    """The mistakes that the explorer must find, by name."""
    done = subprocess.run([*MISTAKES, word, "--list"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Failure((done.stderr.strip() or "tests.mistakes: no output").splitlines()[-1])
    return done.stdout.splitlines()


def _find(word: str, width: int) -> Iterator[Proof]:
    """Plants them, each of which the explorer must find; results as they come."""
    with subprocess.Popen([*MISTAKES, word, "--jobs", str(width)], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True) as running:
        assert running.stdout
        for line in running.stdout:
            tried = foreign.json(line, "python -m tests.mistakes")
            log = _log(tried["name"])
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(f"{tried['verdict']} {tried['by']}\n")
            yield Proof(tried["name"], tried["verdict"] == "caught", tried["seconds"], 0, 0, 0, log)
    if running.returncode not in (0, 1):  # 1: one was not found
        raise Failure(f"python -m tests.mistakes ended with status {running.returncode}")


def _log(name: str) -> Path:
    return LOGS / "prove" / (re.sub(r"[^A-Za-z0-9.+-]+", "-", name)[:120] + ".log")


def _run(tests: list[MesonTest], width: int,
         start: Callable[..., subprocess.Popen[bytes]] = process.start) -> Iterator[Proof]:
    """So many at a time; results as they come."""
    folder = LOGS / "prove"
    waiting, running = list(tests), list[tuple[MesonTest, Path, float, subprocess.Popen[bytes]]]()
    with ExitStack() as stack:
        stack.enter_context(alone("skerry prove", folder))
        while waiting or running:
            while waiting and len(running) < width:
                test = waiting.pop(0)
                log = _log(_name(test))
                one = start(test.command, log)
                stack.callback(process.stop, one)
                running.append((test, log, time.monotonic(), one))
            time.sleep(_LOOK)
            for entry in [entry for entry in running if entry[3].poll() is not None]:
                running.remove(entry)
                yield _proof(*entry)


def _proof(test: MesonTest, log: Path, began: float, ended: subprocess.Popen[bytes]) -> Proof:
    cases = [[int(number) for number in match.groups()] for match in CASE.finditer(log.read_text(errors="replace"))]
    sums = [sum(column) for column in zip(*cases)] or [0, 0, 0]
    return Proof(_name(test), ended.returncode == 0, time.monotonic() - began, len(cases), sums[0], sums[2], log)


def _table(proofs: list[Proof]) -> Table:
    table = Table("proof", "", box=None)
    for title in ("cases", "executions", "states", "s"):
        table.add_column(title, justify="right")
    for one in proofs:
        figures = (f"{one.cases}", f"{one.executions:,}", f"{one.states:,}") if one.cases else ("", "", "")
        table.add_row(one.name, "ok" if one.passed else "FAILED", *figures, f"{one.seconds:.1f}",
                      style=None if one.passed else "red")
    return table
