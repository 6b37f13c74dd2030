# SPDX-License-Identifier: BSD-2-Clause
"""Measures and shows the profiles of `skerry profile`: a load, a start, requests from outside; Linux beside them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.base.atomic_files import write_text
from deploy.base.terminal import Output
from deploy.deployment.engines import ENGINES
from deploy.load import comparison
from deploy.load.case import RedisCase, case, needed
from deploy.load.comparison import Comparison
from deploy.machine import qemu
from deploy.machine.events import Event
from deploy.machine.tap import Tap
from deploy.profile import linux, outside, run
from deploy.profile.present import SPEED, compared, components, functions, svg
from deploy.profile.run import profile as measure
from deploy.profile.tally import Profile
from deploy.results.result import Result, document, host_description, nested
from deploy.setup import needs
from deploy.setup.build import ensure_built

LINUX = "Linux"


@dataclass(frozen=True)
class Shown:
    """The destination of a profile."""

    output: Output
    count: int  # functions
    picture: Path

    @property
    def picture_of_linux(self) -> Path:
        return self.picture.with_name(f"{self.picture.stem}-linux.svg")

    def tables(self, counted: Profile, title: str) -> None:
        self.output.table(components(counted, f"{title}, by component"))
        if self.count:
            self.output.table(functions(counted, f"{title}, by function", self.count))

    def end(self, *pictures: Path) -> None:
        flames = f"Flame graph{'s' * (len(pictures) > 1)}: {', '.join(map(str, pictures))}."
        self.output.line(flames if self.output.json_to == "-" else f"Results: {self.output.json_to}. {flames}")


def _say_mode(job: Comparison, accel: qemu.Accel, output: Output) -> None:
    engine = ENGINES[job.server]
    output.line(f"Machine: {job.shape}; {engine.named(engine.version())}. Mode: {accel.description}, each block of "
                f"code counted by a plugin.")


def _draw(picture: Path, counted: Profile, title: str) -> None:
    write_text(picture,
               svg(counted, f"{title}: {counted.instructions / counted.operations:,.0f} instructions/{counted.unit}"))


def profile_load(every: Sequence[RedisCase], stat: bool, with_linux: bool, show: Shown) -> None:
    """Under YCSB."""
    output, job, workload = show.output, every[0].job, every[0].workload
    ensure_built(output, needed(every) | (needs.beside_linux(job.server) if with_linux else needs.NOTHING))
    _say_mode(job, qemu.TCG_COUNTED, output)
    measured = [_measure(one if not stat else case(job, *one.key, counting=True), output) for one in every]
    for name, (counted, _) in zip(job.layouts, measured):
        show.tables(counted, f"{name}: instructions of an operation")
    first, result = measured[0]
    _draw(show.picture, first, f"{job.layouts[0]}, YCSB {workload.upper()}")
    data = document("profile", host_description(qemu.TCG_COUNTED, job.binary), [result for _, result in measured])
    profiles = [counted for counted, _ in measured]
    if with_linux:
        with output.progress("Linux: booting, loading and counting"):
            of_linux, entry = linux.profile(job, workload)
        show.tables(of_linux, f"{LINUX} {entry['kernel']}: instructions of an operation")
        _draw(show.picture_of_linux, of_linux, f"{LINUX} {entry['kernel']}, YCSB {workload.upper()}")
        output.table(compared(job.layouts[0], first, LINUX, of_linux, (result.metrics, entry["metrics"])))
        data["results"].append(entry | {"metrics": nested(entry["metrics"])})
        profiles.append(of_linux)
    for entry, counted in zip(data["results"], profiles):
        entry["profile"] = _to_json(counted)
    output.results(data)
    show.end(show.picture, *([show.picture_of_linux] if with_linux else []))


def _measure(case: RedisCase, output: Output) -> tuple[Profile, Result]:
    job, layout = case.job, case.layout
    servers = comparison.servers(job)
    with output.progress(f"{layout}: booting", total=2 + servers * (2 + 2 * job.clients)) as update:
        seen = 0

        def follow(event: Event) -> None:
            nonlocal seen
            seen += event.kind in ("started", "serving", "result")
            update(completed=seen, description=f"{layout}: loading and counting"
                   if event.kind == "started" else f"{layout}: counting")

        counted, result = measure(case, follow)
    figures = {"instructions_per_op": counted.instructions / counted.operations} | counted.metrics()
    return counted, result.with_metrics(figures)


def profile_start(job: Comparison, show: Shown) -> None:
    """Profiles a start, without a load."""
    output = show.output
    what = run.planned(job.shape, job.layouts[0], job.lock, job.server)
    ensure_built(output, needs.of_map(what.cluster_map, what.own) | needs.plugin("profile"))
    _say_mode(job, qemu.TCG_COUNTED, output)
    with output.progress("booting", total=1) as update:
        counted = run.profile_start(what, job.timeout, job.binary,
                                   lambda event: update(completed=int(event.kind == "serving")))
    title = f"{job.layouts[0]}: from the loader's first instruction to the first command served"
    show.tables(counted, title)
    write_text(show.picture, svg(counted, f"{title}: {counted.instructions:,} instructions"))
    entry = {"layout": job.layouts[0], "lock": job.lock, "metrics": {"instructions_to_serve": counted.instructions},
             "profile": _to_json(counted)}
    output.results(document("profile-start", host_description(qemu.TCG_COUNTED, job.binary), []) | {"results": [entry]})
    show.end(show.picture)


def profile_outside(job: Comparison, loads: Sequence[outside.Requests], with_linux: bool, over_tap: bool,
                    show: Shown) -> None:
    """Profiles GETs that redis-benchmark sends from the host."""
    output, layout, accel = show.output, job.layouts[0], qemu.TCG_COUNTED_OUTSIDE
    what = run.planned(job.shape, layout, job.lock, job.server)
    needed_images = needs.of_map(what.cluster_map, what.own) | needs.plugin("profile") | needs.OUTSIDE | (needs.TAP
        if over_tap else needs.NOTHING)
    ensure_built(output, needed_images | (needs.beside_linux(job.server) if with_linux else needs.NOTHING))
    _say_mode(job, accel, output)
    with Tap(what.cluster_map.network) if over_tap else nullcontext() as tap:
        entries = _from_outside(job, loads, with_linux, tap, show)
    output.results(document("profile-outside", host_description(accel, job.binary), []) | {"results": entries})
    show.end(show.picture, *([show.picture_of_linux] if with_linux else []))


def _from_outside(
    job: Comparison, loads: Sequence[outside.Requests], with_linux: bool, tap: Tap | None, show: Shown
) -> list[dict[str, Any]]:
    output, layout = show.output, job.layouts[0]
    entries: list[dict[str, Any]] = []
    speeds = _speeds(job, loads, with_linux, tap, output)
    for at, requests in enumerate(loads):
        title = f"GET from outside, {requests.connections} connections, -P {requests.pipeline}{', tap' * bool(tap)}"
        with output.progress(f"{title}: {layout}"):
            ours = outside.skerry(job.shape, layout, job.lock, requests, job.timeout, job.binary, tap)
        profiles = {layout: ours}
        if with_linux:
            with output.progress(f"{title}: {LINUX}"):
                profiles[LINUX] = outside.of_linux(job.shape, requests, job.timeout, job.binary, tap)
        for name, counted in profiles.items():
            show.tables(counted, f"{title}: {name}")
            entries.append(_entry(name, job, requests, counted, speeds[name][at], "tap" if tap else "user"))
        if with_linux:
            metrics = ({outside.METRIC: speeds[layout][at]}, {outside.METRIC: speeds[LINUX][at]})
            output.table(compared(layout, ours, LINUX, profiles[LINUX], metrics, title))
        else:
            output.line(f"{title}: {speeds[layout][at]:,.0f} {SPEED}.")
        if requests is loads[0]:
            for picture, (name, counted) in zip((show.picture, show.picture_of_linux), profiles.items()):
                _draw(picture, counted, f"{title}: {name}")
    return entries


def _speeds(job: Comparison, loads: Sequence[outside.Requests], with_linux: bool, tap: Tap | None,
            output: Output) -> dict[str, list[float]]:
    """Returns the speeds of each load by system. Timed on machines of their own: a plugin takes most of the emulator's
    time."""
    layout = job.layouts[0]
    with output.progress(f"GETs from outside, timed: {layout}"):
        speeds = {layout: outside.skerry_speeds(job.shape, layout, job.lock, loads, job.timeout, job.binary, tap)}
    if with_linux:
        with output.progress(f"GETs from outside, timed: {LINUX}"):
            speeds[LINUX] = outside.linux_speeds(job.shape, loads, job.timeout, job.binary, tap)
    return speeds


def _entry(name: str, job: Comparison, requests: outside.Requests, counted: Profile, speed: float,
           network: str) -> dict[str, Any]:
    split = {f"instructions_per_request_by.{group}": figure for group, figure in counted.by_group().items()}
    return {
        "system": "linux" if name == LINUX else "skerry",
        "layout": linux.LAYOUT if name == LINUX else name,
        **({} if name == LINUX else {"lock": job.lock}),
        "network": network,
        "connections": requests.connections,
        "pipeline": requests.pipeline,
        "metrics": nested({"instructions_per_request": counted.instructions / counted.operations,
                           outside.METRIC: speed} | split),
        "profile": _to_json(counted),
    }


def _to_json(counted: Profile) -> dict[str, Any]:
    return {
        "operations": counted.operations,
        "repeated_steps": counted.repeated,
        "functions": [vars(line) for line in counted.lines],
    }
