# SPDX-License-Identifier: BSD-2-Clause
"""Many workloads under both layouts, `compare --suite`: a ratio with its interval over images for each row.

Each run is kept in a file. Its name has a digest of all that the run depends on, so that an interrupted suite goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
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
from deploy.base.timeouts import Patience
from deploy.compare.images import Spread
from deploy.compare.plot import number
from deploy.compare.programs import SAME, Beside, Layout, check_alike
from deploy.compare.runs import at_once, on_image
from deploy.compare.suite_rows import CONTROL, CORES, LABELS, PARITY, On, Row
from deploy.deployment.planner import Plan, plan
from deploy.emulator import run as modelled_run
from deploy.emulator.entries import Entries
from deploy.load.programs import Measured, ProgramCase, Programs, cases, measure_once
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.machine.program_output import HIGHER, Combined
from deploy.machine.run import Options, boot as boot_machine
from deploy.results import fingerprint
from deploy.results.result import Result
from deploy.results.tables import plain_table
from deploy.setup import needs
from topology.maps.clustermap import Cluster
from topology.maps.dts import write_dts

KEPT = RESULTS / "suite"
IMAGES = 4  # by default: some 12 minutes on two quiet cores; eight take twice the time
EVEN = 0.05  # how near to 1 a row of parity is, and half of the widest interval of a control


@dataclass(frozen=True)
class Outcome:
    """A row, measured."""

    row: Row
    pair: Beside

    @property
    def spread(self) -> Spread:
        spread = self.pair.spread(self.row.metric)
        if spread is None:
            raise Failure(f"{self.row.name}: its metric {self.row.metric} is 0")
        return spread

    @property
    def same(self) -> bool:
        """Whether neither side does more for certain: the interval has 1, or a ratio that prints as 1.00."""
        spread = self.spread
        low, high = (spread.interval.low, spread.interval.high) if spread.interval else (spread.median,) * 2
        return low <= 1 + SAME and high >= 1 - SAME

    @property
    def wide(self) -> bool:
        """Whether the interval would have 1 with a difference, too, that matters."""
        interval = self.spread.interval
        return interval is not None and interval.high - interval.low > 2 * EVEN

    @property
    def verdict(self) -> str:
        """Says which layout does more, or whether a control holds."""
        if self.row.label == CONTROL:
            return "FAILS" if not self.same else "too wide" if self.wide else "holds"
        if self.same:
            return "neither"
        return (self.pair.first if self.spread.median > 1 else self.pair.second).name

    @property
    def uneven(self) -> bool:
        """Whether a row of parity has none."""
        return self.row.label == PARITY and abs(self.spread.median - 1) > EVEN

    def to_json(self) -> dict[str, Any]:
        """Returns one element of "ratios"."""
        return self.about | {"metric": self.row.metric, "why": self.row.why, "verdict": self.verdict} | (
            self.pair.to_json())

    @property
    def about(self) -> dict[str, str]:
        return {"row": self.row.name, "label": self.row.label}


# ---- Cases and their runs ----


def row_cases(row: Row, on: On, timeout: Patience) -> list[ProgramCase]:
    """Returns a case for each of its layouts. InputError where the machine is too small for the row."""
    job = Programs(row.deployment(on), row.layouts, timeout, modelled=on.machine)
    if not row.bare:  # priced between the barriers, as Redis is: programs warm up behind the first one
        made = cases(replace(job, plugin={"priced": modelled_run.LOAD}))
        return [_with_cables(case) for case in made] if row.cables else made
    return [ProgramCase(job, layout, job.deployment.name, _bare(job, layout)) for layout in job.layouts]


def _with_cables(case: ProgramCase) -> ProgramCase:
    """Joins clients and servers directly where all are in one cluster."""
    if len(case.plan.cluster_map.clusters) > 1:
        return case
    made = case.job.deployment
    programs = tuple(replace(program, cables=("redis",)) for program in made.programs)
    job = replace(case.job, deployment=replace(made, programs=programs))
    return replace(case, job=job, plan=plan(job.under(case.layout)))


def _bare(job: Programs, layout: str) -> Plan:
    """Returns a plan in which the program takes the place of each manager, in clusters of one size."""
    made = plan(job.under(layout))
    (program,) = made.cluster_map.applications
    for cluster in made.cluster_map.clusters:
        cluster.root = program.program
    cores = str(len(made.cluster_map.clusters[0].cpus))
    program.args = [cores if word == CORES else word for word in program.args]
    return made


def _is_bare(case: ProgramCase) -> bool:
    return any(cluster.root != Cluster.root for cluster in case.plan.cluster_map.clusters)


def measure_bare(case: ProgramCase, accel: qemu.Accel, on_event: Callable[[Event], None]) -> Measured:
    """One boot: operations a second of all clusters together between the marks, calls and answers of pairs, or what
    apps/stress counts."""
    job, what, clusters = case.job, case.plan, len(case.plan.cluster_map.clusters)
    assert job.modelled
    with modelled_run.marks(job.modelled, what, options=job.plugin) as plugin:
        with boot_machine(what, Options(accel, job.timeout, "kernel", on_event=on_event,
                                        extra=plugin.arguments)) as machine:
            machine.wait_done()
            done = [2 * event["rounds"] for event in machine.events.of("scale-core")]
            done += [event["operations"] * clusters for event in machine.events.of("stress")]
        times = [mark.clock for mark in plugin.read() if mark.number in (1, 2)]
    if len(times) != 2 or times[1] <= times[0] or not done or min(done) <= 0:
        raise Failure(f"{case.name}: the program did not come to its end on every core")
    seconds = (times[1] - times[0]) / (1e9 * job.modelled.ghz)
    metric = Combined("operations", "operations/s", HIGHER, (sum(done) / seconds,))
    result = Result(
        layout=case.layout, lock=case.plan.lock, workload=case.workload, clusters=clusters,
        cores=len(what.cluster_map.cpus), emulated=accel.emulated, metrics={metric.name: metric.value}, per_core=[],
        modelled=job.modelled.to_json(),
    )
    return Measured(result, (metric,))


def boot(case: ProgramCase, path: Path, on_event: Callable[[Event], None]) -> Measured:
    """Runs a case in a process of its own, and keeps what it measured."""
    assert case.job.modelled
    once = measure_bare if _is_bare(case) else measure_once
    measured = once(case, modelled_run.mode(case.job.modelled), on_event)
    measured = replace(measured, result=replace(measured.result, latency_us=None, machine=None))
    write_text(path, json.dumps(asdict(measured)))
    return measured


def stored(path: Path) -> Measured | None:
    """Returns a run that was kept; None where there is no such file, or what a process that was ended left of it."""
    try:
        kept = json.loads(path.read_text())
        result = kept["result"]
        observed = Entries(**result["observed"]) if result["observed"] else None
        metrics = (Combined(**metric | {"each": tuple(metric["each"])}) for metric in kept["metrics"])
        return Measured(Result(**result | {"observed": observed}), tuple(metrics))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def place(case: ProgramCase, folder: Path = KEPT) -> Path:
    """Returns the file of a run. Its name has a digest of all that the run depends on."""
    job, machine, kernel = case.job, case.job.modelled, case.plan.own.get(case.kernel)
    assert machine
    asked = {
        "images": fingerprint.of_targets(sorted(needed(case).targets or ())), "qemu": qemu.version(),
        "prices": machine.sha256, "machine": machine.plugin_text(case.plan.machine.memory),
        "map": write_dts(case.plan.cluster_map), "plugin": dict(job.plugin), "layout": case.layout,
        "kernel": kernel.name if isinstance(kernel, Path) else "",
    }
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
    return folder / f"{machine.path.stem}-{job.deployment.name}-{case.layout}-{digest}.json"


def needed(case: ProgramCase) -> needs.Needs:
    return (needs.of_map(case.plan.cluster_map, case.plan.own) | needs.kernels([case.lock], transactions=True)
            | needs.MODELLED | needs.PLOTS)


@dataclass(frozen=True)
class Asked:
    """A row with its cases on each image, by the name of the layout."""

    row: Row
    drawn: Mapping[str, Sequence[ProgramCase]]

    @property
    def every(self) -> list[ProgramCase]:
        return [case for drawn in self.drawn.values() for case in drawn]


def asked(row: Row, on: On, images: int, timeout: Patience) -> Asked:
    """Returns what is to be measured of a row: both sides on the same images, of a control against itself on others."""
    return Asked(row, {case.name: [on_image(case, draw, images) for draw in range(images)]
                       for case in row_cases(row, on, timeout)})


def measure(rows: Sequence[Asked], output: Output, parts: Parts, folder: Path = KEPT) -> list[Outcome]:
    """Returns the rows whose runs are all there, from now or from a former suite. Runs go side by side."""
    folder.mkdir(parents=True, exist_ok=True)  # fails before any run
    paths = {id(case): place(case, folder) for row in rows for case in row.every}
    at = {paths[id(case)]: (f"{row.row.name}, {case.name}", case) for row in rows for case in row.every}
    known = {path: measured for path in at if (measured := stored(path))}
    if known:
        output.step(f"{len(known)} of {len(at)} runs are there from before ({folder})")
    known |= _run({path: of for path, of in at.items() if path not in known}, output, parts)
    outcomes = []
    for row in rows:
        sides = [Layout(name, [known[paths[id(case)]] for case in drawn]) for name, drawn in row.drawn.items()
                 if all(paths[id(case)] in known for case in drawn)]
        if len(sides) < len(row.drawn):
            continue
        with parts.part(row.row.name):
            check_alike(sides)
            outcomes.append(Outcome(row.row, Beside(sides[0], sides[1], row.every[0].job.modelled)))
    return outcomes


def _run(missing: Mapping[Path, tuple[str, ProgramCase]], output: Output, parts: Parts,
         clock: Callable[[], float] = monotonic) -> dict[Path, Measured]:
    if not missing:
        return {}
    most = min(at_once(case) for _, case in missing.values())
    calls = [Call(name, boot, (case, path)) for path, (name, case) in missing.items()]
    with output.progress(f"{len(calls)} runs", total=len(calls)) as update:
        begun, begin = [0], clock()

        def on_start(place: int) -> None:
            begun[0] += 1
            done = max(0, begun[0] - most)
            left = f", about {(clock() - begin) / done * (len(calls) - done) / 60:.0f} min to go" if done else ""
            text = f"{calls[place].name}: {done} of {len(calls)} runs{left}"
            update(completed=done, description=text)
            if not output.shows_bars:
                output.step(text)

        results = parallel.run(calls, most, on_start, parts=parts)
    return {path: result for path, result in zip(missing, results) if result}


# ---- What is said of them ----


def table(outcomes: Sequence[Outcome]) -> Table:
    """Returns a line for each row; ratios above 1 are of rows in which the first layout does more."""
    pair = next((one.pair for one in outcomes if one.row.label != CONTROL), outcomes[0].pair)
    table = plain_table(f"{pair.first.name} beside {pair.second.name} (modelled)",
                        ("row", "kind", "unit", pair.first.name, pair.second.name, "ratio", "does more", "why"),
                        ("row", "kind", "unit", "does more", "why"))
    for one in outcomes:
        metric = one.row.metric
        values = (number(median(layout.values(metric))) for layout in (one.pair.first, one.pair.second))
        table.add_row(one.row.name, one.row.label, one.pair.first.metrics[metric].unit, *values, str(one.spread),
                      one.verdict, one.row.why)
    return table


def sentences(outcomes: Sequence[Outcome]) -> list[str]:
    """Returns which rows each layout wins, and what does not hold."""
    lines = [f"{label}: {words}." for label, words in LABELS.items() if any(one.row.label == label
                                                                             for one in outcomes)]
    measured = [one for one in outcomes if one.row.label != CONTROL]
    for verdict in dict.fromkeys(one.verdict for one in measured):
        rows = ", ".join(f"{one.row.name} {one.spread.median:.2f}" for one in measured if one.verdict == verdict)
        lines.append(f"Neither does more for certain: {rows}." if verdict == "neither" else
                     f"{verdict} does more: {rows}.")
    if uneven := [one.row.name for one in outcomes if one.uneven]:
        lines.append(f"No parity, though it was expected: {', '.join(uneven)}.")
    if held := [one.row.name for one in outcomes if one.verdict == "holds"]:
        lines.append(f"Controls that are 1.00 within their interval: {', '.join(held)}.")
    if wide := [one.row.name for one in outcomes if one.verdict == "too wide"]:
        lines.append(f"Controls whose intervals are too wide to tell: {', '.join(wide)}; --images takes more.")
    return lines


def failed(outcomes: Sequence[Outcome]) -> list[str]:
    """Returns the controls that do not hold, with their ratios."""
    return [f"{one.row.name} {one.spread}" for one in outcomes if one.verdict == "FAILS"]


def check(outcomes: Sequence[Outcome]) -> None:
    """Raises Failure if a control does not hold."""
    if wrong := failed(outcomes):
        raise Failure(f"control{'s' * (len(wrong) > 1)} without a ratio of 1.00: {'; '.join(wrong)}; something else "
                      f"than the layout differs, in the other rows, too")
