# SPDX-License-Identifier: BSD-2-Clause
"""Any deployment as cases of a comparison, one for each layout: what is booted, and what a run of it measures."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from deploy import deployment as deployments
from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Program
from deploy.deployment.planner import Plan, is_map, plan
from deploy.deployment.switches import same_for
from deploy.emulator import entries, run as modelled_run
from deploy.emulator.lockstep import Mark, Marks
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.case import Case
from deploy.load.comparison import HOMED_LOCK
from deploy.load.measure import finish
from deploy.machine import program_output, qemu, snapshot
from deploy.machine.crashes import death
from deploy.machine.events import BAD_LINE, Event, standing
from deploy.machine.program_output import FORM, HIGHER, LOWER, Combined
from deploy.machine.run import Options, Run, boot
from deploy.results.result import Result
from topology.errors import InputError
from topology.grouping import is_layout_name
from topology.layouts import is_homed
from topology.machines.machine import emulated

OBSERVED = {"whole": "on"}  # of the plugin: programs that mark no interval are observed from their start to their end
OF_LOAD = (("ops_per_s", "operations/s", HIGHER), ("p50_us", "µs", LOWER), ("p99_us", "µs", LOWER))
PREPARE, BEGIN, END, OVER = 0, 1, 2, 9  # marks (skerry/mark.h)


@dataclass(frozen=True)
class Programs:
    """A deployment on the machine of a comparison, and the layouts to compare."""

    deployment: Deployment
    layouts: Sequence[str]
    timeout: Patience = Patience()
    medium: str = "iso"
    modelled: ModelledMachine | None = None
    priced: ModelledMachine | None = None  # whose prices it has where pricing begins; None: the same
    line_factor: float = 1.0
    plugin: Mapping[str, str] = field(default_factory=dict)  # options of the modelled machine's

    def lock_of(self, layout: str) -> str:
        return HOMED_LOCK if is_homed(layout) else self.deployment.lock

    def under(self, layout: str) -> Deployment:
        return self.deployment.with_clusters(layout, self.lock_of(layout))


@dataclass(frozen=True)
class ProgramCase(Case[Programs]):
    """A deployment under one layout."""

    @property
    def name(self) -> str:
        return f"{self.layout}{' again' * self.again}"

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.workload

    def on(self, machine: ModelledMachine) -> ProgramCase:
        """Returns the case at other prices from where pricing begins. It boots the same."""
        return replace(self, job=replace(self.job, priced=machine))

    def salted(self, salt: int) -> ProgramCase:
        """Returns the case on the image that the salt draws (emulator/modelled/plugin.c). The machine boots the
        same."""
        return replace(self, job=replace(self.job, plugin={**self.job.plugin, "salt": str(salt)} if salt else
                                         self.job.plugin))


@dataclass(frozen=True)
class Measured:
    """A run: its result, and what its metrics are of."""

    result: Result
    metrics: tuple[Combined, ...]


def of_file(path: Path, lock: str | None) -> Deployment:
    """Returns the deployment of a file without what a comparison says itself: layout, counting kernels, ports of the
    host."""
    if is_map(path):
        raise InputError(str(path), "is a cluster map, which has a layout; a comparison takes a deployment file")
    read = deployments.read(path)
    if not is_layout_name(read.layout):
        raise InputError(str(path), f"its layout is the cluster map {read.layout}, which says all that runs")
    if read.locks and lock is None:
        raise InputError(str(path), "has a lock for each cluster, whose number differs between layouts: --lock names "
                                    "one for all")
    programs = tuple(replace(program, ports=tuple(replace(port, outside=None) for port in program.ports))
                     for program in read.programs)
    redis, metrics = read.redis, read.metrics
    return replace(
        read.with_clusters(None, lock or read.lock), programs=programs, statistics=False,
        redis=redis and replace(redis, host_port=None), metrics=metrics and replace(metrics, host_port=None),
    )


def on_each_core(words: str, on: Deployment) -> Deployment:
    """Returns a deployment with this program, and its arguments, on each core but the sockets' first, where managers
    are; if there is no other, on all. `on`: its machine and its lock."""
    culprit = f"--program {words}"
    try:
        name, *arguments = shlex.split(words) or [""]
    except ValueError as error:
        raise InputError(culprit, str(error).lower()) from None
    if not name:
        raise InputError("--program", "names no program")
    key = "elf" if name.endswith(".elf") or "/" in name else "program"
    text = f"[[program]]\n{key} = {json.dumps(name)}\nargs = {json.dumps(arguments)}\n"
    try:
        program: Program = deployments.parse(text, culprit).programs[0]
    except InputError as error:
        raise replace(error, culprit=culprit, place=None) from None
    cores = emulated(on.shape).cores
    first = {core.socket: place for place, core in reversed(list(enumerate(cores)))}.values()
    places = [place for place in range(len(cores)) if place not in first] or list(range(len(cores)))
    return replace(on, name=Path(name).stem, network=False,
                   programs=tuple(replace(program, cpu=place) for place in places))


def cases(job: Programs) -> list[ProgramCase]:
    """Returns a case for each layout. InputError where one cannot be planned, or would not end by itself."""
    switch = same_for([job.under(layout) for layout in job.layouts], emulated(job.deployment.shape))
    job = replace(job, deployment=replace(job.deployment, switch=job.deployment.switch or switch))
    made = [ProgramCase(job, layout, job.deployment.name, plan(job.under(layout)), again=layout in job.layouts[:place])
            for place, layout in enumerate(job.layouts)]
    for case in made:
        cluster_map = case.plan.cluster_map
        if cluster_map.shutdown != "when-done" or not any(a.ends_the_run for a in cluster_map.applications):
            raise InputError(job.deployment.name, 'would never end: a comparison takes shutdown = "when-done" and a '
                                                  "program that counts (barrier) and ends by itself")
    return made


def measure_once(case: ProgramCase, accel: qemu.Accel, on_event: Callable[[Event], None]) -> Measured:
    """One boot."""
    with _watched(case) as watch, _plugin(case.job, case.plan, watch) as plugin:
        with boot(case.plan, _options(case.job, accel, on_event, plugin)) as machine:
            metrics = _metrics(machine, case.name, case.job.modelled)
        return _measured(case, accel, metrics, plugin, watch)


def measure_copies(case: ProgramCase, copies: Sequence[ProgramCase], accel: qemu.Accel,
                   on_event: Callable[[Event], None]) -> list[Measured | Failure]:
    """Boots a case of a modelled machine up to where pricing begins, from which each of the copies goes on, one after
    the other. They differ from it in salt and prices alone. Returns what each measured, or its failure."""
    with _watched(case) as watch, _plugin(case.job, case.plan, watch, copied=True) as plugin:
        assert plugin
        with snapshot.origin(case.plan, _options(case.job, accel, on_event, plugin), plugin.snapshot) as origin:
            return [_measure_copy(one, origin, accel, plugin, watch) for one in copies]


def _measure_copy(case: ProgramCase, origin: snapshot.Origin, accel: qemu.Accel, plugin: Marks,
                  watch: entries.Watch | None) -> Measured | Failure:
    job = case.job
    prices = job.priced.plugin_text(case.plan.machine.memory, job.line_factor) if job.priced else ""
    try:
        with origin.copy(int(job.plugin.get("salt", 0)), prices) as machine:
            metrics, marks = _metrics(machine, case.name, job.modelled), plugin.of_copy(machine.directory)
            measured = _measured(case, accel, metrics, marks, watch.of_copy(machine.directory) if watch else None)
            marks.check_parking()
            return measured
    except Failure as failure:
        return failure


def _watched(case: ProgramCase) -> AbstractContextManager[entries.Watch | None]:
    return entries.watching(case.lock, case.plan.own) if case.job.modelled else nullcontext()


def _options(job: Programs, accel: qemu.Accel, on_event: Callable[[Event], None], plugin: Marks | None) -> Options:
    medium = "kernel" if accel.icount or job.modelled else job.medium  # how long a disc takes depends on the host
    return Options(accel, job.timeout, medium, on_event=on_event, extra=plugin.arguments if plugin else ())


def _measured(case: ProgramCase, accel: qemu.Accel, metrics: tuple[Combined, ...], plugin: Marks | None,
              watch: entries.Watch | None) -> Measured:
    """Returns what a run that has ended measured."""
    interval = _interval(case.name, plugin.read()) if plugin else None
    result = _result(case, accel, metrics, interval)
    if not (watch and interval):
        return Measured(result, metrics)
    return Measured(replace(result, observed=replace(watch.read(0), cycles=_cycles(interval))), metrics)


def _plugin(job: Programs, what: Plan, watch: entries.Watch | None,
            copied: bool = False) -> AbstractContextManager[Marks | None]:
    if not job.modelled:
        return nullcontext()
    options = {**(watch.options if watch else {}), **OBSERVED, **job.plugin}
    return modelled_run.marks(job.modelled, what, job.line_factor, options=options, priced=str(PREPARE),
                              later=job.priced, copied=copied)


def _metrics(machine: Run, name: str, modelled: ModelledMachine | None) -> tuple[Combined, ...]:
    """Waits for the machine's end. Returns the metrics of its programs, and of a YCSB load; raises Failure if a program
    has not done what it is for."""
    load = finish(machine, name, modelled).metrics if machine.plan.load else {}
    machine.wait_done()
    events, console = machine.events.events, machine.console
    for event in standing(events):
        dead = death(event, machine.plan, console)
        if dead and (dead.counts or event.kind == BAD_LINE):
            raise Failure(str(dead))
    metrics = program_output.combined(program_output.collect(machine.plan.cluster_map.applications, console))
    metrics += [Combined(name, unit, better, (load[name],)) for name, unit, better in OF_LOAD if name in load]
    if not metrics:
        raise Failure(f"no program printed a metric: a line '{FORM}' of its output")
    return tuple(metrics)


def _interval(name: str, marks: Sequence[Mark]) -> tuple[Mark, Mark]:
    """Returns begin and end of what is measured: between the programs' barriers 1 and 2, or from start to end."""
    numbers = [mark.number for mark in marks]
    if numbers not in ([PREPARE, BEGIN, END], [PREPARE, OVER]):
        raise Failure(f"{name}: the emulator saw the marks {', '.join(map(str, numbers))}: programs mark by "
                      "manager_barrier(1) and then manager_barrier(2), both or neither")
    return marks[-2], marks[-1]


def _cycles(interval: tuple[Mark, Mark]) -> int:
    begin, end = interval
    return end.clock - begin.clock


def _result(case: ProgramCase, accel: qemu.Accel, metrics: Sequence[Combined],
            interval: tuple[Mark, Mark] | None) -> Result:
    """Returns the metrics, and on a modelled machine how long each core was busy."""
    cluster_map, modelled = case.plan.cluster_map, case.job.priced or case.job.modelled
    cores = [{"cluster": cluster.number, "core": cpu} for cluster in cluster_map.clusters for cpu in cluster.cpus]
    if interval:
        begin, end = interval
        for core in cores:
            busy = end.executed[core["core"]] - begin.executed[core["core"]]
            core["cpu_utilisation"] = min(1.0, busy / max(1, _cycles(interval)))  # type: ignore[assignment]
            core["instructions"] = end.instructions[core["core"]] - begin.instructions[core["core"]]
    return Result(
        layout=case.layout, lock=case.plan.lock, workload=case.workload, clusters=len(cluster_map.clusters),
        cores=len(cluster_map.cpus), emulated=accel.emulated, metrics={one.name: one.value for one in metrics},
        per_core=sorted(cores, key=lambda core: core["core"]), round_robin=accel.round_robin and not modelled,
        modelled=modelled.to_json() if modelled else None,
    )
