# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench scale --figure`: the sweep of Figure 4 or 5, its tables beside the paper's, and a verdict in words."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rich.table import Table

from deploy.base import parallel
from deploy.base.atomic_files import write_text
from deploy.base.parallel import Call
from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.destination import Destination
from deploy.bench.scale import measure as scale
from deploy.bench.scale.fit import fits
from deploy.bench.scale.measure import Key, Point, Request, key_of, ranges_of
from deploy.bench.scale.present import plot_scale
from deploy.deployment import modules
from deploy.deployment.modules import REGIMES
from deploy.emulator import run
from deploy.emulator.machine_file import PAPERS, RANGE, ModelledMachine, load
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.results.tables import add_rows, plain_table
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.model import papers, published, ranges, repairman

KEPT = BUILD / "results" / "figure-points"
SILENCE = 1200.0  # seconds in which a boot must come to its end
ROUNDS = 512  # round trips of a point, all pairs together; at least 128 of each core


@dataclass(frozen=True)
class Sweep:
    """The locks and delays of a figure of the paper."""

    locks: tuple[str, ...]
    delays: tuple[float, ...]


SWEEPS = {
    "4": Sweep(("clh", "ticket", "mcs", "fine", "rtm"), tuple(ranges.delays(published.DELAYS))),
    "5": Sweep(("clh", "fine", "rtm", "ticket", "mcs", "none"), (published.SPANS_SOCKET,)),
}


def chosen(figure: str) -> Sweep:
    if figure not in SWEEPS:
        raise InputError("--figure", f"'{figure}' is not one of {', '.join(SWEEPS)}")
    return SWEEPS[figure]


def requests(machine: ModelledMachine, locks: Sequence[str], cores: Sequence[int], delays: Sequence[float],
             factors: Sequence[float]) -> list[Request]:
    """The machine's own line costs first, and the figure's first lock first: what is there early says most."""
    return [
        Request(lock, [1] if lock == "none" else list(cores), [delay], ROUNDS, modelled=machine, line_factor=factor)
        for factor in sorted(factors, key=lambda factor: factor != 1.0)
        for lock in locks
        for delay in delays
    ]


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def key(request: Request, build: Path = BUILD) -> str:
    """Returns a digest of all that the points depend on."""
    assert request.modelled
    kernel = modules.MODELLED_RTM if request.lock == run.RTM else request.lock
    images = [modules.module_path(name, build) for name in (f"kernel-{kernel}", "pingpong")]
    files = {path.name: _digest(path) for path in (*images, build / run.PLUGIN)}
    asked = asdict(replace(request, modelled=None)) | {"prices": request.modelled.sha256, "qemu": qemu.version(),
                                                       "files": files}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def place(request: Request, folder: Path) -> Path:
    return folder / f"{request.lock}-{request.delays[0]:g}-x{request.line_factor:g}-{key(request)}.json"


def stored(path: Path) -> list[Point] | None:
    """None where there is no such file, or what a process that was ended left of it."""
    try:
        return [Point(**one) for one in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError):
        return None


def store(path: Path, points: Sequence[Point]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps([asdict(point) for point in points]))


def boot(request: Request, path: Path, on_event: Callable[[Event], None]) -> list[Point]:
    """One boot, in a process of its own."""
    assert request.modelled
    bench = Bench(run.mode(request.modelled), Patience(SILENCE), stepped=True)
    points = scale.measure(scale.case(request), bench, starving=True)
    store(path, points)
    return points


@dataclass
class Estimate:
    """The time that is left, estimated from the boots so far."""

    total: int
    started: float
    done: int = 0

    def text(self, now: float) -> str:
        left = self.total - self.done
        if not self.done:
            return f"{left} boots to go"
        minutes = (now - self.started) / self.done * left / 60
        return f"{self.done} of {self.total} boots, about {minutes:.0f} min to go" if left else f"{self.total} boots"


Measure = Callable[[Sequence[Call], int, Callable[[int], None]], list[Any]]


def measure(
    boots: Sequence[Request], on_step: Callable[[str], None], folder: Path = KEPT, measured: Measure = parallel.run,
    clock: Callable[[], float] = time.monotonic,
) -> list[Point]:
    """All points; `on_step` is told in words how far it is. Boots go side by side, one on each processor of the
    host."""
    paths = [place(request, folder) for request in boots]
    points_at: dict[int, list[Point]] = {at: points for at, path in enumerate(paths) if (points := stored(path))}
    missing = [at for at in range(len(boots)) if at not in points_at]
    if points_at:
        on_step(f"{len(points_at)} of {len(boots)} boots are there from before ({folder})")
    most = len(parallel.processors())
    left, begun = Estimate(len(missing), clock()), [0]

    def on_start(at: int) -> None:
        begun[0] += 1
        left.done = max(0, begun[0] - most)
        request = boots[missing[at]]
        on_step(f"{request.lock}, delay {request.delays[0]:g}, line costs x {request.line_factor:g}; "
                f"{left.text(clock())}")

    calls = [Call(f"kernel {boots[at].lock}", boot, (boots[at], paths[at])) for at in missing]
    points_at |= dict(zip(missing, measured(calls, most, on_start)))
    return [point for at in range(len(boots)) for point in points_at[at]]


def published_point(point: Point) -> Mapping[str, Any]:
    """Returns the text's values of Figure 4 for this point of one lock: the fit within a socket, two bounds beyond
    it."""
    slow, fast, fit = (
        repairman.steady(service, point.delay, point.cores).throughput
        for service in (*reversed(published.BOUNDS), published.SERVICE)
    )
    if point.cores <= published.SOCKET:
        return {"fit": fit, "error": point.throughput / fit - 1, "met": abs(point.throughput / fit - 1) <= GOAL}
    return {"bounds": [slow, fast], "met": slow <= point.throughput <= fast}


GOAL = 0.10  # allowed error of the paper's fit, as for bench validate --rows figures


UNIT = 1000  # cycles
SHOWN = (1, 2, 4, 6, 8, 10, 12, 14, 15, 16, 18, 20, 24, 28)  # rows; the plot and the JSON have all
Ranges = Mapping[Key, tuple[float, float]]


def tables(points: Sequence[Point], ranged: Ranges, figure: str) -> list[Table]:
    if figure == "5":
        return [_table(f"Figure 5, delay {points[0].delay:g}", points, "lock", ranged)]
    one = [point for point in points if point.lock == "clh"]
    made = [_table(f"Figure 4, {lock}", [point for point in points if point.lock == lock], "delay", ranged)
            for lock in dict.fromkeys(point.lock for point in points)]
    return [*made, against_paper(one)] if one else made


def _cell(point: Point, ranged: Ranges) -> str:
    low, high = ranged.get(key_of(point), (0.0, 0.0))
    starved = f" starved: {len(point.starved)}" if point.starved else ""
    return f"{UNIT * point.throughput:.3g}" + (f" [{UNIT * low:.3g}..{UNIT * high:.3g}]" if high else "") + starved


def _table(title: str, points: Sequence[Point], by: str, ranged: Ranges,
           text: Callable[[Point], str] | None = None) -> Table:
    """A row for each number of cores, a column for each of `by`: lock or delay."""
    brackets = " In brackets: half and double line costs." if ranged else ""
    of = list(dict.fromkeys(point.lock for point in points)) if by == "lock" else sorted({p.delay for p in points})
    heads = [str(one) if by == "lock" else f"delay {one:g}" for one in of]
    there = sorted({point.cores for point in points})
    return add_rows(
        plain_table(f"{title}: kernel entries in {UNIT:,} cycles (modelled).{brackets}", ("cores", *heads)),
        {(point.cores, getattr(point, by)): point for point in points}, of,
        text or (lambda point: _cell(point, ranged)), [n for n in there if n in SHOWN or len(there) <= len(SHOWN)],
    )


def against_paper(points: Sequence[Point]) -> Table:
    """One lock: ours, what the paper has, and how far apart; * where that is more than the goal."""
    table = _table("Figure 4, clh beside the paper: ours, its fit and the error, or its bounds", points, "delay", {},
                   _against)
    table.caption = (
        f"Up to {published.SOCKET} cores: its fit with a service time of {published.SERVICE:g} cycles; beyond, between "
        f"its bounds for {published.BOUNDS[1]:g} and {published.BOUNDS[0]:g}. Its text has no points. * more than "
        f"{GOAL:.0%} off, or outside."
    )
    table.caption_justify = "left"
    return table


def _against(point: Point) -> str:
    paper, ours = published_point(point), f"{UNIT * point.throughput:.3g}"
    star = "" if paper["met"] else "*"
    if "fit" in paper:
        return f"{ours} ({UNIT * paper['fit']:.3g}, {paper['error']:+.0%}){star}"
    return f"{ours} ({UNIT * paper['bounds'][0]:.3g}..{UNIT * paper['bounds'][1]:.3g}){star}"


def sentences(points: Sequence[Point], figure: str) -> Iterator[str]:
    """Yields the figure's main result in words, for a reader without the figure."""
    at = {(point.lock, point.delay, point.cores): point.throughput for point in points}
    if figure == "4":
        yield from _about_fit([point for point in points if point.lock == "clh"])
    most = max((point.cores for point in points), default=0)
    delay = published.SPANS_SOCKET
    for lock in dict.fromkeys(point.lock for point in points):
        whole, half, one = (at.get((lock, delay, n)) for n in (most, published.SOCKET, 1))
        if whole and half and one and most > published.SOCKET:
            yield (
                f"{lock}, delay {delay:g}: {most} cores do {whole / one:.1f} times what one does, and "
                f"{whole / half:.2f} times what {published.SOCKET} do. {_said(lock, whole / one, whole / half, most)}"
            )


def _said(lock: str, over_one: float, over_half: float, most: int) -> str:
    if lock in ("fine", "rtm"):
        agrees = over_one > 0.95 * most
        return (
            f"The paper: scales perfectly ({papers.FIGURE_5_FINE.source.split(', ')[-1].split(':')[0]}): "
            f"{'agrees' if agrees else 'disagrees'}."
        )
    if lock == "clh":
        return f"The paper: a lower plateau on both sockets: {'agrees' if over_half < 1 else 'disagrees'}."
    return "The paper does not have this curve."


def _about_fit(points: Sequence[Point]) -> Iterator[str]:
    compared = [(point, published_point(point)) for point in points]
    near, far = ([one for one in compared if "fit" in one[1]], [one for one in compared if "bounds" in one[1]])
    if near:
        worst, of = max(near, key=lambda one: abs(one[1]["error"]))
        yield (
            f"clh, one socket: {sum(of['met'] for _, of in near)} of {len(near)} points are within {GOAL:.0%} of the "
            f"paper's fit; the worst is {of['error']:+.0%} ({worst.cores} cores, delay {worst.delay:g})."
        )
    if far:
        below = sum(1 for point, of in far if point.throughput < of["bounds"][0])
        inside = sum(of["met"] for _, of in far)
        yield (
            f"clh, two sockets: {inside} of {len(far)} points are between its bounds, {below} below and "
            f"{len(far) - inside - below} above."
        )


def locks_of(figure: str, lock: str | None) -> tuple[str, ...]:
    """Returns the locks of the figure that --lock leaves."""
    of = chosen(figure).locks
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
        delays = chosen(self.figure).delays
        return requests(modelled, locks, sizes, delays, (1.0,) if self.quick else RANGE)


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

        points = measure(requests, on_step)
    _report(points, figure, to)
    entries = [_entry(point, ranges_of(points), modelled.to_json(), figure) for point in points
               if point.line_factor == 1]
    to.write("bench scale", mode, entries)
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
