# SPDX-License-Identifier: BSD-2-Clause
"""Proves chosen theorems, for `skerry prove --theorems`, and tries faults that are planted in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.setup import needs, packages
from deploy.tools.theorems import prover, sources
from deploy.tools.theorems.prover import Outcome
from deploy.tools.theorems.sources import Source, Theorem

(GROUP,) = needs.PROOFS.groups


def need_tools() -> None:
    """Raises a Failure that names what is missing, and the command that installs it."""
    missing = [package for package in packages.missing({GROUP}) if package.group == GROUP]
    if missing:
        names = " ".join(package.name for package in missing)
        raise Failure(f"--theorems needs {', '.join(package.name for package in missing)}; root installs them by: "
                      f"apt-get install --no-install-recommends {names}")


def chosen(word: str) -> list[Source]:
    """Reads the theorems whose function or file has the word in its name."""
    found = []
    for path in sources.files():
        source = sources.read(path)
        kept = tuple(one for one in source.theorems if word in one.function.lower() or word in one.file.lower())
        if kept:
            helpers = source.helpers | {one.function: one.code for one in source.theorems if one not in kept}
            found.append(source if kept == source.theorems else replace(source, theorems=kept, helpers=helpers))
    return found


def theorems(found: Iterable[Source]) -> list[Theorem]:
    return [theorem for source in found for theorem in source.theorems]


def prove(found: Sequence[Source], folder: Path, jobs: int, tick: Callable[[], None]) -> list[Outcome]:
    """Proves them; `folder` keeps what the provers read and say."""
    folder.mkdir(parents=True, exist_ok=True)
    return prover.prove(found, folder, jobs, tick)


def is_found(file: str, function: str, old: str, new: str, folder: Path) -> str:
    """Plants a fault in a function's text. Returns the goal that fails; an empty text where all are proved."""
    path = ROOT / file
    text = path.read_text()
    start = text.index(sources.function_text(text, function))
    body = sources.function_text(text, function)
    if body.count(old) != 1:
        raise Failure(f"{file}: {function}() has {old!r} {body.count(old)} times, not once")
    changed = text[:start] + body.replace(old, new) + text[start + len(body):]
    source = sources.read(path, changed)
    theorem = next(one for one in source.theorems if one.function == function)
    helpers = source.helpers | {one.function: one.code for one in source.theorems if one is not theorem}
    folder.mkdir(parents=True, exist_ok=True)
    for query in prover.queries(source, theorem):
        answers = prover.ask(query, folder, ("z3",))[1]
        if not query.satisfiable and answers["z3"] == "sat":
            return f"{query.name} (z3: sat)"
    outcomes, _ = prover.frama_c([replace(source, theorems=(theorem,), helpers=helpers)], folder, 1, timeout=3)
    return next(iter(outcomes[function].failed), "")
