# SPDX-License-Identifier: BSD-2-Clause
"""Tables of native measurements: medians of the runs, and the range of all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from deploy.bench.ipc.measure import ONE_WAY, Measured, Spread
from deploy.bench.native.ipc import CONTAINS, IN_A_ROW, OPERATIONS
from deploy.bench.native.result import name_of
from deploy.bench.regimes import BASELINE
from deploy.results.tables import plain_table

UNIT = 1000  # cycles; throughput is shown per so many
Entry = Mapping[str, Any]


def table(title: str, caption: str, *columns: str) -> Table:
    return plain_table(title, columns, columns[:1], caption)


def _spread(value: Spread, unit: float = 1, digits: int = 1) -> str:
    # no -0.0
    median, least, most = (f"{round(unit * one, digits) + 0.0:,.{digits}f}"
                           for one in (value.median, value.least, value.most))
    return f"{median} [{least}..{most}]"


def spread(entry: Entry, metric: str, unit: float = 1, digits: int = 1) -> str:
    """`-` where the entry has no such figure."""
    if metric not in entry["metrics"]:
        return "-"
    least, most = entry["min_max"][metric]
    return _spread(Spread(entry["metrics"][metric], least, most), unit, digits)


def _one(entry: Entry, metric: str, form: str) -> str:
    value = entry["metrics"].get(metric)
    return "-" if value is None else format(value, form)


def _conflicts(entry: Entry) -> str:
    """Returns the conflicts of the kernel's lock; where objects have locks, of those, too."""
    objects = _one(entry, "object_lock_conflict_ratio", ".1%")
    return _one(entry, "lock_conflict_ratio", ".1%") + ("" if objects == "-" else f", objects {objects}")


def _runs(entries: Sequence[Entry]) -> str:
    """Returns the number of runs, and of those that others disturbed."""
    runs, disturbed = max(e["runs"] for e in entries), sum(e["disturbed_runs"] for e in entries)
    again = (
        f" {disturbed} more had to share a processor, and do not count where there are enough others."
        if disturbed else ""
    )
    of = f"Medians of {runs} runs, least..most in brackets" if runs > 1 else "One run"
    return f"{of}; TSC cycles.{again}"


def idle(entries: Sequence[Entry], stands_for: str) -> Table:
    rtm = any("to_bare_rtm" in e["metrics"] for e in entries)
    columns = ["", "enter + exit", "exclusive + exit", "an object's lock", "bare CLH", "/ bare CLH"]
    made = table(
        "An idle lock: cycles of kernel_enter() and kernel_exit(), one core",
        f"{_runs(entries)} Ratios are taken in each run.\n{stands_for}",
        *columns, *(["bare XBEGIN, XEND", "/ bare XBEGIN, XEND"] if rtm else []),
    )  # fmt: skip
    for e in entries:
        extra = [spread(e, "bare_rtm_cycles"), spread(e, "to_bare_rtm", 1, 2)] if rtm else []
        names = ("enter_exit_cycles", "exclusive_cycles", "object_cycles", "bare_clh_cycles")
        made.add_row(name_of(e), *(spread(e, name) for name in names), spread(e, "to_bare_clh", 1, 2), *extra)
    return made


def contended(entries: Sequence[Entry], stands_for: str, label: str) -> Table:
    first = entries[0]["metrics"]
    made = table(
        f"Threads at one lock, {first['section_cycles']:,.0f} cycles in it; outside an exponential time, of mean "
        f"delay{label}",
        f"{_runs(entries)}\nWait: from wanting the lock to having it, of all entries; reading the clock is in "
        f"it, as under {BASELINE}.\nConflicts, fallbacks: one run of the kernel that counts.\n{stands_for}",
        "delay", "cores", "", f"entries in {UNIT:,} cycles", "wait p50", "p99", "max", "conflicts", "fallbacks",
    )  # fmt: skip
    for e in _in_groups(made, entries):
        made.add_row(
            f"{e['metrics']['delay_cycles']:g}", str(e["cores"]), name_of(e),
            spread(e, "throughput_per_cycle", UNIT, 3), spread(e, "p50_cycles", 1, 0), spread(e, "p99_cycles", 1, 0),
            _one(e, "max_cycles", ",.0f"), _conflicts(e), _one(e, "fallback_ratio", ".2%"),
        )  # fmt: skip
    return made


def scale(entries: Sequence[Entry], stands_for: str, label: str) -> Table:
    made = table(
        f"Independent ping-pong on every core: kernel entries in {UNIT:,} cycles{label}",
        f"{_runs(entries)} Under {BASELINE} each core has a kernel to itself: what no lock can surpass.\n"
        f"Kernel: mean cycles of an entry, waiting included. Hold, conflicts, fallbacks: one run of the kernel that "
        f"counts.\n"
        f"{stands_for}",
        "delay", "cores", "", "throughput", "/ 1 core", "kernel", "hold", "conflicts", "fallbacks",
    )  # fmt: skip
    alone = {(e["metrics"]["delay_cycles"], e["lock"]): e for e in entries if e["cores"] == 1}
    for e in _in_groups(made, entries):
        delay = e["metrics"]["delay_cycles"]
        base = alone.get((delay, e["lock"]))
        times = e["metrics"]["throughput_per_cycle"] / base["metrics"]["throughput_per_cycle"] if base else None
        made.add_row(
            f"{delay:g}", str(e["cores"]), name_of(e), spread(e, "throughput_per_cycle", UNIT, 3),
            f"{times:.2f}" if times else "-", spread(e, "kernel_cycles", 1, 0),
            _one(e, "lock_mean_hold_cycles", ",.0f"), _conflicts(e), _one(e, "fallback_ratio", ".2%"),
        )  # fmt: skip
    return made


def unlocked(entry: Entry) -> str:
    return (
        f"{entry['cores']} cores in one kernel without its lock, delay {entry['metrics']['delay_cycles']:g}: "
        f"{spread(entry, 'kernel_cycles', 1, 0)} cycles an entry. What that is above {BASELINE} of one core, lines of "
        "the kernel cost that are not the lock's."
    )


def _in_groups(made: Table, entries: Sequence[Entry]) -> Iterator[Entry]:
    """A line between those of different delays or cores."""
    last = None
    for e in entries:
        key = (e["metrics"]["delay_cycles"], e["cores"])
        if last is not None and key != last:
            made.add_section()
        last = key
        yield e


def ipc(measured: Sequence[Measured], entries: Sequence[Entry], stands_for: str) -> Table:
    base = measured[0]
    columns = [c for e in entries for c in ([name_of(e)] if e["lock"] == BASELINE else [name_of(e), f"/ {BASELINE}"])]
    made = table(
        "Cycles from system-call entry to exit, one hosted core, natively",
        f"{_runs(entries)} Client and server in two address spaces, of equal priority.\n{CONTAINS}\n{stands_for}",
        "", *columns,
    )  # fmt: skip
    for name, title in (OPERATIONS | IN_A_ROW).items():
        if name == ONE_WAY:
            made.add_section()
        cells = []
        for one in measured:
            value = one.spread[name]
            cells.append(_spread(value))
            if one.lock != BASELINE:
                cells.append(f"{value.median / base.spread[name].median:.3f}" if base.spread[name].median > 0 else "-")
        made.add_row(title, *cells)
    return made


def aborts(provoked: Mapping[str, Mapping[str, float]]) -> Table:
    """Rows: what was done to abort; columns: as what it was counted."""
    causes = ("explicit", "capacity", "conflict", "retry", "other")
    made = table(
        "Why transactions of rtm abort: aborts for each entry",
        "Provoked: a section of 20,000 lines; threads that write the same lines; a section that says it cannot be "
        "taken\n"
        "back; one longer than the host's tick.",
        "provoked", *causes, "fallbacks",
    )  # fmt: skip
    for what, metrics in provoked.items():
        cells = [f"{metrics.get(f'aborts_{cause}_per_entry', 0):.3f}" for cause in causes]
        made.add_row("interrupt" if what == "other" else what, *cells, f"{metrics.get('fallback_ratio', 0):.1%}")
    return made
