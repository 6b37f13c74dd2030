# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench failure`."""

import random
from dataclasses import dataclass
from typing import Annotated

from deploy.base import process
from deploy.base.choices import option, words
from deploy.base.terminal import Json, Output, Quiet
from deploy.base.timeouts import Patience
from deploy.bench.destination import Destination
from deploy.bench.failure import cost as failure_cost, measure as kills, scene
from deploy.bench.failure.cost import Cost
from deploy.bench.failure.measure import QUICK_REPEATS, REPEATS, USUAL, Job
from deploy.bench.failure.table import failure_table
from deploy.cli import options
from deploy.cli.failure_options import Lock, Seed, check_lock, check_machine, check_survivors
from deploy.cli.options import takes
from deploy.deployment.planner import plan
from deploy.load import comparison
from deploy.load.case import cases, needed
from deploy.load.comparison import Comparison
from deploy.load.request import prepared, split
from deploy.machine import kvm, qemu
from deploy.machine.events import Event
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError
from topology.limits import MAX_PATIENCE, MIN_PATIENCE
from topology.machines.machine import Shape

COST_SILENCE = 300.0  # seconds: the plugin makes the emulator slower


@dataclass(frozen=True)
class FailureOptions:
    how: Annotated[str, option("--how LIST", f"Ways of failing, of {', '.join(scene.WAYS)}.",
                               autocompletion=words(*scene.WAYS))] = ",".join(USUAL)
    repeats: Annotated[int, option("--repeats N", "Kills in each way; medians and worst are shown.", 1, 1000)] = REPEATS
    first: Annotated[bool, option("--first", "End the first cluster, which has the network card and the switch, not "
                                  "another.")] = False
    seed: Seed = None
    quiet_minutes: Annotated[float, option("--calm MIN", "Minutes under load without a kill, and as many idle: for "
                                           "false alarms.", 0.0, 1440.0)] = 0.0
    sockets: options.Sockets = 2
    cores: options.Cores = 2
    lock: Lock = "clh"
    silence: Annotated[int | None, option("--patience MS", "Milliseconds of silence after which a cluster counts as "
                                          "lost. Default: as the machine has it.", MIN_PATIENCE, MAX_PATIENCE)] = None
    machine: options.ModelledMachine = None
    quick: Annotated[bool, option("--quick", f"{QUICK_REPEATS} kills in each way, and no count of what "
                                  "readiness costs.")] = False
    accel: options.Accel = "auto"
    timeout: options.Timeout = None
    quiet: Quiet = False
    json: Json = None


@takes(FailureOptions)
def failure(args: FailureOptions) -> None:
    """Measure how soon the end of a cluster is noticed and mended, and what the others feel of it.

    A machine serves Redis to clients on this host. One of its clusters, but not the first without --first, is ended in
    each way again and again, and starts again. Detection, fence, reload, the next PONG, and the survivors' errors,
    lost connections and longest stall stand beside the goals, median and worst; then, counted, what readiness costs an
    operation where nothing fails. The exit status is 1 if a value that was acknowledged is lost, or a cluster does not
    come back; a goal that is missed is shown.
    """
    seed = args.seed
    process.heed_signals()
    check_machine(args.machine)
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    job = Job(split("--how", args.how, scene.WAYS), args.repeats, seed, qemu.TCG_TURNS, Patience(limit=args.timeout),
              args.sockets or 2, args.cores or 2, check_lock(args.lock), quiet=60 * args.quiet_minutes,
              first=args.first, silence=args.silence)
    job = kills.quick(job) if args.quick else job
    what = plan(job.deployment)
    if not scene.mortal(what):
        raise InputError(f"--sockets {job.sockets}",
                         "one cluster: no other is there to notice its end, or to start it again")
    check_survivors(what, [number for number, _ in scene.mortal(what, args.first)], job.cores)
    to = Destination.of("failure", args.json, None, args.quiet)
    output = to.output
    kvm.check_choice(args.accel, False)
    counts = None if args.quick else _counted(job)
    images = needs.of_map(what.cluster_map) | (needed(cases(counts)) if counts else needs.NOTHING)
    ensure_built(output, images | (needs.plugin("profile") if counts else needs.NOTHING))
    job.accel = kvm.choose(args.accel, len(what.machine.cores))
    output.line(f"Mode: {job.accel.description}. Seed: {seed}.")
    with output.progress("Booting", total=job.repeats * len(job.ways)) as update:
        measured = kills.measure(job, update, output.step)
    cost = _cost(counts, output) if counts else None
    output.table(failure_table(measured, cost))
    entries = measured.to_json() + ([cost.to_json()] if cost else [])
    to.write("bench failure", job.accel, entries, seed=seed)
    to.end(drawn=False)


def _counted(job: Job) -> Comparison:
    """The load of `compare` on the same machine, as far as its memory goes."""
    made = prepared(
        Shape(job.sockets, job.cores), failure_cost.LAYOUT, failure_cost.WORKLOAD, records=comparison.PROFILED_RECORDS,
        lock=job.lock, timeout=Patience(COST_SILENCE, job.timeout.limit),
    )
    return failure_cost.job_of(made[0].job)


def _cost(job: Comparison, output: Output) -> Cost:
    steps = 2 * (2 + comparison.servers(job) * (2 + 2 * job.clients))
    with output.progress("Counting instructions without a failure", total=steps) as update:
        seen = 0

        def follow(event: Event) -> None:
            nonlocal seen
            seen += event.kind in ("started", "serving", "result")
            update(completed=seen)

        return failure_cost.measure(job, follow)
