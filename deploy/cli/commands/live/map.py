# SPDX-License-Identifier: BSD-2-Clause
"""`skerry map`."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table

from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import RunName
from deploy.domains.options import RunsUnder
from deploy.live.cores import OWNED, cores_of, programs_of
from deploy.live.memory_moves import Piece, pieces_of, sums
from deploy.live.target import local_machine, of_libvirt
from deploy.machine.events import boots_of, losses
from topology.units import format_size


def map(  # named as the command is
    what: RunName = None,
    connect: RunsUnder = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Show which cluster of a running deployment has which core and which memory now.

    That is the cluster map's, but for what `skerry move` has moved. Programs are those that have started on the core.
    """
    output = Output(quiet, json)
    with of_libvirt(connect, what) if connect else local_machine(what, "map", changes=False) as target:
        events = target.events()
        cores, boots, pieces = cores_of(events, target.read), boots_of(events), pieces_of(events, target.read)
    table = Table("core", "cluster", "kernel", "moves", "programs", box=None)
    for core in cores:
        kernel = str(boots[core.cluster]["kernel"]) if core.state == OWNED and core.cluster in boots else ""
        table.add_row(str(core.number), str(core), kernel, str(core.moves), " ".join(programs_of(events, core.number)))
    output.table(table)
    if pieces:
        output.table(_memory(pieces))
    for piece in pieces:
        if piece.parked or piece.cluster != piece.home:
            now = f"parked, for cluster {piece.cluster}" if piece.parked else f"cluster {piece.cluster}'s"
            output.line(f"{format_size(piece.size)} at {piece.base:#x}: cluster {piece.home}'s at boot, now {now}.")
    lost = losses(events)
    for cluster in sorted({*boots} & {*lost}):
        output.line(f"Cluster {cluster} is down: {lost[cluster].get('why')}.")
    output.results({
        "skerry": version(), "command": "map",
        "cores": [asdict(core) | {"programs": programs_of(events, core.number)} for core in cores],
        "memory": [asdict(piece) for piece in pieces],
        "clusters": [{"cluster": cluster, "kernel": boot["kernel"], "down": cluster in lost}
                     for cluster, boot in sorted(boots.items())],
    })  # fmt: skip


def _memory(pieces: list[Piece]) -> Table:
    """Returns a table of each cluster's movable memory; some MiB that it was booted from never move."""
    table = Table("cluster", "memory", "of it gained", "given away", "parked for it", box=None)
    for cluster, of in sums(pieces).items():
        table.add_row(str(cluster), *(format_size(of[what]) for what in ("has", "gained", "given", "parked")))
    return table
