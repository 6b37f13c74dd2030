# SPDX-License-Identifier: BSD-2-Clause
"""`skerry run`."""

import socket
import time
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from deploy import kvm, options, process, qemu
from deploy.addresses import shown
from deploy.boot import Options, Run, boot
from deploy.events import Event
from deploy.expand import Plan
from deploy.modules import module_path
from deploy.output import Json, Output, Quiet, version
from deploy.results import host_description
from deploy.setup.build import ensure_built


@options.of_plan
def run(
    *,
    keep: Annotated[bool, typer.Option("--keep", help="Stay until Ctrl-C.")] = False,
    gdb: Annotated[bool, typer.Option("--gdb", help="Stop before the first instruction and wait for gdb.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the machine's console.")] = False,
    accel: options.Accel = "auto",
    what: Plan,
    icount: options.Icount = False,
    medium: options.Boot = "iso",
    uefi: options.Uefi = False,
    timeout: options.Timeout = 120.0,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Boot a deployment and say where the host reaches each instance.

    Without --keep: until every program that the deployment counts has ended, or all serve. --json FILE has what the
    machine's managers reported, every event, and where instances are reached.
    """
    process.heed_signals()
    output = Output(quiet, json)
    options.check_boot(medium)
    kvm.check_choice(accel, icount)
    ensure_built(output)
    mode = kvm.choose(accel, len(what.machine.cores), icount=icount)
    output.line(f"Emulator: {mode.description}" if mode.emulated else "Runs under KVM.")
    port = _free_port() if gdb else None
    narrate = _Narrator(output, what)
    how = Options(
        accel=mode,
        timeout=timeout,
        medium=medium,
        uefi=uefi,
        gdb_port=port,
        keep_time=not (mode.icount or gdb),
        on_event=narrate.event,
        on_console=(lambda text: output.out.print(text, end="", markup=False)) if verbose or keep else None,
    )
    with boot(what, how) as machine:
        if port:
            output.line(f"Stopped. {gdb_command(what, port)}")
        try:
            _follow(machine, keep, waits=port is None, output=output, bar=not (verbose or keep or gdb))
        finally:
            for line in machine.panics():
                output.line(line)
        output.results({
            "skerry": version(),
            "command": "run",
            "host": host_description(mode, how.binary),
            "instances": [{"app": f.application, "address": f.address} for f in machine.forwards],
            "events": [event.data for event in machine.events.events],
        })


def gdb_command(what: Plan, port: int) -> str:
    kernel = module_path(f"kernel-{what.cluster_map.clusters[0].kernel}")
    return f"In another terminal: gdb {kernel} -ex 'target remote 127.0.0.1:{port}'"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Narrator:
    """Says what happens, as it happens."""

    def __init__(self, output: Output, what: Plan) -> None:
        self.output = output
        self.plan = what
        self.machine: Run | None = None

    def event(self, event: Event) -> None:
        if event.kind == "boot":
            cores, kernel = event.get("cores"), event.get("kernel")
            self.output.step(f"cluster {event.get('cluster')} runs: kernel {kernel} on {cores} cores")
        elif event.kind in ("fault", "failed", "cluster-lost"):
            self.output.line(str(event))
        elif event.kind == "exit":
            self.output.step(f"{event.get('app')} ended with status {event.get('status')}")


def _nothing(**what: Any) -> None:
    """Where there is no bar."""


def _follow(machine: Run, keep: bool, waits: bool, output: Output, bar: bool) -> None:
    """With a bar until all serve or all is done, unless the console goes to the same terminal."""
    forever = float("inf")
    limit = None if waits else forever  # somebody at a debugger takes time
    announced: set[str] = set()

    def announce() -> None:
        serving = {event.get("app") for event in machine.events.of("serving")}
        for forward in machine.forwards:
            if forward.application in serving - announced:
                where = shown(forward.application, forward.address) + ("" if forward.is_open else ", in the machine only")
                output.line(f"{forward.application} serves at {where}")
                announced.add(forward.application)

    def all_serve() -> bool:
        announce()
        return {f.application for f in machine.forwards} <= announced

    cluster_map = machine.plan.cluster_map
    ends = cluster_map.shutdown == "when-done" and any(a.barrier for a in cluster_map.applications)
    with output.progress("Booting", total=len(machine.forwards) or None) if bar else nullcontext(_nothing) as update:

        def served() -> bool:
            done = all_serve()
            update(completed=len(announced), description="Running" if done else "Booting")
            return done

        if not keep and ends:
            machine.wait_for(lambda: served() or machine.status is not None, "serving", limit)
            machine.wait_done(limit)
            return
        machine.wait_for(served, "serving", limit)
    if not keep:
        return
    output.line("Ctrl-C ends it.")
    try:
        while machine.status is None:
            machine.poll()
            time.sleep(0.05)
    except KeyboardInterrupt:
        output.line("Ended.")
        return
    if machine.status != qemu.EXIT_SUCCESS:
        machine.wait_done(0)
