# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench scale --figure`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deploy.base.terminal import Output, places
from deploy.bench.scale import figure_sweep
from deploy.bench.scale.figure_sweep import published_point
from deploy.bench.scale.figure_table import sentences, tables
from deploy.bench.scale.fit import fits
from deploy.bench.scale.measure import Point, key_of, ranges_of
from deploy.bench.scale.plot import plot_scale
from deploy.deployment.modules import REGIMES
from deploy.emulator import run
from deploy.emulator.machine_file import PAPERS, RANGE, load
from deploy.machine import qemu
from deploy.results.result import document, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.model import ranges


def locks_of(figure: str, lock: str | None) -> tuple[str, ...]:
    """Those of the figure that --lock leaves."""
    of = figure_sweep.chosen(figure).locks
    if lock is None:
        return of
    wanted = [word.strip() for word in lock.split(",")]
    if odd := [name for name in wanted if name not in of]:
        known = "is not in this figure" if odd[0] in REGIMES else "is no lock regime"
        raise InputError("--lock", f"'{odd[0]}' {known}: {', '.join(of)}")
    return tuple(name for name in of if name in wanted)


def scale_figure(
    figure: str, lock: str | None, cores: str | None, machine: str | None, quick: bool, json: str | None,
    plot: Path | None, quiet: bool,
    fixed: Mapping[str, Any],
) -> None:
    """`fixed`: options that the figure leaves no choice of, and what they were given."""
    sweep, locks = figure_sweep.chosen(figure), locks_of(figure, lock)
    if odd := [option for option, given in fixed.items() if given]:
        raise InputError(odd[0], "is not allowed with --figure, whose machine, delays and round trips are the paper's")
    modelled = load(machine or PAPERS)
    sizes = ranges.cores(cores) if cores else list(range(1, modelled.cores + 1))
    if max(sizes) > modelled.cores:
        raise InputError("--cores", f"{max(sizes)} cores; {modelled.name} has {modelled.cores}")
    wanted = figure_sweep.requests(modelled, locks, sizes, sweep.delays, (1.0,) if quick else RANGE)
    json, picture = places(f"scale-figure-{figure}", json, plot)
    output = Output(quiet, json)
    run.check_installed()
    ensure_built(output, needs.kernels(locks, "pingpong", "root", transactions=True) | needs.clocks(modelled))
    mode = run.mode(modelled)
    output.line(f"Mode: {mode.description}.")
    with output.progress(f"Figure {figure}") as update:

        def on_step(text: str) -> None:
            update(description=text)
            if not output.shows_bars:
                output.step(text)

        points = figure_sweep.measure(wanted, on_step)
    _report(points, figure, output)
    entries = [_entry(point, ranges_of(points), modelled.to_json(), figure) for point in points
               if point.line_factor == 1]
    output.results(document("bench scale", host_description(mode, qemu.BINARY), [], entries))
    own = [point for point in points if point.line_factor == 1]
    plot_scale(own, fits(own), mode.description, picture)
    output.line(f"Plot: {picture}." if json == "-" else f"Results: {json}. Plot: {picture}.")


def _report(points: list[Point], figure: str, output: Output) -> None:
    own = [point for point in points if point.line_factor == 1]
    for table in tables(own, ranges_of(points), figure):
        output.table(table)
    for sentence in sentences(own, figure):
        output.line(sentence)
    if late := sum(point.late for point in points):
        output.line(f"The host was so busy that cores got out of step {late} times.")


def _entry(point: Point, ranged: Mapping[Any, tuple[float, float]], modelled: dict[str, Any],
           figure: str) -> dict[str, Any]:
    found: dict[str, Any] = point.to_json() | {"modelled": modelled}
    if key_of(point) in ranged:
        found["range"] = {"throughput_per_cycle": list(ranged[key_of(point)])}
    if figure == "4" and point.lock == "clh":
        found["published"] = dict(published_point(point))
    return found
