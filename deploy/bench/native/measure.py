# SPDX-License-Identifier: BSD-2-Clause
"""The experiments on this machine's own cores: measured, printed, written, drawn. For the commands, one call each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from deploy.base.errors import Failure
from deploy.base.partial import Parts
from deploy.base.terminal import Output
from deploy.bench.ipc.measure import FIGURE, ratios
from deploy.bench.ipc.present import plot_ipc
from deploy.bench.native import (
    host as native_host,
    ipc as native_ipc,
    lock as native_lock,
    present as native_present,
    scale as native_scale,
)
from deploy.bench.native.host import Parallel, Processors
from deploy.bench.native.present import plot_lock, plot_scale
from deploy.bench.native.runs import name_of
from deploy.bench.regimes import BASELINE
from deploy.bench.scale.measure import FIGURE_4, FIGURE_5
from deploy.results.result import document
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.model import ranges

FEW = 8  # cores that show neither a collapse nor a plateau
FIGURE_LOCK = (
    "Stands for the locks of Elphinstone et al. 2016, sections 3.2 to 3.4, and for a ticket lock beside queue locks as "
    "in Boyd-Wickizer et al. 2012."
)
FIGURE_SCALE = f"Stands for {FIGURE_4}\n{FIGURE_5}"


class Session:
    """One command's: its processors, looked at before and after; what all have in common at the end."""

    def __init__(self, cores: int, output: Output, locks: Iterable[str]) -> None:
        self.output = output
        self.parts = Parts(output)
        self.usable: Processors = native_host.processors()
        native_host.check_count(cores, self.usable)
        ensure_built(output, needs.natively(locks))
        self.parallel = Parallel([native_host.look(self.usable, cores)], cores)

    def glance(self) -> None:
        """Between runs: are the cores where they were?"""
        if self.parallel.count > 1:
            self.parallel.glances.append(native_host.look(self.usable, self.parallel.count, native_host.GLANCE))

    def looked_again(self) -> list[str]:
        """Returns the notes that a reader must know of this machine, a line each."""
        self.parallel.looks.append(native_host.look(self.usable, self.parallel.count))
        notes = [self.parallel.verdict]
        if self.usable.share_cores(self.parallel.count):
            notes.append(f"Some are hardware threads of one core: there are {self.usable.cores} cores.")
        if not self.parallel.looks[0]["privileged"]:
            notes.append("Without real-time priority: others on this machine disturb.")
        if self.parallel.count < FEW:
            notes.append(
                f"{self.parallel.count} {'core shows' if self.parallel.count == 1 else 'cores show'} what a lock and "
                "its hand-over cost, not where ticket collapses or queue locks hold a plateau: skerry model predict "
                "says where."
            )
        return notes

    @property
    def label(self) -> str:
        return "" if self.parallel.real else "  (not in parallel)"

    def finish(self, command: str, entries: list[dict[str, Any]], **more: Any) -> None:
        why = next((e["no_transactions"] for e in entries if "no_transactions" in e), None)
        if not self.parallel.real:
            for entry in entries:
                if entry["cores"] > 1:
                    entry["parallel"] = False
        on = native_host.describe(self.usable, self.parallel, why)
        self.output.results(document(command, on, [], entries) | more | self.parts.to_json())
        if why:
            self.output.line(f"No transactions on this machine: {why}. rtm ran as its fallback, clh.")


def sizes(text: str | None) -> list[int]:
    """--cores; without it each number of processors up to eight, then twice as many and all."""
    if text is not None:
        return ranges.cores(text)
    most = min(native_host.MAX_CPUS, len(native_host.processors().numbers))
    return sorted({*range(1, min(most, FEW) + 1), *(n for n in (16, 32) if n < most), most})


def scale_command(
    delays: Mapping[str, Sequence[float]], cores: Sequence[int], rounds: int, output: Output, picture: Path,
    runs: int = native_scale.RUNS,
) -> Parts:
    """All of `bench scale --native`: table, results, plot. Returns what failed. `delays` are the delays of each
    lock."""
    session = Session(max(cores), output, delays)
    entries = native_scale.measure(delays, cores, rounds, session.parts, runs, session.usable, session.glance)
    session.parts.require(entries)
    more: dict[str, Any] = {}
    if max(cores) > 1 and BASELINE in delays:
        if result := native_scale.unlocked(max(delays[BASELINE]), max(cores), rounds, session.parts, runs,
                                           session.usable):
            more["unlocked"] = result
    notes = session.looked_again()
    output.table(native_present.scale(entries, FIGURE_SCALE, session.label))
    if more:
        output.line(native_present.unlocked(more["unlocked"]))
    _lines(output, notes)
    session.finish("bench scale", entries, **more)
    plot_scale(entries, [FIGURE_SCALE, *notes], picture)
    return session.parts


def ipc_command(locks: Sequence[str], rounds: int, runs: int, output: Output, picture: Path) -> Parts:
    """All of `bench ipc --native`. Returns what failed."""
    session = Session(1, output, locks)
    measured, entries = native_ipc.measure(locks, rounds, runs, session.parts, session.usable)
    session.parts.require(measured and measured[0].lock == locks[0])  # which all ratios are to
    output.table(native_present.ipc(measured, entries, f"Stands for {FIGURE}"))
    session.finish("bench ipc", entries, ratios=[ratios(one, measured[0]) for one in measured[1:]])
    named = [replace(one, lock=name_of(entry)) for one, entry in zip(measured, entries)]
    plot_ipc(named, "native, hosted port: without mode and address-space switches", picture)
    return session.parts


def lock_command(
    locks: Sequence[str], what: native_lock.Contention, entries: int, runs: int, output: Output, picture: Path
) -> Parts:
    """All of `bench lock`. Returns what failed."""
    most = max(what.cores)
    if all(lock == BASELINE for lock in locks):
        raise Failure(f"{BASELINE} has no exclusion to measure; name other regimes with --lock")
    session = Session(most, output, locks)
    kept = native_lock.exclusion(locks, most, entries, output, session.usable)
    idle = native_lock.idle(locks, runs, session.parts, session.usable)
    contended = native_lock.contended(locks, what, runs, session.parts, session.usable, session.glance)
    session.parts.require(idle and contended)
    notes = session.looked_again()
    output.table(native_present.idle(idle, FIGURE_LOCK))
    output.table(native_present.contended(contended, FIGURE_LOCK, session.label))
    more: dict[str, Any] = {"exclusion": kept}
    if "rtm" in locks and not any("no_transactions" in e for e in idle):
        more["aborts"] = native_lock.aborts(most, session.parts, session.usable)
        output.table(native_present.aborts(more["aborts"]))
    counts = ", ".join(f"{count:,} under {lock}" for lock, count in kept.items())
    output.line(f"Mutual exclusion held on {most} core{'s' * (most != 1)}: no entry was lost of {counts}.")
    _lines(output, notes)
    session.finish("bench lock", [*idle, *contended], **more)
    plot_lock(idle, contended, [FIGURE_LOCK, *notes], picture)
    return session.parts


def _lines(output: Output, lines: Sequence[str]) -> None:
    for line in lines:
        output.line(line)
