# SPDX-License-Identifier: BSD-2-Clause
"""Options of the commands that speak to libvirt."""

from typing import Annotated

import typer

URI = "qemu:///system"

Connect = Annotated[
    str,
    typer.Option("--connect", "-c", metavar="URI", envvar="LIBVIRT_DEFAULT_URI", help="The libvirt host."),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A deployment, as skerry status lists it.")]
OptionalName = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="A deployment; not needed where there is only one.")
]
