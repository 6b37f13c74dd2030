# SPDX-License-Identifier: BSD-2-Clause
"""Boots the cases of a comparison and measures them; the same on Linux beside them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from statistics import median
from typing import Any

from deploy.base.errors import Failure
from deploy.base.readiness import PATIENCE as PONG_PATIENCE, first_pong
from deploy.deployment import Load
from deploy.deployment.planner import Plan, plan
from deploy.emulator import entries, run as modelled_run
from deploy.emulator.lockstep import Marks
from deploy.emulator.machine_file import ModelledMachine
from deploy.load.case import RedisCase
from deploy.load.comparison import Comparison
from deploy.load.linux_guest.guest import build_guest
from deploy.load.linux_guest.machine import Options as LinuxOptions
from deploy.load.linux_guest.result import measure as measure_linux
from deploy.machine import kvm, qemu, snapshot
from deploy.machine.events import Event
from deploy.machine.run import Options, Run, boot
from deploy.results.counting import with_counts
from deploy.results.result import Clock, Result, evaluate, with_work

PONG_BOOTS = 3
LINUX_PATIENCE = 3  # it takes longer to boot and for each operation


def measure(case: RedisCase, accel: qemu.Accel, on_event: Callable[[Event], None]) -> Result:
    """Two boots, one result: times of plain kernels, counts of counting ones. A result that cannot be trusted is a
    failure."""
    return with_counts(measure_once(case, accel, on_event), measure_once(case.counted(), accel, on_event))


def measure_once(case: RedisCase, accel: qemu.Accel, on_event: Callable[[Event], None]) -> Result:
    """One boot."""
    with _watched(case) as watch, _plugin(case.job, case.plan, watch) as plugin:
        with boot(case.plan, _options(case.job, accel, on_event, plugin)) as machine:
            return _result(case, machine, plugin, watch)


def measure_copies(case: RedisCase, copies: Sequence[RedisCase], accel: qemu.Accel,
                   on_event: Callable[[Event], None]) -> list[Result | Failure]:
    """Boots a case of a modelled machine up to the load's begin, from which each of the copies goes on, one after the
    other. They differ from it in salt and prices alone. Returns the result or the failure of each."""
    with _watched(case) as watch, _plugin(case.job, case.plan, watch, copied=True) as plugin:
        assert plugin
        with snapshot.origin(case.plan, _options(case.job, accel, on_event, plugin), plugin.snapshot) as origin:
            return [_measure_copy(one, origin, plugin, watch) for one in copies]


def _measure_copy(case: RedisCase, origin: snapshot.Origin, plugin: Marks,
                  watch: entries.Watch | None) -> Result | Failure:
    job = case.job
    prices = job.priced.plugin_text(case.plan.machine.memory, job.line_factor) if job.priced else ""
    try:
        with origin.copy(job.salt, prices) as machine:
            marks = plugin.of_copy(machine.directory)
            result = _result(case, machine, marks, watch.of_copy(machine.directory) if watch else None)
            marks.check_parking()
            return result
    except Failure as failure:
        return failure


def _watched(case: RedisCase) -> AbstractContextManager[entries.Watch | None]:
    return entries.watching(case.lock, case.plan.own) if case.job.modelled and not case.counting else nullcontext()


def _options(job: Comparison, accel: qemu.Accel, on_event: Callable[[Event], None], plugin: Marks | None) -> Options:
    medium = "kernel" if accel.icount or job.modelled else job.medium  # how long a disc takes depends on the host
    return Options(accel, job.timeout, medium, binary=job.binary, on_event=on_event,
                   extra=plugin.arguments if plugin else ())


def _result(case: RedisCase, machine: Run, plugin: Marks | None, watch: entries.Watch | None) -> Result:
    """Waits for the machine's end."""
    what = case.plan
    name = f"{case.key[0]}, workload {case.workload}{', counting' if case.counting else ''}"
    result = finish(machine, name, case.job.priced or case.job.modelled)
    marks = plugin.read() if plugin else []
    if plugin and [mark.number for mark in marks] != [1, 2]:
        raise Failure(f"{name}: the emulator did not see the load's begin and end")
    if plugin:
        result = with_work(result, marks[0].instructions, marks[1].instructions, _whole(what))
    result = replace(result, layout=case.key[0]) if case.again else result
    operations = round(result.metrics["operations"] * _whole(what))
    return replace(result, observed=watch.read(operations)) if watch else result


def _whole(what: Plan) -> float:
    """Returns how many operations come to one that is measured: between the marks are those that warm up, too."""
    return what.load.whole / what.load.operations if what.load else 1.0


def _plugin(job: Comparison, what: Plan, watch: entries.Watch | None,
            copied: bool = False) -> AbstractContextManager[Marks | None]:
    if not job.modelled:
        return nullcontext()
    options = {**(watch.options if watch else {}), **({"salt": str(job.salt)} if job.salt else {}), **job.plugin}
    return modelled_run.marks(job.modelled, what, job.line_factor, options=options, priced=modelled_run.LOAD,
                              later=job.priced, copied=copied)


def finish(machine: Run, what: str, modelled: ModelledMachine | None = None) -> Result:
    """Returns the result of a machine that is to end by itself; `what` was measured, for a message."""
    machine.wait_done()
    result = evaluate(machine.plan, machine.events, Clock.of(machine.options.accel, modelled))
    if result.problems:
        more = f" (and {len(result.problems) - 1} more)" if len(result.problems) > 1 else ""
        raise Failure(f"{what}: {result.problems[0]}{more}")
    return result


def boot_to_pong(job: Comparison, layout: str, accel: qemu.Accel, boots: int = PONG_BOOTS) -> float:
    """Seconds from power-on until the host hears the first +PONG: the median of some boots.

    Not for a clock that counts instructions; the host measures.
    """
    deployment = replace(job.deployment(layout, "c"), load=Load(), shutdown="never")
    return median(_pong(plan(deployment), job, accel) for _ in range(boots))


def _pong(what: Plan, job: Comparison, accel: qemu.Accel) -> float:
    with boot(what, Options(accel, job.timeout, job.medium, binary=job.binary)) as machine:
        first = what.forwards[0][0]
        machine.wait_event("serving", app=first)
        return first_pong(machine.address(first), machine.pid,
                          max(PONG_PATIENCE, job.timeout.silence)) - machine.started


def linux(job: Comparison, workload: str, accel: qemu.Accel, outside: qemu.Accel) -> dict[str, Any]:
    """Measures the same instances and clients on Linux, on the same machine; returns one entry of "results"."""
    guest = build_guest(server=job.server)
    deployment = job.deployment("spanning", workload)
    result = measure_linux(deployment, LinuxOptions(accel, job.timeout.times(LINUX_PATIENCE), binary=job.binary), guest)
    idle = replace(deployment, load=Load(), shutdown="never")
    options = LinuxOptions(outside, job.timeout, binary=job.binary)
    boots = [measure_linux(idle, options, guest, time_ready=True)["metrics"] for _ in range(PONG_BOOTS)]
    result["metrics"]["boot_to_pong_s"] = median(one["boot_to_pong_s"] for one in boots)
    return result


def accelerators(job: Comparison, accel: str, icount: bool) -> tuple[qemu.Accel, qemu.Accel]:
    """Returns the accelerator of the load, and that for timings from outside."""
    cores = job.shape.cpus
    if job.modelled:
        mode = modelled_run.mode(job.modelled)
        return mode, mode
    load = kvm.choose(accel, cores, repeatable=True, icount=icount)
    return load, qemu.tcg_for(cores) if load.icount else load
