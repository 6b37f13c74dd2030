# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench scale --figure`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.bench.destination import Destination
from deploy.bench.scale import figure_sweep
from deploy.bench.scale.figure_sweep import published_point
from deploy.bench.scale.figure_table import sentences, tables
from deploy.bench.scale.fit import fits
from deploy.bench.scale.measure import Point, Request, key_of, ranges_of
from deploy.bench.scale.present import plot_scale
from deploy.deployment.modules import REGIMES
from deploy.emulator import run
from deploy.emulator.machine_file import PAPERS, RANGE, ModelledMachine, load
from deploy.machine import qemu
from deploy.results.result import document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.model import ranges


def locks_of(figure: str, lock: str | None) -> tuple[str, ...]:
    """Returns the locks of the figure that --lock leaves."""
    of = figure_sweep.chosen(figure).locks
    if lock is None:
        return of
    named = [word.strip() for word in lock.split(",")]
    if odd := [name for name in named if name not in of]:
        known = "is not in this figure" if odd[0] in REGIMES else "is no lock regime"
        raise InputError("--lock", f"'{odd[0]}' {known}: {', '.join(of)}")
    return tuple(name for name in of if name in named)


@dataclass(frozen=True)
class Choice:
    """The options that a figure leaves a choice of."""

    figure: str
    lock: str | None
    cores: str | None
    machine: str | None
    quick: bool

    def sweep(self, modelled: ModelledMachine, locks: Sequence[str]) -> list[Request]:
        sizes = ranges.cores(self.cores) if self.cores else list(range(1, modelled.cores + 1))
        if max(sizes) > modelled.cores:
            raise InputError("--cores", f"{max(sizes)} cores; {modelled.name} has {modelled.cores}")
        delays = figure_sweep.chosen(self.figure).delays
        return figure_sweep.requests(modelled, locks, sizes, delays, (1.0,) if self.quick else RANGE)


def scale_figure(choice: Choice, fixed: Mapping[str, Any], json: str | None, plot: Path | None, quiet: bool) -> None:
    """`fixed`: the other options, and what they were given."""
    figure, locks = choice.figure, locks_of(choice.figure, choice.lock)
    if odd := [option for option, value in fixed.items() if value]:
        raise InputError(odd[0], "is not allowed with --figure, whose machine, delays and round trips are the paper's")
    modelled = load(choice.machine or PAPERS)
    requests = choice.sweep(modelled, locks)
    to = Destination.of(f"scale-figure-{figure}", json, plot, quiet)
    output = to.output
    run.check_installed()
    ensure_built(output, needs.kernels(locks, "pingpong", "root", transactions=True) | needs.clocks(modelled))
    mode = run.mode(modelled)
    output.line(f"Mode: {mode.description}.")
    with output.progress(f"Figure {figure}") as update:

        def on_step(text: str) -> None:
            update(description=text)
            if not output.shows_bars:
                output.step(text)

        points = figure_sweep.measure(requests, on_step)
    _report(points, figure, to)
    entries = [_entry(point, ranges_of(points), modelled.to_json(), figure) for point in points
               if point.line_factor == 1]
    output.results(document("bench scale", host_description(mode, qemu.BINARY), [], entries))
    own = [point for point in points if point.line_factor == 1]
    plot_scale(own, fits(own), mode.description, to.picture)
    to.end()


def _report(points: list[Point], figure: str, to: Destination) -> None:
    own = [point for point in points if point.line_factor == 1]
    for table in tables(own, ranges_of(points), figure):
        to.output.table(table)
    for sentence in sentences(own, figure):
        to.output.line(sentence)
    to.say_late(points)


def _entry(point: Point, ranged: Mapping[Any, tuple[float, float]], modelled: dict[str, Any],
           figure: str) -> dict[str, Any]:
    entry: dict[str, Any] = point.to_json() | {"modelled": modelled}
    if key_of(point) in ranged:
        entry["range"] = {"throughput_per_cycle": list(ranged[key_of(point)])}
    if figure == "4" and point.lock == "clh":
        entry["published"] = dict(published_point(point))
    return entry
