# SPDX-License-Identifier: BSD-2-Clause
"""The Mach study's tables and its Figure 3 for this kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.bench.mach.measure import MEMORY, MESSAGES, NO_CLASS_RANGES, NO_RANGES, STUDY, ClassRanges, Ranges, Run
from deploy.live.lockstat.record import ratio
from deploy.live.lockstat.table import (
    NAMES,
    has_readers,
    has_transactions,
    plain_table,
    reader_table,
    transaction_table,
)
from deploy.results.figure import MARKERS, plain_axes, publish, subplots
from deploy.results.kinds import bracketed
from topology.model.papers import MACH_CONFLICTS, MACH_PROCESSORS, MACH_READS, MACH_TOTAL

# Counterparts here of Mach's classes.
NEAREST = (
    "Nearest to Mach's classes: run queue (CPU LIST, GLOBAL and LOCAL RUNQ), TCB, with reply objects (THREAD LOCK), "
    "endpoint and notification (OBJ LOCK of ports, MESSAGEQ). Mach's locks of memory (ZONE, VM PAGE…, PMAP) have no "
    "counterpart: untyped memory, frames and address spaces have no locks of their own here and stand under the "
    "kernel's. Under one lock its conflicts stand beside the total of all of Mach's classes. A reader/writer lock "
    "(Mach's complex locks) has regime fine alone, and no lock here sleeps: a core spins."
)
TITLES = {
    MESSAGES: ("Table 1", "Table 3", "message program"),
    MEMORY: ("Table 2", "Table 4", "VM program"),
}


def _what(run: Run) -> str:
    if run.work.program == MESSAGES:
        return f"{run.work.tasks} clients, 1 server, {run.operations:,} requests"
    return f"{run.work.tasks} tasks, {run.servers} pagers, {run.operations:,} copies on write"


def beside_paper(program: str, name: str, ours: float) -> tuple[str, str]:
    """Returns the study's figure for the nearest class, and this kernel's over it."""
    published = MACH_CONFLICTS.get((program, name))
    if published is None:
        return "", ""
    return f"{published.value:.4f}", f"{ours / published.value:.3g}"


def _ratio(run: Run, name: str, value: float, ranged: ClassRanges) -> str:
    bounds = ranged.get((*run.key, name))
    return f"{value:.3f}" + (f" [{bounds[0]:.3f}..{bounds[1]:.3f}]" if bounds else "")


def simple_locks(runs: Sequence[Run], ranged: ClassRanges = NO_CLASS_RANGES) -> Table:
    """Table 1 or 2: the columns that stood there, and beside them what stood there; one block for each regime."""
    program = runs[0].work.program
    number, _, name = TITLES[program]
    title = f"{number}: simple locks, {name} on {runs[0].cores} cores ({_what(runs[0])})"
    table = plain_table(
        title, "regime", "lock class", "instances", "acqui-\nsitions", "conflicts", "conflicts/\nacquisition",
        "spins max", "ave", f"paper, {MACH_PROCESSORS} CPUs: conflicts/\nacquisition", "ours/paper",
    )
    table.columns[1].justify = "left"
    for run in runs:
        table.add_section()
        locks = run.snapshot.total.simple
        for name, lock in sorted(locks.items(), key=lambda item: -item[1].conflicts):
            counts = (lock.instances, lock.acquisitions, lock.conflicts)
            spins = (f"{lock.spins_max:,}", f"{lock.spins_mean:,.0f}")
            published = beside_paper(program, name if len(locks) > 1 else MACH_TOTAL, lock.conflict_ratio)
            ours = _ratio(run, name, lock.conflict_ratio, ranged)
            table.add_row(run.lock, NAMES[name], *(f"{n:,}" for n in counts), ours, *spins, *published)
        if len(locks) > 1:
            acquisitions, conflicts = sum(lock.acquisitions for lock in locks.values()), sum(lock.conflicts
                for lock in locks.values())
            ours, published = _ratio(run, MACH_TOTAL, run.conflict_ratio, ranged), beside_paper(program, MACH_TOTAL,
                run.conflict_ratio)
            table.add_row(run.lock, "total", "", f"{acquisitions:,}", f"{conflicts:,}", ours, "", "", *published)
    return table


def complex_locks(runs: Sequence[Run]) -> Table | str:
    """Table 3 or 4."""
    _, number, name = TITLES[runs[0].work.program]
    having = [(run.lock, run.snapshot) for run in runs if has_readers(run.snapshot)]
    if not having:
        return f"{number}: none of these regimes has a reader/writer lock."
    return reader_table(f"{number}: reader/writer locks, {name} on {runs[0].cores} cores (waits in TSC cycles)", having)


def reads(runs: Sequence[Run]) -> Table | None:
    """Returns the study's conclusion from Tables 3 and 4: how much more often such locks are taken to read."""
    having = [run for run in runs if has_readers(run.snapshot)]
    if not having:
        return None
    published = MACH_READS
    table = plain_table("Acquisitions to read for each one to write", "regime", "program", "reads/write", "paper",
                        "ours/paper")
    table.columns[1].justify = "left"
    for run in having:
        locks = run.snapshot.total.locks
        ours = ratio(locks["read"].acquisitions, locks["write"].acquisitions)
        over = f"{ours / published.high:.1f} to {ours / published.low:.1f}" if ours else "no writers"
        table.add_row(run.lock, run.work.program, f"{ours:.1f}", f"{published.low:g} to {published.high:g}", over)
    return table


def throughput(runs: Sequence[Run], ranged: Ranges) -> Table:
    """Returns a table of throughput, which later papers report first."""
    unit = {"step": "instructions of a core", "modelled": "modelled cycles"}.get(runs[0].clock, "TSC cycles")
    table = plain_table(
        f"Operations in a million {unit}, of kernels that count (the cost of counting is included; fine counts most)",
        "regime", "program", "cores", "operations/million", "kernel entries/operation",
    )
    table.columns[1].justify = "left"
    for run in runs:
        entries = f"{ratio(run.snapshot.total.entries, run.operations):.1f}"
        least, most = ranged.get(run.key, (0.0, 0.0))
        bounds = f" [{least:,.1f}..{most:,.1f}]" if most else ""
        rate = f"{run.metrics['operations_per_million_cycles']:,.1f}{bounds}"
        table.add_row(run.lock, run.work.program, str(run.cores), rate, entries)
    return table


def over_cores(runs: Sequence[Run], ranged: ClassRanges = NO_CLASS_RANGES) -> Table:
    """Figure 3 in numbers."""
    sizes = sorted({run.cores for run in runs})
    four = MACH_PROCESSORS in sizes
    more = (f"ours/paper, {MACH_PROCESSORS}",) if four else ()
    table = plain_table("Figure 3: conflicts per acquisition, message program, by number of cores", "regime",
                        *map(str, sizes), *more)
    for lock in dict.fromkeys(run.lock for run in runs):
        by_cores = {run.cores: run for run in runs if run.lock == lock}
        cells = [_ratio(by_cores[n], MACH_TOTAL, by_cores[n].conflict_ratio, ranged) if n in by_cores else ""
                 for n in sizes]
        over = [beside_paper(MESSAGES, MACH_TOTAL, by_cores[MACH_PROCESSORS].conflict_ratio)[1]
                if MACH_PROCESSORS in by_cores else ""] if four else []
        table.add_row(lock, *cells, *over)
    if four:
        table.add_section()
        total = MACH_CONFLICTS[MESSAGES, MACH_TOTAL]
        cells = [f"{total.value:.3f}" if n == MACH_PROCESSORS else "" for n in sizes]
        table.add_row("paper (Table 1; of the figure the text has no points)", *cells, "")
    return table


def tables(runs: Sequence[Run], ranged: Ranges = NO_RANGES,
           classes: ClassRanges = NO_CLASS_RANGES) -> Iterator[Table | str]:
    most = max(run.cores for run in runs)
    for program in (MESSAGES, MEMORY):
        if mine := [run for run in runs if run.work.program == program and run.cores == most]:
            yield simple_locks(mine, classes)
    for program in (MESSAGES, MEMORY):
        if mine := [run for run in runs if run.work.program == program and run.cores == most]:
            yield complex_locks(mine)
    if (table := reads([run for run in runs if run.cores == most])) is not None:
        yield table
    if transactions := [(f"{r.lock}, {r.work.program}", r.snapshot) for r in runs if r.cores == most
                        and has_transactions(r.snapshot)]:
        yield transaction_table("Transactions (no table there)", transactions)
    messages = [run for run in runs if run.work.program == MESSAGES]
    if len({run.cores for run in messages}) > 1:
        yield over_cores(messages, classes)
    yield throughput([run for run in runs if run.cores == most], ranged)
    yield f"Tables and figure are those of {STUDY}. {NEAREST}"
    if idle := [run.lock for run in runs if run.snapshot.total.transactions.fallbacks
                and not run.snapshot.total.transactions.begun]:
        yield (
            f"Here {idle[0]} ran as its fallback, clh: this machine has no transactions, and the kernel found that out "
            f"when it started."
        )
    if modelled := runs[0].modelled:
        brackets = " In brackets: under half and double line costs." if ranged else ""
        yield f"{modelled.header}. Kernels that count read the clock while they hold the lock.{brackets}"
    elif runs[0].emulated:
        yield (
            "Emulated: counts and spins are the kernel's with every instruction one cycle and cache lines moving for "
            "nothing; the cost of a line's transfer, which real locks are about, is not in them."
        )
    number = sum(len(run.checks) for run in runs)
    yield (
        f"All {number} checks hold: acquisitions (or commits and fallbacks) equal entries, idle and busy cycles equal "
        f"wall."
    )


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
