# SPDX-License-Identifier: BSD-2-Clause
"""A sample as lines of a terminal: never more than there is room for, and none wider. No colours, ASCII only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from deploy.live.lockstat.table import NAMES
from deploy.live.top.sample import Rates, Sample

VIEWS = ("clusters", "cores", "locks", "redis")
INTERVALS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # seconds
FRAME = 5  # lines above and below the rows: three on top, the columns' names, the keys
PLAIN = "Plain kernels count idle time only; `statistics = true` in the deployment file counts the rest."

HELP = (
    "q        quit",
    "1 2 3 4  clusters, cores, locks by class, Redis instances",
    "Tab, v   the next of these",
    "s        sort by the next column",
    "r        turn the order round",
    "p, space pause, go on",
    "+ -      a longer, a shorter interval",
    "up down  scroll; also k j, PgUp PgDn, Home End",
    "h, ?     this page",
    "",
    "Rates are per second of the host's clock. util: time not idle. confl: the share",
    "of acquisitions of the kernel's lock that met it taken. fallb: entries under rtm",
    "that took the lock. -: not counted, or not known yet. * marks the column sorted",
    "by.",
)


@dataclass(frozen=True)
class State:
    """Settings that keys change."""

    view: str = "cores"
    sort: dict[str, int] = field(default_factory=dict)  # by view: the number of a column
    reverse: bool = False
    paused: bool = False
    scroll: int = 0
    interval: float = 1.0
    help: bool = False

    def with_view(self, name: str) -> State:
        return replace(self, view=name, scroll=0, help=False)

    @property
    def sorted_by(self) -> int:
        return self.sort.get(self.view, 0)


Value = float | int | str | None


@dataclass(frozen=True)
class Column:
    """`width` has room for the star behind the title."""

    title: str
    width: int
    show: Callable[[Value], str]
    left: bool = False


def _text(value: Value) -> str:
    return "-" if value is None else str(value)


def _count(value: Value) -> str:
    """Seven characters at most."""
    if value is None:
        return "-"
    number = float(value)
    if 0 < number < 10:
        return f"{number:.1f}"
    for size, unit in ((1e9, "G"), (1e6, "M")):
        if number >= size:
            return f"{number / size:.2f}{unit}" if number < 100 * size else f"{number / size:.0f}{unit}"
    return f"{number:,.0f}"


def _share(value: Value) -> str:
    return "-" if value is None else f"{float(value):.1%}"


_RATES = (
    Column("util", 6, _share), Column("entries/s", 10, _count), Column("switch/s", 9, _count),
    Column("confl", 6, _share), Column("fallb", 6, _share), Column("redis/s", 8, _count),
)  # fmt: skip
COLUMNS: dict[str, tuple[Column, ...]] = {
    "clusters": (Column("cluster", 8, _text), Column("kernel", 11, _text, left=True), Column("cores", 6, _text),
                 *_RATES),
    "cores": (Column("cpu", 5, _text), Column("cluster", 8, _text), *_RATES),
    "locks": (
        Column("cluster", 8, _text), Column("class of lock", 18, _text, left=True), Column("instances", 10, _text),
        Column("acquisitions/s", 9, _count), Column("conflicts/s", 12, _count), Column("confl", 6, _share),
    ),
    "redis": (Column("instance", 40, _text, left=True), Column("redis/s", 9, _count)),
}  # fmt: skip


def _rates(r: Rates) -> tuple[Value, ...]:
    return (r.utilisation, r.entries, r.switches, r.conflict_ratio, r.fallback_ratio, r.redis)


def rows(sample: Sample, view: str) -> list[tuple[Value, ...]]:
    if view == "clusters":
        return [(c.cluster, "LOST" if c.lost else c.kernel, c.cores, *_rates(c.rates)) for c in sample.clusters]
    if view == "cores":
        return [(c.cpu, c.cluster, *_rates(c.rates)) for c in sample.cores]
    if view == "locks":
        return [(k.cluster, NAMES[k.name], k.instances, k.acquisitions, k.conflicts, k.conflict_ratio)
                for k in sample.locks]
    return list(sample.instances)


def ordered(sample: Sample, state: State) -> list[tuple[Value, ...]]:
    """Numbers of clusters and cores, and names, from the first on; all else from the greatest. Unknown ones last."""
    column = state.sorted_by
    all_rows = rows(sample, state.view)
    known = [row for row in all_rows if row[column] is not None]
    rising = COLUMNS[state.view][column].show is _text
    known.sort(key=lambda row: row[column], reverse=rising == state.reverse)  # type: ignore[arg-type, return-value]
    return known + [row for row in all_rows if row[column] is None]


def _line(columns: Sequence[Column], cells: Sequence[str]) -> str:
    return " ".join(cell[: c.width].ljust(c.width) if c.left else cell.rjust(c.width)
                    for c, cell in zip(columns, cells, strict=True)).rstrip()


def table(sample: Sample, state: State) -> tuple[str, list[str]]:
    """The columns' names, and all rows."""
    ordered_rows = ordered(sample, state)
    columns = [_fitted(c, [row[i] for row in ordered_rows]) for i, c in enumerate(COLUMNS[state.view])]
    titles = [f"{c.title}*" if i == state.sorted_by else c.title for i, c in enumerate(columns)]
    lines = [_line(columns, [c.show(v) for c, v in zip(columns, row, strict=True)]) for row in ordered_rows]
    return _line(columns, titles), lines


def _fitted(column: Column, values: Sequence[Value]) -> Column:
    """Names take no more room than the longest, and than the column has."""
    if not column.left:
        return column
    longest = max((len(column.show(value)) for value in values), default=0)
    return replace(column, width=min(column.width, max(longest, len(column.title) + 1)))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02}:{minutes:02}:{rest:02}" if days else f"{hours:02}:{minutes:02}:{rest:02}"


def header(name: str, emulated: bool, sample: Sample | None) -> list[str]:
    """Three lines: the machine, what it does, and what is to be known about it."""
    kind = "  (emulated)" if emulated else ""
    if sample is None or not sample.clusters:
        return [f"skerry top: {name}{kind}", "No cluster has started yet." if sample else "Looking for the first time.",
                ""]
    kernels = ", ".join(dict.fromkeys(row.kernel for row in sample.clusters))
    w = sample.whole
    first = (f"{name}  up {_duration(sample.uptime)}  clusters {len(sample.clusters)}, cores {len(sample.cores)}, "
             f"{kernels}{kind}")
    done = [f"util {_share(w.utilisation)}", f"entries/s {_count(w.entries)}", f"confl {_share(w.conflict_ratio)}"]
    done += [f"fallb {_share(w.fallback_ratio)}"] if w.fallback_ratio is not None else []
    done += [f"redis/s {_count(w.redis)}"]
    if sample.trouble:
        third = (
            f"! {len(sample.trouble)}: {sample.trouble[-1]}" if len(sample.trouble) > 1 else f"! {sample.trouble[-1]}"
        )
    elif sample.changes:
        third = sample.changes[-1] if len(sample.changes) == 1 else f"{len(sample.changes)}: {sample.changes[-1]}"
    elif sample.uncounted:
        third = "Plain kernel: idle time only; statistics = true in the deployment counts more."
    else:
        third = ""
    return [first, "  ".join(done), third]


def _keys(state: State, shown: str, width: int) -> str:
    about = f"{'PAUSED' if state.paused else f'{state.interval:g} s'} {state.view} {shown}".rstrip()
    for keys in ("q quit  1-4 view  s sort  r turn  p pause  +- interval  h help", "q quit  Tab view  h help", "q h",
                 ""):
        if len(keys) + len(about) + 2 <= width:
            return keys + about.rjust(width - len(keys))
    return about


def screen(name: str, emulated: bool, sample: Sample | None, state: State, width: int, height: int) -> list[str]:
    """At most `height` lines of at most `width` characters; the keys are in the last."""
    top = header(name, emulated, sample)
    room = max(0, height - FRAME)
    shown = ""
    if state.help:
        titles, body, shown = "Keys", *_seen(HELP, state.scroll, room)
    elif sample is None:
        titles, body = "", []
    else:
        titles, lines = table(sample, state)
        body, shown = _seen(lines, state.scroll, room)
        if not lines:
            body = [_nothing(state.view)][:room]
    filled = [*top, titles, *body, *[""] * (room - len(body)), _keys(state, shown, width)]
    return [_printable(line)[:width] for line in (filled if height >= FRAME else [*filled[: height - 1], filled[-1]])]


def _seen(lines: Sequence[str], scroll: int, room: int) -> tuple[list[str], str]:
    """Returns the lines that are scrolled to, at most `room`, and their range in words if not all fit."""
    first = min(scroll, max(0, len(lines) - room))
    body = list(lines[first : first + room])
    return body, f"{first + 1}-{first + len(body)}/{len(lines)}" if len(lines) > room > 0 else ""


def _nothing(view: str) -> str:
    return {"locks": "No kernel that runs counts its locks.", "redis": "No Redis instance answers."}.get(view, "")


def _printable(line: str) -> str:
    """Names and reasons come from outside: nothing of theirs reaches the terminal as a control, or as a wide
    character."""
    return "".join(c if " " <= c <= "~" else "?" for c in line)


def plain(name: str, emulated: bool, sample: Sample) -> list[str]:
    """All of a sample, for pipes."""
    lines_of_text = [line for line in header(name, emulated, replace(sample, trouble=(), changes=()))[:2]]
    lines_of_text += [PLAIN] if sample.uncounted else []
    lines_of_text += [f"! {text}" for text in sample.trouble]
    lines_of_text += [f"* {text}" for text in sample.changes]
    for view in VIEWS:
        titles, lines = table(sample, State(view=view))
        if lines:
            lines_of_text += ["", titles.replace("*", " ", 1).rstrip(), *lines]
    return [_printable(line) for line in lines_of_text]
