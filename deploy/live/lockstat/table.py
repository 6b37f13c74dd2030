# SPDX-License-Identifier: BSD-2-Clause
"""Snapshots as tables, with the columns of the Mach study (Uemura et al., Tables 1 to 4)."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from deploy.live.lockstat.check import checks
from deploy.live.lockstat.record import CAUSES, LockStat, ratio
from deploy.live.lockstat.snapshot import Snapshot

NAMES = {
    **{"kernel": "kernel (big lock)", "read": "kernel, to read", "write": "kernel, to write", "tcb": "TCB"},
    **{"endpoint": "endpoint", "notification": "notification", "run_queue": "run queue"},
}
COLUMNS = 100  # of the widest table, where no terminal is narrower
_BAR = 40  # characters


def plain_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
                  pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table


def _row(name: str, lock: LockStat) -> list[str]:
    return [
        *[name, f"{lock.instances:,}", f"{lock.acquisitions:,}", f"{lock.conflicts:,}", f"{lock.conflict_ratio:.3f}"],
        *[f"{lock.spins_max:,}", f"{lock.spins_mean:,.0f}", f"{lock.wait_max:,}", f"{lock.wait_mean:,.0f}"],
        *[f"{lock.hold_max:,}", f"{lock.hold_mean:,.0f}"],
    ]


def lock_table(title: str, locks: dict[str, LockStat]) -> Table:
    """Returns the table with the most conflicts first, as in Tables 1 and 2; times in cycles."""
    times = (f"{what}\n{kind}" for what in ("spins", "wait", "hold") for kind in ("max", "mean"))
    table = plain_table(title, "lock class", "locks", "taken", "con-\nflicts", "con-\nflict\nrate", *times)
    for name, lock in sorted(locks.items(), key=lambda item: -item[1].conflicts):
        table.add_row(*_row(NAMES.get(name, name.replace("_", " ")), lock))
    acquisitions, conflicts = sum(lock.acquisitions for lock in locks.values()), sum(lock.conflicts
        for lock in locks.values())
    if len(locks) > 1:
        table.add_section()
        table.add_row("total", "", f"{acquisitions:,}", f"{conflicts:,}", f"{ratio(conflicts, acquisitions):.3f}")
    return table


def reader_table(title: str, snapshots: Sequence[tuple[str, Snapshot]]) -> Table:
    """The columns of Tables 3 and 4. `snapshots`: of kernels with a reader/writer lock, each with its name."""
    table = plain_table(
        title, "lock", "taken\nto\nwrite", "taken\nto\nread", "met a\nwri-\nter", "met\nread-\ners", "read-\ners\nmax",
        "\n\nmean",
        "write\nwait\nmax", "\n\nmean", "read\ncon-\nflicts", "read\nwait\nmax", "\n\nmean",
    )
    table.padding = (0, 0)  # twelve columns
    for name, snapshot in snapshots:
        read, write, met = snapshot.total.locks["read"], snapshot.total.locks["write"], snapshot.total.writers
        table.add_row(
            *[name, f"{write.acquisitions:,}", f"{read.acquisitions:,}", f"{met.after_writer:,}",
              f"{met.after_readers:,}"],
            *[f"{met.readers_max:,}", f"{ratio(met.readers, met.after_readers):.1f}", f"{write.wait_max:,}"],
            *[f"{write.wait_mean:,.0f}", f"{read.conflicts:,}", f"{read.wait_max:,}", f"{read.wait_mean:,.0f}"],
        )
    return table


def transaction_table(title: str, snapshots: Sequence[tuple[str, Snapshot]]) -> Table:
    table = plain_table(title, "transactions", "begun", "committed", "fallbacks", "fallbacks/entry",
                        *(f"{c} aborts" if c == CAUSES[0] else c for c in CAUSES))
    for name, snapshot in snapshots:
        t = snapshot.total.transactions
        share = f"{ratio(t.fallbacks, snapshot.total.entries):.3%}"
        table.add_row(name, f"{t.begun:,}", f"{t.committed:,}", f"{t.fallbacks:,}", share,
                      *(f"{n:,}" for n in t.aborted))
    return table


def core_table(title: str, snapshot: Snapshot) -> Table:
    table = plain_table(title, "cpu", "entries", "acquired", "conflicts", "commits", "thread switches", "utilisation")
    for core in snapshot.cores:
        counts = (core.entries, core.acquisitions, core.conflicts, core.commits, core.switches)
        table.add_row(str(core.cpu), *(f"{n:,}" for n in counts), f"{core.utilisation:.1%}")
    return table


def histogram_table(title: str, lock: LockStat) -> Table:
    """Both of a class; buckets that nothing fell into are left out at both ends."""
    table = plain_table(title, "cycles", "waits", "", "holds", "")
    table.columns[2].justify = table.columns[4].justify = "left"
    used = [i for i, both in enumerate(zip(lock.wait_log2, lock.hold_log2, strict=True)) if any(both)]
    most = max([*lock.wait_log2, *lock.hold_log2, 1])
    for i in range(used[0], used[-1] + 1) if used else ():
        waits, holds = lock.wait_log2[i], lock.hold_log2[i]
        bars = ("#" * -(-count * _BAR // most) for count in (waits, holds))
        table.add_row(f"{1 << i if i else 0:,} …", f"{waits:,}", next(bars), f"{holds:,}", next(bars))
    return table


def has_readers(snapshot: Snapshot) -> bool:
    return bool(snapshot.total.locks["read"].acquisitions or snapshot.total.locks["write"].acquisitions)


def has_transactions(snapshot: Snapshot) -> bool:
    t = snapshot.total.transactions
    return bool(t.begun or t.fallbacks)


def tables(snapshot: Snapshot, histogram: bool = False) -> Iterator[Table | str]:
    """All there is to say of one cluster."""
    where = f"cluster {snapshot.cluster}, kernel {snapshot.kernel}"
    yield lock_table(f"Locks of {where} (times in TSC cycles)", snapshot.total.active)
    if has_readers(snapshot):
        yield reader_table("Reader/writer lock, to write and to read (waits in TSC cycles)", [("kernel", snapshot)])
    if has_transactions(snapshot):
        yield transaction_table("Transactions, and aborts by cause", [(f"cluster {snapshot.cluster}", snapshot)])
    yield core_table("", snapshot)
    if histogram:
        for name, lock in snapshot.total.active.items():
            yield histogram_table(f"{NAMES[name]}: how long", lock)
    made = checks(snapshot)
    wrong = [check for check in made if not check.holds]
    stated = [check for check in made if "= entries" in check.what and "<=" not in check.what
              or "aborts" in check.what]
    yield "Adds up: " + "; ".join(str(check)
                                  for check in [*stated, *wrong]) + f"; {len(made) - len(wrong)} of {len(made)} hold."
