# SPDX-License-Identifier: BSD-2-Clause
"""Pictures of native measurements: medians, with bars from the least to the most of all runs."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deploy.bench.native.result import name_of
from deploy.bench.native.table import UNIT
from deploy.results.figure import publish, subplots

_COLOURS = ("#1b6ca8", "#d97925", "#5a9e4b", "#8a5a9e", "#b03a48", "#2a9d9d", "#a08030", "#7a7a7a")
_LOCKS = dict(zip(("clh", "rtm", "mcs", "ticket", "fine", "dynamic", "", "none"), _COLOURS))
Entry = Mapping[str, Any]


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
