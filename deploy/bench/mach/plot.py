# SPDX-License-Identifier: BSD-2-Clause
"""The study's Figure 3 for this kernel, and the conflicts of Tables 1 and 2 beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deploy.bench.mach.measure import STUDY, Run
from deploy.bench.mach.stress import MEMORY, MESSAGES
from deploy.live.lockstat.table import NAMES
from deploy.results.figure import MARKERS, plain_axes, publish, subplots
from deploy.results.kinds import bracketed


def plot_mach(runs: Sequence[Run], mode: str, output: Path) -> None:
    figure, (left, right) = subplots(1, 2, figsize=(12.0, 4.8))
    _over_cores(left, [run for run in runs if run.work.program == MESSAGES])
    most = max(run.cores for run in runs)
    _classes(right, [run for run in runs if run.cores == most])
    modelled = runs[0].modelled
    emulated = bracketed(runs[0].emulated, modelled.name if modelled else None, " ")
    publish(figure, output, f"Conflicts of the kernel's locks{emulated}",
            textwrap.fill(f"{STUDY}. {mode}.", width=240), 0.06)


def _over_cores(axes: Any, runs: Sequence[Run]) -> None:
    for number, lock in enumerate(dict.fromkeys(run.lock for run in runs)):
        mine = sorted((run for run in runs if run.lock == lock), key=lambda run: run.cores)
        shares = [100 * run.conflict_ratio for run in mine]
        axes.plot([run.cores for run in mine], shares, marker=MARKERS[number % len(MARKERS)], label=lock)
    axes.set_title("Figure 3: message program", size=9)
    plain_axes(axes, (run.cores for run in runs), "conflicts, % of acquisitions")
    if runs:
        axes.legend(frameon=False, fontsize=8)


def _classes(axes: Any, runs: Sequence[Run]) -> None:
    bars = [
        (f"{run.lock}: {NAMES[name]}", 100 * lock.conflict_ratio, run.work.program)
        for run in runs
        for name, lock in run.snapshot.total.simple.items()
    ]
    labels = list(dict.fromkeys(label for label, _, _ in bars))
    for shift, (program, what) in ((-0.2, (MESSAGES, "Table 1: message program")),
                                   (0.2, (MEMORY, "Table 2: VM program"))):
        mine = [(labels.index(label) + shift, share) for label, share, of in bars if of == program]
        axes.barh([place for place, _ in mine], [share for _, share in mine], height=0.38, label=what)
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("conflicts, % of acquisitions")
    cores = max((run.cores for run in runs), default=0)
    axes.set_title(f"Tables 1 and 2: lock classes on {cores} cores", size=9, pad=4)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.06))
