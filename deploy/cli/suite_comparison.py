# SPDX-License-Identifier: BSD-2-Clause
"""`skerry compare --suite`: a table of workloads under both layouts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path

from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.base.timeouts import Patience
from deploy.compare import suite, suite_plot
from deploy.compare.runs import link
from deploy.compare.suite_rows import On, chosen
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import ModelledMachine
from deploy.machine import qemu
from deploy.results.result import document, host_description
from deploy.setup.build import ensure_built
from topology.errors import InputError


def machine(modelled: ModelledMachine | None, images: int | None, refused: Mapping[str, object]) -> ModelledMachine:
    """Returns the machine of a suite; InputError for options that it does not have. `refused`: these, with values."""
    if not modelled:
        raise InputError("--suite", "is for a modelled machine (--machine)")
    if odd := [name for name, given in refused.items() if given]:
        raise InputError("--suite", f"has rows of its own; not with {', '.join(odd)}")
    if images == 1:
        raise InputError("--images", "a suite needs 2 or more: one has no interval")
    return modelled


def compare(on: On, rows: str | None, images: int, timeout: Patience, output: Output, picture: Path) -> None:
    """Measures the rows that are not known yet, prints and writes all. Raises Failure if a control does not hold."""
    wanted = [suite.asked(row, on, images, timeout) for row in chosen(rows)]
    modelled_run.check_installed()
    ensure_built(output, reduce(or_, (suite.needed(case) for row in wanted for case in row.every)))
    link(case for row in wanted for case in row.every)
    mode = modelled_run.mode(on.machine)
    output.line(f"Machine: {on.empty.shape}; lock {on.lock}. Mode: {mode.description}.")
    parts = Parts(output)
    outcomes = suite.measure(wanted, output, parts)
    parts.require(outcomes)
    output.table(suite.table(outcomes))
    data = document("compare", host_description(mode, qemu.BINARY), (), [
        layout.to_json() | one.about for one in outcomes for layout in (one.pair.first, one.pair.second)
    ])
    with output.ending([suite.sentences(outcomes)]):
        output.results(data | parts.to_json() | {"ratios": [one.to_json() for one in outcomes]})
        suite_plot.plot(outcomes, picture, mode.description)
        output.written(picture)
    parts.finish()
    suite.check(outcomes)
