# SPDX-License-Identifier: BSD-2-Clause
"""`skerry kill`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from deploy.base.choices import option
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import RunName, takes
from deploy.domains.options import RunsUnder
from deploy.live.kill import DESTROY, DONE, How, check, order
from deploy.live.target import Target, local_machine, of_libvirt
from deploy.machine.events import Event, losses
from topology.errors import InputError

PATIENCE = 20.0  # seconds of given time for the others to notice: several times the longest silence that they wait for


@dataclass(frozen=True, kw_only=True)
class KillOptions:
    what: RunName = None
    connect: RunsUnder = None
    cluster: Annotated[int, option("--cluster N", "Cluster to end.", 0)]
    how: Annotated[How, option("--how", "How the cluster ends.")] = How("panic")
    core: Annotated[int | None, option("--core N", "Core to crash with --how panic or hang-core (default: the "
                                       "cluster's first).", 0)] = None
    quiet: Quiet = False
    json: Json = None


@takes(KillOptions)
def kill(args: KillOptions) -> None:
    """End one cluster of a running deployment, to see what the others do.

    panic: its kernel panics. hang: all its cores loop with interrupts off. hang-core: one of them does. init: its cores
    are reset, the boot processor halts. manager: its manager stops by a fault, its programs run on. garbage: its
    manager overwrites all that it shares with other clusters. destroy: libvirt destroys the cluster's own domain. The
    command waits until the others have detected the loss, and prints their report. QEMU's debugger stops the machine
    for some milliseconds. A lost cluster stays lost, unless the deployment has it start again.
    """
    output = Output(args.quiet, args.json)
    with of_libvirt(args.connect, args.what) if args.connect else local_machine(args.what, "kill") as target:
        boot = check(target.events(), args.cluster, args.how.value, args.core)
        _end(target, args.cluster, boot, args.how.value, args.core)
        ordered = time.monotonic()
        output.line(f"Cluster {args.cluster}: {DONE[args.how.value]}.")
        first = _reports(target.events(), args.cluster)
        lost = None if first else target.wait(lambda: losses(target.events()).get(args.cluster), PATIENCE)
        seconds = time.monotonic() - ordered
        if lost:
            output.line(f"Cluster {args.cluster} is lost, the others say after {seconds:.2f} s: {lost.get('why')}.")
        elif first:
            output.line(f"Cluster {args.cluster} reports for all: what the others say is on the console.")
        output.results({
            "skerry": version(), "command": "kill", "cluster": args.cluster, "how": args.how.value, "core": args.core,
            "lost": lost.data if lost else None, "seconds": round(seconds, 3) if lost else None,
        })
        if not lost and not first:
            raise Failure(f"cluster {args.cluster}: no cluster has noticed within {PATIENCE:g} s")


def _end(target: Target, cluster: int, boot: Event, how: str, core: int | None) -> None:
    if how != DESTROY:
        order(target.write(cluster), boot, how, core)
    elif target.destroy is None:
        raise InputError(f"--how {DESTROY}",
                         "is for a deployment of libvirt with a domain for each cluster: --connect URI")
    else:
        target.destroy(cluster)


def _reports(events: list[Event], cluster: int) -> bool:
    """The first cluster that reports is the one through which all do."""
    return next((int(event["cluster"]) for event in events if event.kind == "boot"), None) == cluster
