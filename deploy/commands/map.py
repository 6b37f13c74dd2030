# SPDX-License-Identifier: BSD-2-Clause
"""`skerry map`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from deploy.commands.kill import local_machine, of_libvirt
from deploy.cores import OWNED, boots_of, cores_of, programs_of
from deploy.domains.options import RunsUnder
from deploy.kill import loss
from deploy.output import Json, Output, version


def map(  # named as the command is
    what: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The process id of a skerry that runs a machine, or with --connect a deployment's name; default: the only one."),
    ] = None,
    connect: RunsUnder = None,
    json: Json = None,
) -> None:
    """Show which cluster of a running deployment has which core now.

    That is the cluster map's, but for cores that `skerry move` has moved. Programs are those that have started on the core.
    """
    output = Output(json_to=json)
    with of_libvirt(connect, what) if connect else local_machine(what, "map") as target:
        events = target.events()
        cores, boots = cores_of(events, target.read), boots_of(events)
    table = Table("core", "cluster", "kernel", "moves", "programs", box=None)
    for core in cores:
        kernel = str(boots[core.cluster]["kernel"]) if core.state == OWNED and core.cluster in boots else ""
        table.add_row(str(core.number), str(core), kernel, str(core.moves), " ".join(programs_of(events, core.number)))
    output.table(table)
    for cluster in boots:
        if lost := loss(events, cluster):
            output.line(f"Cluster {cluster} is down: {lost.get('why')}.")
    output.results({
        "skerry": version(), "command": "map",
        "cores": [asdict(core) | {"programs": programs_of(events, core.number)} for core in cores],
        "clusters": [{"cluster": cluster, "kernel": boot["kernel"], "down": loss(events, cluster) is not None} for cluster, boot in boots.items()],
    })  # fmt: skip
