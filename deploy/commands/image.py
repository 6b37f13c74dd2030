# SPDX-License-Identifier: BSD-2-Clause
"""`skerry image`."""

from pathlib import Path
from typing import Annotated

import typer

from deploy import image as images
from deploy import modules
from deploy.deployment import DEFAULT
from deploy.expand import plan
from deploy.options import Cores, Layout, Lock, Memory, Smt, Sockets, Topology, adapt, load_plan
from deploy.output import Json, Output, Quiet, version
from topology.units import MIB


def image(
    output_file: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The ISO to write.")],
    deployment: Annotated[
        Path | None, typer.Argument(metavar="[DEPLOYMENT]", help="A deployment file or cluster map; default: Redis.")
    ] = None,
    sockets: Sockets = None,
    cores: Cores = None,
    memory: Memory = None,
    topology: Topology = None,
    smt: Smt = None,
    layout: Layout = None,
    lock: Lock = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Write a bootable image of a deployment: BIOS and UEFI, optical disc or USB stick."""
    output = Output(quiet, json)
    images.check_output(output_file)
    if deployment:
        what = load_plan(deployment, sockets, cores, memory, topology, layout, lock, smt)
    else:
        what = plan(adapt(DEFAULT, sockets, cores, memory, topology, layout, lock, smt))
    files = images.contents(what.cluster_map)
    with output.progress(f"Writing an image with {', '.join(files)}"):
        images.make_iso(output_file, files, modules.loader(), what.name)
    output.line(f"{output_file}: {output_file.stat().st_size / MIB:.1f} MiB, for {what.machine.name}")
    output.results({
        "skerry": version(),
        "command": "image",
        "image": str(output_file),
        "bytes": output_file.stat().st_size,
        "machine": what.machine.name,
        "modules": list(files),
    })
