# SPDX-License-Identifier: BSD-2-Clause
"""Tables 1 to 4 of the Mach study, for this kernel, and the numbers of its Figure 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from deploy.bench.mach import STUDY, Run
from deploy.bench.stress import MEMORY, MESSAGES
from deploy.lockstat.record import ratio
from deploy.lockstat.table import NAMES, has_readers, has_transactions, plain_table, reader_table, transaction_table

# What stands here for what stood there.
NEAREST = (
    "Nearest to Mach's classes: run queue (CPU LIST, GLOBAL and LOCAL RUNQ), TCB, with reply objects (THREAD LOCK), endpoint and "
    "notification (OBJ LOCK of ports, MESSAGEQ). Mach's locks of memory (ZONE, VM PAGE…, PMAP) have no counterpart: "
    "untyped memory, frames and address spaces have no locks of their own here and stand under the kernel's. "
    "A reader/writer lock (Mach's complex locks) has regime fine alone, and no lock here sleeps: a core spins."
)
TITLES = {
    MESSAGES: ("Table 1", "Table 3", "message program"),
    MEMORY: ("Table 2", "Table 4", "VM program"),
}


def _what(run: Run) -> str:
    if run.work.program == MESSAGES:
        return f"{run.work.tasks} clients, 1 server, {run.operations:,} requests"
    return f"{run.work.tasks} tasks, {run.servers} pagers, {run.operations:,} copies on write"


def simple_locks(runs: Sequence[Run]) -> Table:
    """Table 1 or 2: the columns that stood there; one block for each regime."""
    number, _, name = TITLES[runs[0].work.program]
    title = f"{number}: simple locks, {name} on {runs[0].cores} cores ({_what(runs[0])})"
    table = plain_table(title, "regime", "lock class", "instances", "grabs", "conflicts", "conflicts/grab", "spins max", "ave")
    table.columns[1].justify = "left"
    for run in runs:
        table.add_section()
        locks = run.snapshot.total.simple
        for name, lock in sorted(locks.items(), key=lambda item: -item[1].conflicts):
            counts = (lock.instances, lock.grabs, lock.conflicts)
            spins = (f"{lock.spins_max:,}", f"{lock.spins_mean:,.0f}")
            table.add_row(run.lock, NAMES[name], *(f"{n:,}" for n in counts), f"{lock.conflict_ratio:.3f}", *spins)
        if len(locks) > 1:
            grabs, conflicts = sum(lock.grabs for lock in locks.values()), sum(lock.conflicts for lock in locks.values())
            table.add_row(run.lock, "total", "", f"{grabs:,}", f"{conflicts:,}", f"{run.conflict_ratio:.3f}", "", "")
    return table


def complex_locks(runs: Sequence[Run]) -> Table | str:
    """Table 3 or 4."""
    _, number, name = TITLES[runs[0].work.program]
    having = [(run.lock, run.snapshot) for run in runs if has_readers(run.snapshot)]
    if not having:
        return f"{number}: none of these regimes has a reader/writer lock."
    return reader_table(f"{number}: reader/writer locks, {name} on {runs[0].cores} cores (waits in TSC cycles)", having)


def throughput(runs: Sequence[Run]) -> Table:
    """What the papers since then would have asked first."""
    unit = "instructions of a core" if runs[0].clock == "step" else "TSC cycles"
    table = plain_table(f"Operations in a million {unit}, of kernels that count (what counting costs is in them, and fine counts most)", "regime", "program", "cores", "operations/million", "kernel entries/operation")
    table.columns[1].justify = "left"
    for run in runs:
        entries = f"{ratio(run.snapshot.total.entries, run.operations):.1f}"
        table.add_row(run.lock, run.work.program, str(run.cores), f"{run.metrics['operations_per_million_cycles']:,.1f}", entries)
    return table


def over_cores(runs: Sequence[Run]) -> Table:
    """Figure 3 in numbers."""
    sizes = sorted({run.cores for run in runs})
    table = plain_table("Figure 3: conflicts per grab, message program, by number of cores", "regime", *map(str, sizes))
    for lock in dict.fromkeys(run.lock for run in runs):
        by_cores = {run.cores: f"{run.conflict_ratio:.3f}" for run in runs if run.lock == lock}
        table.add_row(lock, *(by_cores.get(n, "") for n in sizes))
    return table


def tables(runs: Sequence[Run]) -> Iterator[Table | str]:
    most = max(run.cores for run in runs)
    for program in (MESSAGES, MEMORY):
        if mine := [run for run in runs if run.work.program == program and run.cores == most]:
            yield simple_locks(mine)
    for program in (MESSAGES, MEMORY):
        if mine := [run for run in runs if run.work.program == program and run.cores == most]:
            yield complex_locks(mine)
    if transactions := [(f"{r.lock}, {r.work.program}", r.snapshot) for r in runs if r.cores == most and has_transactions(r.snapshot)]:
        yield transaction_table("Transactions (no table there)", transactions)
    messages = [run for run in runs if run.work.program == MESSAGES]
    if len({run.cores for run in messages}) > 1:
        yield over_cores(messages)
    yield throughput([run for run in runs if run.cores == most])
    yield f"Tables and figure are those of {STUDY}. {NEAREST}"
    if idle := [run.lock for run in runs if run.snapshot.total.transactions.fallbacks and not run.snapshot.total.transactions.begun]:
        yield f"Here {idle[0]} ran as its fallback, clh: this machine has no transactions, and the kernel found that out when it started."
    if runs[0].emulated:
        yield (
            "Emulated: counts and spins are the kernel's with every instruction one cycle and cache lines moving for "
            "nothing; the cost of a line's transfer, which real locks are about, is not in them."
        )
    number = sum(len(run.checks) for run in runs)
    yield f"All {number} checks hold: grabs (or commits and fallbacks) equal entries, idle and busy cycles equal wall."
