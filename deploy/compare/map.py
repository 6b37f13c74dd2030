# SPDX-License-Identifier: BSD-2-Clause
"""A map in place of one ratio: two layouts over the load of the lock and the number of cores, for locks, workloads and
machines.

Each cell is measured on the machine, which feeds the closed model, and with fewer and more cores, which checks it.
Runs are kept in files, whose names stand for all that a run depends on: a map that is asked for again is drawn at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from rich.table import Table

from deploy.base import parallel
from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.parallel import Call
from deploy.base.partial import Parts
from deploy.base.paths import RESULTS
from deploy.base.terminal import Output
from deploy.compare import runs
from deploy.compare.closed import Check, Model, Run, Side, run, sides
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.case import RedisCase
from deploy.load.request import prepared
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.results import fingerprint
from deploy.results.scheduler import workers
from deploy.results.tables import plain_table
from deploy.setup import needs
from topology.errors import InputError
from topology.machines.machine import default_memory
from topology.model import regimes

KEPT = RESULTS / "map"
LOCKS = tuple(lock for lock in regimes.NAMES if not regimes.collapses(lock))  # that the closed model is of
LOADS = tuple(step / 20 for step in range(4, 61))  # of the lock, that a map shows


@dataclass(frozen=True)
class Cell:
    machine: ModelledMachine
    lock: str
    workload: str
    model: Model
    points: tuple[Check, ...]

    @property
    def name(self) -> str:
        return f"{self.machine.path.stem}, lock {self.lock}, workload {self.workload.upper()}"

    def ratios(self, cores: Sequence[int]) -> list[list[float | None]]:
        """Returns the ratio for each number of cores and each load; None where so few cores cannot be that load."""
        return [[self._ratio(self.model.on(each), load) for load in LOADS] for each in cores]

    @property
    def cores(self) -> range:
        """The cores of a socket that its map shows."""
        return range(1, self.machine.cores_per_socket * 3 // 2 + 1)

    @staticmethod
    def _ratio(model: Model, load: float) -> float | None:
        fullest = max(model.first, model.second, key=lambda one: one.load)
        user = max(fullest.kernels) * fullest.service / load - fullest.service
        return model.scaled(user=user / fullest.user).ratio if user > 0 else None

    def to_json(self) -> dict[str, Any]:
        return {
            "machine": self.machine.name, "prices_sha256": self.machine.sha256, "lock": self.lock,
            "workload": self.workload, "model": self.model.to_json(),
            "points": [point.to_json() for point in self.points],
            "cores_per_socket": list(self.cores), "lock_load": list(LOADS), "ratio": self.ratios(self.cores),
        }


def place(case: RedisCase, folder: Path = KEPT) -> Path:
    """Returns the file of a run, whose name has a digest of all that the run depends on."""
    job, machine = case.job, case.job.modelled
    assert machine
    asked = {
        "images": fingerprint.of_targets(sorted(images(case))), "qemu": qemu.version(), "prices": machine.sha256,
        "machine": machine.plugin_text(case.plan.machine.memory), "layout": case.layout, "workload": case.workload,
        "lock": case.lock, "records": job.records, "operations": job.operations, "warm": job.warm,
        "clients": job.clients, "salt": job.salt,
    }
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
    return folder / f"{machine.path.stem}-{machine.cores}-{case.lock}-{case.workload}-{case.layout}-{digest}.json"


def stored(path: Path) -> Run | None:
    """Returns a run that was kept; None where there is no such file, or what a process that was ended left of it."""
    try:
        kept = json.loads(path.read_text())
        return Run(Side(**kept["side"] | {"kernels": tuple(kept["side"]["kernels"])}), kept["ops_per_s"], kept["lock"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def store(path: Path, measured: Run) -> None:
    write_text(path, json.dumps(asdict(measured)))


def images(case: RedisCase) -> frozenset[str]:
    """Returns what a run boots, by its place in the build folder."""
    targets = (needs.of_map(case.plan.cluster_map) | needs.MODELLED).targets or ()
    return frozenset(target for target in targets if fingerprint.name_of(Path(target)))


def boot(case: RedisCase, on_event: Callable[[Event], None]) -> Run:
    """Runs a case in a process of its own."""
    assert case.job.modelled
    result = runs.run_once(case, modelled_run.mode(case.job.modelled), on_event)
    measured = run(result, case.job.modelled)
    if not measured:
        raise Failure(f"{case.name}: waits and holds fill more than the time of its cores; there is no model of that")
    return measured


@dataclass(frozen=True)
class Asked:
    """A cell that is to be measured: the cases of both layouts, on each share of the machine."""

    machine: ModelledMachine
    lock: str
    workload: str
    pairs: tuple[tuple[RedisCase, RedisCase], ...]


def asked(machine: ModelledMachine, lock: str, workload: str, layouts: str, **more: Any) -> Asked:
    """Returns what is to be measured of one cell."""
    shape = machine.shape(machine.cores, default_memory(machine.cores_per_socket))
    first, second = (case.salted(runs.salt(case, 0, images=1))
                     for case in prepared(shape, layouts, workload, lock=lock, modelled=machine, **more))
    pairs = [(first, second)]
    for share in runs.SHARES:
        with suppress(InputError):  # so many cores do not fit
            pairs.append((first.on_part(share), second.on_part(share)))
    return Asked(machine, lock, workload, tuple(pairs))


def measure(cells: Sequence[Asked], output: Output, parts: Parts, folder: Path = KEPT,
            clock: Callable[[], float] = monotonic, scheduler: str | None = None) -> list[Cell]:
    """Returns the cells with runs for their model, from now or from a former map. Runs go side by side, on this host or
    on a scheduler's workers, and are kept as they end."""
    folder.mkdir(parents=True, exist_ok=True)  # fails before any run
    paths = {id(case): place(case, folder) for cell in cells for pair in cell.pairs for case in pair}
    at = {paths[id(case)]: case for cell in cells for pair in cell.pairs for case in pair}
    known = {path: one for path in at if (one := stored(path))}
    missing = [path for path in at if path not in known]
    if known:
        output.step(f"{len(known)} of {len(at)} runs are there from before ({folder})")
    if missing:
        most = min(runs.at_once(at[path]) for path in missing)
        calls = [Call(path.stem, boot, (at[path],), images(at[path])) for path in missing]
        with output.progress(f"{len(missing)} runs", total=len(missing)) as update, workers(scheduler) as pool:
            ended, begin = [0], clock()

            def on_start(number: int) -> None:
                done = ended[0]
                left = f", about {(clock() - begin) / done * (len(calls) - done) / 60:.0f} min to go" if done else ""
                text = f"{calls[number].name}: {done} of {len(calls)} runs{left}"
                update(completed=done, description=text)
                if not output.shows_bars:
                    output.step(text)

            def on_result(number: int, result: Run) -> None:
                ended[0] += 1
                known[missing[number]] = result
                store(missing[number], result)

            parallel.run(calls, most, on_start, parts=parts, on_result=on_result, pool=pool)
    made = []
    for this in cells:
        runs_of = [(known.get(paths[id(first)]), known.get(paths[id(second)])) for first, second in this.pairs]
        if all(runs_of[0]):
            made.append(cell(this, [(first, second) for first, second in runs_of if first and second]))
    return made


def cell(asked: Asked, measured: Sequence[tuple[Run, Run]]) -> Cell:
    """Returns a cell: the first pair of runs is the model's, the others are beside it."""
    machine = asked.machine
    hertz = 1e9 * machine.ghz
    model = Model(*sides(*measured[0], hertz), machine.sockets, hertz)
    points = []
    for first, second in measured:
        here = Model(*sides(first, second, hertz), machine.sockets, hertz)
        points.append(Check(here.cores, here.load, first.ops_per_s / second.ops_per_s, model.on(here.cores).ratio))
    return Cell(machine, asked.lock, asked.workload, model, tuple(points))


def table(cells: Sequence[Cell]) -> Table:
    """Returns the measured points beside the model, and where it makes no difference. A cell's first point has no
    error: the model is made of it."""
    table = plain_table("Two layouts: ratio of operations per second",
                        ("cell", "cores a socket", "load of the lock", "measured", "modelled", "error", "most",
                         "5% up to cores"))
    for one in cells:
        for number, point in enumerate(one.points):
            ends = (f"{one.model.most:.2f}", str(one.model.even_cores or "-")) if not number else ("", "")
            error = f"{point.error:+.1%}" if number else "-"
            table.add_row("" if number else one.name, str(point.cores), f"{point.load:.2f}", f"{point.measured:.3f}",
                          f"{point.modelled:.3f}", error, *ends)
    return table
