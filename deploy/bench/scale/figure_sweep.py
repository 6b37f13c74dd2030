# SPDX-License-Identifier: BSD-2-Clause
"""Figures 4 and 5 of Elphinstone 2016, every point: one boot for each lock, delay and line cost, on every number of
cores.

A boot's points are kept in a file, so that a sweep that was ended goes on where it was. That changes nothing: boots of
a modelled machine do not depend on each other, and each comes out the same in every digit. The file's name stands for
all that the points depend on: the machine's prices, the emulator, its plugin, and the images.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from deploy.base import parallel
from deploy.base.atomic_files import write_text
from deploy.base.parallel import Call
from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.bench.boot import Bench
from deploy.bench.scale import measure as scale
from deploy.bench.scale.measure import Point, Request
from deploy.deployment import modules
from deploy.emulator import run
from deploy.emulator.machine_file import ModelledMachine
from deploy.machine import qemu
from deploy.machine.events import Event
from topology.errors import InputError
from topology.model import published, ranges, repairman

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
