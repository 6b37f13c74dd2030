# SPDX-License-Identifier: BSD-2-Clause
"""`skerry run`."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from deploy.base import process
from deploy.base.choices import option
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet, check_plot, version
from deploy.base.timeouts import FOREVER, Patience
from deploy.cli import options
from deploy.cli.experiments import check_emulator
from deploy.cli.options import takes
from deploy.compare.tables import layout_table
from deploy.deployment.addresses import shown
from deploy.deployment.modules import module_path
from deploy.deployment.planner import Plan
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import ModelledMachine, chosen
from deploy.live.replicas.keeper import Keeper
from deploy.machine import kvm, program_output, qemu, redis_cluster
from deploy.machine.console import ConsoleText, ProgramOutput
from deploy.machine.crashes import UNSERVED, Death, death, is_started_again, status_text, unserved
from deploy.machine.events import BAD_LINE, Event
from deploy.machine.listeners import ELSEWHERE, Announcer
from deploy.machine.qemu import Forward
from deploy.machine.run import Options, Run, boot
from deploy.results import fingerprint, survival
from deploy.results.counting import without_counts
from deploy.results.result import Clock, Result, evaluate, host_description
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError

MODELLED_SILENCE = 1200.0  # seconds in which something must happen on a modelled machine


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    keep: Annotated[bool, option("--keep", "Stay until Ctrl-C, and show the machine's console.")] = False
    gdb: Annotated[bool, option("--gdb", "Stop before the first instruction and wait for gdb.")] = False
    verbose: Annotated[bool, option("--verbose -v", "Show the machine's console.")] = False
    accel: options.Accel = "auto"
    what: options.PlanOptions
    machine: options.ModelledMachine = None
    icount: options.Icount = False
    medium: options.Boot = "iso"
    uefi: options.Uefi = False
    timeout: options.Timeout = None
    plot: Annotated[Path | None, option("--plot FILE", "Plot answers over time, with [ycsb] survive: .png, .svg or "
                                        ".pdf.")] = None
    quiet: Quiet = False
    json: Json = None


@takes(RunOptions)
def run(args: RunOptions) -> None:
    """Boot a deployment and print the host address of each instance.

    Without --keep it ends when every counted program has ended, or all serve, and shows what a YCSB load did and what
    programs of your own ([[program]] elf) have written.
    --json FILE has what the machine's managers reported, every event, and where instances are reached. The exit status
    is 1 if an instance, or another program that the deployment counts, has died, however the run ended. With --machine
    it runs on all of that modelled machine; a client on the host goes by another clock.
    """
    what = options.load_plan(args.what, machine=args.machine, forms=True)
    process.heed_signals()
    modelled = chosen(args.machine, False, {
        "--accel": args.accel != "auto", "--icount": args.icount, "--boot": args.medium != "iso", "--uefi": args.uefi,
        "--gdb": args.gdb,
    })
    output = Output(args.quiet, args.json)
    options.check_boot(args.medium)
    _check_plot(args.plot, what)
    check_emulator(modelled, args.accel, args.icount)
    ensure_built(output, needs.of_map(what.cluster_map, what.own) | (needs.MODELLED if modelled else needs.NOTHING))
    how = _how(args, what, modelled)
    _say_mode(output, how.accel, modelled)
    console = args.verbose or args.keep
    own = ProgramOutput(what, output.line)
    spoken = ConsoleText(lambda text: output.out.print(text, end="", markup=False)) if console else own
    narrate = _Narrator(output, what, set() if console else own.names)
    how = replace(how, on_event=narrate.event, on_console=spoken.feed)
    with _booted(what, how, modelled) as running, _kept(running, narrate):
        narrate.machine = running
        if how.gdb_port:
            output.line(f"Stopped. {gdb_command(what, how.gdb_port)}")
        try:
            ended = _follow(running, narrate, args.keep, waits=not args.gdb, bar=not (console or args.gdb))
        finally:
            spoken.end()
            for line in running.panics():
                output.line(line)
        _report(running, narrate, modelled, args.plot)
    if ended:
        output.line("Ended.")


def _how(args: RunOptions, what: Plan, modelled: ModelledMachine | None) -> Options:
    cores = len(what.machine.cores)
    mode = modelled_run.mode(modelled) if modelled else kvm.choose(args.accel, cores, icount=args.icount)
    return Options(
        accel=mode,
        patience=Patience(MODELLED_SILENCE, args.timeout) if modelled else Patience(limit=args.timeout),
        medium="kernel" if modelled else args.medium,  # how long a disc takes depends on the host
        uefi=args.uefi,
        gdb_port=_free_port() if args.gdb else None,
        keep_time=not (mode.icount or args.gdb or modelled),
    )


def _report(running: Run, narrate: _Narrator, modelled: ModelledMachine | None, plot: Path | None) -> None:
    """Shows and writes the results of a run that has ended; raises Failure if a program that counts has died."""
    output = narrate.output
    failures = [str(death) for death in narrate.deaths if death.counts]
    measured = None if failures else _measured(running, modelled)
    if measured:
        output.table(layout_table(measured))
        failures += measured.problems
    survivors = _survivors(running, output, plot)
    output.results(_document(running, modelled, measured, survivors) | {"failures": failures})
    if failures:
        raise Failure("; ".join(failures))


def _document(machine: Run, modelled: ModelledMachine | None, measured: Result | None,
              survivors: list[survival.Survivor]) -> dict[str, Any]:
    """Returns the document for --json."""
    return {
        "skerry": version(),
        "command": "run",
        "host": host_description(machine.options.accel, machine.options.binary),
        **fingerprint.used(),
        **({"modelled": modelled.to_json()} if modelled else {}),
        "instances": [{"app": f.application, "address": f.address} for f in machine.forwards],
        "events": [event.data for event in machine.events.events],
        "output": program_output.to_json(program_output.collect(machine.plan.cluster_map.applications,
                                                                machine.console)),
        **({"results": [measured.to_json()]} if measured else {}),
        **({"survival": [one.to_json() for one in survivors]} if survivors else {}),
    }


@contextmanager
def _booted(what: Plan, how: Options, modelled: ModelledMachine | None) -> Iterator[Run]:
    with modelled_run.clocks(modelled, False, what) as marks:
        with boot(what, replace(how, extra=marks.arguments if marks else ())) as running:
            yield running


@contextmanager
def _kept(running: Run, narrate: _Narrator) -> Iterator[None]:
    """Keeps the deployment's Redis Cluster whole meanwhile, if it has one with `masters`."""
    if not running.plan.shards:
        yield
        return
    with Keeper(running, narrate.output.line) as keeper:
        narrate.keeper = keeper
        yield
    if keeper.failure:
        raise keeper.failure


def _say_mode(output: Output, mode: qemu.Accel, modelled: ModelledMachine | None) -> None:
    output.line(f"Emulator: {mode.description}" if mode.emulated else "Runs under KVM.")
    if modelled:
        output.line("What comes from outside is not modelled: a client on the host meets a machine with a clock of "
                    "its own.")


def _check_plot(plot: Path | None, what: Plan) -> None:
    check_plot(plot)
    if plot and not (what.load and what.load.survive):
        raise InputError(f"--plot {plot}",
                         "shows how clients survive the loss of their server; the deployment has no [ycsb] survive")


def _survivors(machine: Run, output: Output, plot: Path | None) -> list[survival.Survivor]:
    """Clients that were to survive the loss of their server: what they tell, shown."""
    survivors = survival.collect(machine.events)
    for text in survival.lines(survivors):
        output.line(text)
    if plot and survivors:
        survival.plot(survivors, plot)
        output.step(f"Plot: {plot}")
    return survivors


def _measured(machine: Run, modelled: ModelledMachine | None) -> Result | None:
    """Returns the result of the load, if there is one and it has ended."""
    if machine.plan.load is None or machine.status is None:
        return None
    clock = replace(Clock.of(machine.options.accel, modelled), counts=False)
    result = evaluate(machine.plan, machine.events, clock)
    counts = all(cluster.kernel.endswith("+stat") for cluster in machine.plan.cluster_map.clusters)
    return result if counts else without_counts(result)


def gdb_command(what: Plan, port: int) -> str:
    kernel = module_path(f"kernel-{what.cluster_map.clusters[0].kernel}")
    return f"In another terminal: gdb {kernel} -ex 'target remote 127.0.0.1:{port}'"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Narrator:
    """Says what happens, as it happens."""

    def __init__(self, output: Output, what: Plan, shown: set[str]) -> None:
        """`shown`: programs that have been heard already when they die."""
        self.output = output
        self.shown = shown
        self.plan = what
        self.machine: Run | None = None
        self.deaths: list[Death] = []
        self.keeper: Keeper | None = None

    def event(self, event: Event) -> None:
        if self.keeper is not None:
            self.keeper.event(event)
        if event.kind == "boot":
            cores, kernel = event.get("cores"), event.get("kernel")
            self.output.step(f"cluster {event.get('cluster')} runs: kernel {kernel} on {cores} cores")
        elif event.kind == BAD_LINE:
            self.output.line(str(event))
        elif is_started_again(event, self.plan):
            dead = death(event, self.plan, "")
            self.output.step(str(dead or f"{event.get('app')} {status_text(event.get('status'))}"))
        elif event.kind == "restart":
            self.output.step(f"{event.get('app')} is started again in {event.get('after_ms')} ms (restart "
                             f"{event.get('restarts')})")
        elif event.kind == "cluster-restarted":
            took = f"{event.get('after_ms')} ms after its loss was known (restart {event.get('restarts')})"
            self.output.step(f"cluster {event.get('cluster')} has started again {took}")
        elif dead := death(event, self.plan, self.machine.console if self.machine else ""):
            self.dead(dead)
        elif event.kind == "exit":
            self.output.step(f"{event.get('app')} {status_text(event.get('status'))}")

    def dead(self, dead: Death) -> None:
        self.deaths.append(dead)
        lines = [] if dead.application in self.shown else dead.lines
        self.output.line(f"{dead}; its last lines:" if lines else str(dead))
        for line in lines:
            self.output.line(f"    {line}")


def _nothing(**what: Any) -> None:
    """Stands in for a bar."""


def _give_up(machine: Run, announcer: Announcer, narrate: _Narrator, keep: bool) -> None:
    """Gives up the programs that ended for good before they served: a failure, also of one that ended with status 0."""
    ended = {str(event.get("app")): event for event in machine.events.of("exit")
             if not is_started_again(event, machine.plan)}
    dead = {death.application: death for death in narrate.deaths if death.application}
    gone = sorted(announcer.waiting() & (ended.keys() | dead.keys()))
    for name in gone:
        announcer.give_up(name)
        if name not in dead:
            narrate.dead(unserved(ended[name], machine.console))
    why = [death for death in narrate.deaths if death.application in gone]
    if why and not (keep and announcer.left):
        raise Failure("; ".join(str(one) if UNSERVED in str(one) else f"{one}{UNSERVED}" for one in why))
    for name in gone:
        narrate.output.line(f"{name} has ended before it served; the others go on")


def _follow(machine: Run, narrate: _Narrator, keep: bool, waits: bool, bar: bool) -> bool:
    """Returns whether Ctrl-C ended it. With a bar until all serve or all is done, unless the console goes to the same
    terminal."""
    timeout, output = None if waits else FOREVER, narrate.output  # somebody at a debugger takes time
    announcer = Announcer(machine.forwards, output.line)
    cluster_map = machine.plan.cluster_map
    ends = cluster_map.shutdown == "when-done" and any(a.ends_the_run for a in cluster_map.applications)
    with output.progress("Booting", total=len(machine.forwards) or None) if bar else nullcontext(_nothing) as update:

        def served() -> bool:
            announcer.look(machine.events.events)
            if bar:  # among the console's lines what is said would be lost: it follows when all serve
                announcer.say()
            _give_up(machine, announcer, narrate, keep)
            update(completed=announcer.done, description="Running" if announcer.complete else "Booting")
            return announcer.complete

        if not keep and ends:
            with _told_where(announcer):
                machine.wait_for(lambda: served() or machine.status is not None, "serving", timeout)
            announcer.say(at_last=machine.status is not None)
            machine.wait_done(timeout)
            return False
        most = (timeout or machine.patience).silence * ELSEWHERE
        with _told_where(announcer):
            machine.wait_for(lambda: served() or _is_settled(announcer, keep, machine.quiet > most), "serving", timeout)
    announcer.say()
    if narrate.keeper is not None:
        machine.wait_for(narrate.keeper.is_settled, "whole Redis Cluster", timeout)
    elif keep:
        _show_cluster(machine, output)
    return keep and _stay(machine, announcer, output)


def _show_cluster(machine: Run, output: Output) -> None:
    if instances := redis_cluster.instances(machine.plan, machine.forwards):
        output.line("These commands make a Redis Cluster of the instances, for clients on this host:")
        for line in redis_cluster.commands(instances):
            output.out.print(line, markup=False, soft_wrap=True)  # to be copied


@contextmanager
def _told_where(announcer: Announcer) -> Iterator[None]:
    """Adds to a failure where programs listen that the deployment's ports do not lead to."""
    try:
        yield
    except Failure as error:
        raise Failure("; ".join([*announcer.wrong(), str(error)])) from None


def _is_settled(announcer: Announcer, keep: bool, long: bool) -> bool:
    """Whether ports at which nothing listens are not waited for any more: a failure where nobody stays. `long`: nothing
    has moved."""
    if not keep and long and announcer.is_settled():
        raise Failure("nothing else comes")
    return keep and announcer.is_settled()


def addresses(forwards: Sequence[Forward], waiting: set[str]) -> list[str]:
    """Returns the host's address of each program that serves, a line each, in the order of their numbers."""
    there = [forward for forward in forwards if forward.is_open and forward.application not in waiting]
    parts = [(re.split(r"(\d+)", forward.application), forward) for forward in there]
    ordered = sorted(parts, key=lambda part: [int(word) if word.isdigit() else word for word in part[0]])
    return [f"  {forward.application}: {shown(forward.application, forward.address)}" for _, forward in ordered]


def _stay(machine: Run, announcer: Announcer, output: Output) -> bool:
    """Until the machine's end, or Ctrl-C: true then. The addresses once more, which the programs' own lines have moved
    away."""
    try:
        if len(there := addresses(machine.forwards, announcer.waiting())) > 1:
            output.line("\n".join([f"{len(there)} ports serve:", *there]))
        output.line("Ctrl-C ends it.")
        while machine.status is None:
            machine.poll()
            announcer.look(machine.events.events)
            announcer.say()
            time.sleep(0.05)
    except KeyboardInterrupt:
        return True
    if machine.status != qemu.EXIT_SUCCESS:
        machine.wait_done()
    return False
