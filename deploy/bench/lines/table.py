# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench lines` as a table: the lines that move most, and what moves them."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from deploy.bench.lines.measure import Line, Lines, LockUse
from deploy.results import kinds
from deploy.results.snapshots import ratio
from deploy.results.tables import plain_table
from topology.foreign import spans_of

TOP_INSTRUCTIONS = 3
NOTE = (
    "A line moves when a core reads what another has written, when it writes what another has, and when it writes what "
    "it has\n"
    "only to read (an upgrade). Wait: cycles from the request to the line, those included in which the line was under "
    "way to others.\n"
    "Useless: the core had the line and touched nothing of what others had written in it. False sharing: most fetches "
    "were so."
)


def lines_table(measured: Lines, top: int) -> Table:
    point = measured.point
    title = (
        f"{point.lock}, {point.cores} cores, delay {point.delay:g}: {measured.moves:,} moves of {measured.count:,} "
        f"lines in {point.entries:,} kernel entries, {measured.moves_per_entry:.2f} an entry; "
        f"{point.layout}{kinds.of_clock(point.clock, point.emulated)}"
    )
    columns = ("line", "moves", "read, write, upgrade", "wait each", "cores", "useless", "by")
    table = plain_table(title, columns, ("line", "cores", "by"), NOTE)
    for line in measured.hottest[:top]:
        table.add_row(
            escape(line.name) + (" [bold]false sharing[/bold]" if line.false_sharing else ""), f"{line.moves:,}",
            f"{line.reads:,}, {line.writes:,}, {line.upgrades:,}", f"{line.wait / line.moves:,.0f}",
            cores_text([user.core for user in line.users]),
            f"{line.useless / line.fetches:.0%}" if line.fetches else "-", escape(_movers(line)),
        )
    return table


def _uses(title: str, uses: Sequence[LockUse], of_kinds: bool) -> Table:
    head = ["entries", "lines moved"] if of_kinds else []
    table = plain_table(title, ("", *head, "acqui-\nsitions", "conflicts", "handed over", "wait", "hold",
                                "moves of the lock", "inside"))
    for use in uses:
        about = [f"{use.entries:,}", f"{ratio(use.moves, use.entries):.2f}"] if of_kinds else []
        shares = [f"{ratio(part, use.acquisitions):.1%}" for part in (use.conflicts, use.handovers)]
        means = [f"{ratio(part, use.acquisitions):,.0f}" for part in (use.wait, use.hold)]
        moves = [f"{ratio(part, use.acquisitions):.2f}" for part in (use.lock_moves, use.inside_moves)]
        table.add_row(escape(use.name), *about, f"{use.acquisitions:,}", *shares, *means, *moves)
    return table


def lock_tables(measured: Lines, top: int) -> list[Table]:
    """Waiting for each lock, and holding it; nothing where there is none."""
    if not measured.locks:
        return []
    shown, rest = measured.locks[:top], measured.locks[top:]
    more = f" ({len(rest)} more, of {sum(lock.acquisitions for lock in rest):,} acquisitions)" if rest else ""
    return [
        _uses(f"Locks{more}: means of an acquisition, in cycles and lines", shown, False),
        _uses("Kernel entries by kind: lines moved by an entry; of the locks that it takes, means of an acquisition",
              measured.kinds, True),
    ]


def cores_text(cores: Sequence[int]) -> str:
    """0..3, 8"""
    return ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in spans_of(cores))


def _movers(line: Line) -> str:
    shown = [f"{mover.moves / line.moves:.0%} {mover}" for mover in line.movers[:TOP_INSTRUCTIONS]]
    if left := len(line.movers) - len(shown):
        shown.append(f"and {left} more")
    return "\n".join(shown)
