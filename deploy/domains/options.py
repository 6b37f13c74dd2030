# SPDX-License-Identifier: BSD-2-Clause
"""Options of the commands that speak to libvirt."""

from typing import Annotated

import typer

URI = "qemu:///system"

Connect = Annotated[
    str,
    typer.Option("--connect", "-c", metavar="URI", envvar="LIBVIRT_DEFAULT_URI", help="The libvirt host."),
]
RunsUnder = Annotated[
    str | None,
    typer.Option("--connect", "-c", metavar="URI", help="RUN is the name of a deployment of this libvirt host."),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A deployment, as skerry status lists it.")]
Cluster = Annotated[
    int | None,
    typer.Option("--cluster", metavar="N", min=0,
                 help="Cluster whose output to use, with a domain for each cluster (default: 0)."),
]
OptionalName = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="A deployment; optional if there is only one.")
]
