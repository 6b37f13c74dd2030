# SPDX-License-Identifier: BSD-2-Clause
"""The counts of counting kernels, by class of lock."""

from collections.abc import Sequence
from itertools import zip_longest

from deploy.report import figures
from deploy.report.group import Group, Value
from deploy.report.load import Counted
from deploy.report.sections import Cell, Figure, Section, Table, commands, labels

MOST_DRAWN = 4  # kernels whose histograms are drawn
_COLUMNS = (
    ("acquisitions", "acquisitions", ",.0f"),
    ("conflicts", "conflicts", ",.0f"),
    ("conflict_ratio", "conflicts/acquisition", ".3%"),
    ("spins_mean", "mean spins", ",.1f"),
    ("wait_mean", "mean wait", ",.1f"),
    ("hold_mean", "mean hold", ",.1f"),
)
_HISTOGRAMS = (("wait_log2", "waited for"), ("hold_log2", "held"))
Rows = list[tuple[str, list[Cell | None]]]


def _counted(group: Group) -> list[Counted]:
    """Returns the counts of each repeat."""
    counted = [entry if entry.locks else entry.statistics for entry in group.entries]
    return [one for one in counted if one and one.locks]


def section(groups: Sequence[Group]) -> Section:
    made = Section("lock-classes", "Locks by class")
    with_locks = [group for group in groups if _counted(group)]
    rows: Rows = []
    transactions: Rows = []
    for number, (group, where) in enumerate(zip(with_locks, _names(with_locks))):
        repeats = _counted(group)
        for name in repeats[0].locks or {}:
            of = [one.locks[name] for one in repeats if one.locks and name in one.locks]
            rows.append((f"{where}: {name}",
                         [_cell([getattr(lock, key) for lock in of], form) for key, _, form in _COLUMNS]))
        transactions += _transactions(where, repeats)
        if len(with_locks) <= MOST_DRAWN:
            made.figures += _histograms(number, where, group, repeats)
    if rows:
        made.tables.append(Table("Each class of lock; times in cycles", [name for _, name, _ in _COLUMNS], rows))
        made.commands = commands(with_locks)
    if transactions:
        heads = ["begun", "committed", "fallbacks", "committed/begun"]
        made.tables.append(Table("Transactions", heads, transactions))
    return made


def _names(groups: Sequence[Group]) -> list[str]:
    """The kernel, and whatever else sets these apart."""
    names = []
    for group, label in zip(groups, labels(groups)):
        one = _counted(group)[0]
        load = f"{group.entry.workload}, " if group.entry.workload else ""
        rest = label.partition(", ")[2]
        where = f"cluster {one.cluster or 0}, {one.kernel or one.lock}"
        names.append(f"{load}{where}{', ' + rest if rest else ''}")
    return names


def _cell(runs: Sequence[float], form: str) -> Cell:
    return Cell(Value(tuple(float(run) for run in runs)), form)


def _histograms(number: int, where: str, group: Group, repeats: Sequence[Counted]) -> list[Figure]:
    made = []
    for key, what in _HISTOGRAMS:
        gathered: dict[str, list[float]] = {}
        for name in repeats[0].locks or {}:
            bins = [getattr(one.locks[name], key) for one in repeats if one.locks and name in one.locks]
            total = [float(sum(counts)) for counts in zip_longest(*bins, fillvalue=0)]
            if any(total):
                gathered[name] = total
        if gathered:
            title = f"How long locks were {what}: {where}"
            svg = figures.powers(f"classes-{number}-{key.replace('_', '-')}", title, "cycles", gathered)
            made.append(Figure(title, svg, "Counted in powers of two.", commands([group])))
    return made


def _transactions(where: str, repeats: Sequence[Counted]) -> Rows:
    """Only of kernels that began some."""
    of = [one.transactions for one in repeats if one.transactions and one.transactions.begun]
    if not of:
        return []
    cells: list[Cell | None] = [_cell([getattr(t, key) for t in of], ",.0f")
                                for key in ("begun", "committed", "fallbacks")]
    return [(where, [*cells, _cell([t.committed / t.begun for t in of], ".3%")])]
