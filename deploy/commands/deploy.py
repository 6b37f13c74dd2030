# SPDX-License-Identifier: BSD-2-Clause
"""`skerry deploy`."""

from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from deploy import kvm, options, process
from deploy.domains import accel as accelerators
from deploy.domains.connection import Connection
from deploy.domains.deploy import Deployment, Done, Wanted, wait_ready
from deploy.domains.options import URI, Connect
from deploy.errors import Failure
from deploy.expand import Plan
from deploy.output import Json, Output, Quiet, version
from deploy.setup.build import ensure_built
from topology.errors import InputError

Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Another name than the deployment's own.")]
Bridge = Annotated[
    str | None,
    typer.Option("--bridge", metavar="NAME", help="A bridge of the host, in place of ports forwarded to its loopback."),
]
Replace = Annotated[bool, typer.Option("--replace", help="Restart a machine that runs, where it has changed.")]
Storage = Annotated[
    str | None, typer.Option("--storage", metavar="FOLDER", help="The host's folder for image and logs.")
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Until all of it serves, or only until it is started.")]


def deploy(
    deployment: Annotated[Path, typer.Argument(metavar="DEPLOYMENT", help="A deployment file or a cluster map.")],
    connect: Connect = URI,
    name: Name = None,
    bridge: Bridge = None,
    replace: Replace = False,
    wait: Wait = True,
    storage: Storage = None,
    accel: options.Accel = "auto",
    sockets: options.Sockets = None,
    cores: options.Cores = None,
    memory: options.Memory = None,
    topology: options.Topology = None,
    smt: options.Smt = None,
    layout: options.Layout = None,
    lock: options.Lock = None,
    uefi: options.Uefi = False,
    timeout: options.Timeout = 120.0,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Make a deployment run as a domain of libvirt, and say where its instances are.

    Nothing happens to one that runs already and has not changed; one that has changed is restarted with --replace.
    """
    process.heed_signals()
    output = Output(quiet, json)
    what = options.load_plan(deployment, sockets, cores, memory, topology, layout, lock, smt)
    kvm.check_choice(accel, False)
    _check(what, bridge, storage)
    with Connection(connect) as host:
        ensure_built(output)
        mode = accelerators.choose(host, accel, len(what.machine.cores))
        wanted = Wanted(
            what, name or what.name, mode.kind, bridge, uefi, PurePosixPath(storage) if storage else None, replace
        )
        with output.progress(f"Deploying {wanted.name}"):
            done = Deployment(host, wanted).converge()
        output.line(f"{done.said}.")
        if wait:
            with output.progress(f"Waiting until {wanted.name} serves") as update:
                wait_ready(done.domain, what, timeout, update)
        _tell(output, what, done)
        output.results({
            "skerry": version(),
            "command": "deploy",
            "connect": connect,
            "name": wanted.name,
            "action": done.action,
            "accel": mode.kind,
            "placement": done.placement,
            "instances": instances(what, done),
        })


def _check(what: Plan, bridge: str | None, storage: str | None) -> None:
    if bridge is not None and what.cluster_map.network is None:
        raise InputError("--bridge", f"{what.name} has no network")
    if storage is not None and not storage.startswith("/"):
        raise InputError("--storage", f"'{storage}' does not begin with /")


def instances(what: Plan, done: Done) -> list[dict[str, object]]:
    record = done.domain.record
    return [
        {"app": f.application, "address": f"{f.guest}:{f.guest_port}" if record.bridge else f.address}
        for f in record.forwards
    ]


def _tell(output: Output, what: Plan, done: Done) -> None:
    record = done.domain.record
    output.line(f"{record.clusters} clusters, {record.cores} cores, {record.accel}; {done.placement}.")
    where = f" on {record.bridge}" if record.bridge else ""
    for instance in instances(what, done):
        output.line(f"{instance['app']} serves at {instance['address']}{where}")
