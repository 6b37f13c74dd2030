# SPDX-License-Identifier: BSD-2-Clause
"""Native measurements as tables and plots: medians of the runs, and the range of all."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.bench.ipc.measure import ONE_WAY, Measured, Spread
from deploy.bench.native.ipc import CONTAINS, IN_A_ROW, OPERATIONS
from deploy.bench.native.runs import name_of
from deploy.bench.regimes import BASELINE
from deploy.results.figure import publish, subplots
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


_COLOURS = ("#1b6ca8", "#d97925", "#5a9e4b", "#8a5a9e", "#b03a48", "#2a9d9d", "#a08030", "#7a7a7a")
_LOCKS = dict(zip(("clh", "rtm", "mcs", "ticket", "fine", "dynamic", "", "none"), _COLOURS))


def _bars(entry: Entry, metric: str, unit: float = 1) -> tuple[float, float, float]:
    """Median, and how far least and most are from it."""
    value = unit * entry["metrics"][metric]
    least, most = (unit * bound for bound in entry["min_max"][metric])
    return value, value - least, most - value


def _colour(name: str, number: int) -> str:
    """A lock's own, in every picture."""
    return _LOCKS.get(name.split()[0], _COLOURS[number % len(_COLOURS)])


def _lines(axes: Any, entries: Sequence[Entry], key: Any) -> None:
    """Throughput over cores, one line for each key."""
    names = list(dict.fromkeys(key(e) for e in entries))
    for number, name in enumerate(names):
        mine = sorted((e for e in entries if key(e) == name), key=lambda e: e["cores"])
        points = [_bars(e, "throughput_per_cycle", UNIT) for e in mine]
        values, below, above = zip(*points)
        axes.errorbar(
            [e["cores"] for e in mine], values, (below, above), label=name, color=_colour(name, number),
            marker="o", markersize=4, capsize=3,
        )  # fmt: skip
    axes.set_xlabel("cores")
    axes.set_ylabel(f"kernel entries in {UNIT:,} cycles")
    axes.set_xticks(sorted({e["cores"] for e in entries}))
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, edgecolor="none", framealpha=0.8)


def _idle(axes: Any, entries: Sequence[Entry]) -> None:
    for x, e in enumerate(entries):
        value, below, above = _bars(e, "enter_exit_cycles")
        axes.bar(x, value, width=0.6, color=_colour(e["lock"], x), yerr=([below], [above]), capsize=3)
        axes.text(x, value + above, f"{value:.1f}", ha="center", va="bottom", size=8)
    axes.axhline(entries[0]["metrics"]["bare_clh_cycles"], color="#444444", linestyle=":", label="bare CLH")
    axes.set_xticks(range(len(entries)), [name_of(e).replace(" ", "\n", 1) for e in entries])
    axes.set_ylabel("cycles, enter and exit")
    axes.legend(fontsize=8, edgecolor="none", framealpha=0.8)


def plot_lock(idle: Sequence[Entry], contended: Sequence[Entry], notes: Sequence[str], output: Path) -> None:
    delays = list(dict.fromkeys(e["metrics"]["delay_cycles"] for e in contended))
    figure, panels = subplots(1, 1 + len(delays), figsize=(2 + 4 * (1 + len(delays)), 4.6))
    _idle(panels[0], idle)
    panels[0].set_title("idle", size=10)
    for axes, delay in zip(panels[1:], delays):
        mine = [e for e in contended if e["metrics"]["delay_cycles"] == delay]
        _lines(axes, mine, name_of)
        axes.set_title(f"{delay:g} cycles outside, {mine[0]['metrics']['section_cycles']:,.0f} inside", size=10)
    _finish(figure, panels, "Locks on real cores", notes, output)


def plot_scale(entries: Sequence[Entry], notes: Sequence[str], output: Path) -> None:
    """Figure 4: a panel for each lock with several delays; Figure 5: one for each delay with several locks."""

    def how_many(of: Any, per: Any) -> dict[Any, int]:
        return {key: len({of(e) for e in entries if per(e) == key}) for key in dict.fromkeys(map(per, entries))}

    by_lock, by_delay = how_many(_delay, name_of), how_many(name_of, _delay)
    most, least = max(by_lock.values()), min(by_lock.values())
    locks = [lock for lock, count in by_lock.items() if count == most > 1]
    delays = [delay for delay, count in by_delay.items() if count > 1]
    if most == least and locks and delays:  # everything with everything: one view says it all
        locks, delays = (locks, []) if len(locks) < len(delays) else ([], delays)
    if not locks and not delays:
        delays = list(by_delay)
    count = len(locks) + len(delays)
    figure, grid = subplots(1, count, figsize=(2 + 4 * count, 4.6), squeeze=False)
    for axes, lock in zip(grid[0], locks):
        _lines(axes, [e for e in entries if name_of(e) == lock], lambda e: f"delay {_delay(e):g}")
        axes.set_title(str(lock), size=10)
    for axes, delay in zip(grid[0][len(locks) :], delays):
        _lines(axes, [e for e in entries if _delay(e) == delay], name_of)
        axes.set_title(f"delay {delay:g} cycles", size=10)
    _finish(figure, grid[0], "Independent ping-pong on every core, real cores", notes, output)


def _delay(entry: Entry) -> float:
    return float(entry["metrics"]["delay_cycles"])


def _finish(figure: Any, panels: Sequence[Any], title: str, notes: Sequence[str], output: Path) -> None:
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    width = int(21 * figure.get_figwidth())
    text = "\n".join(textwrap.fill(note, width) for note in notes)
    figure.text(0.01, 0.01, text, size=6, color="#555555", va="bottom")
    publish(figure, output, title, "", 0.02 + 0.024 * (text.count("\n") + 1), 0.97)
