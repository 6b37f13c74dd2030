# SPDX-License-Identifier: BSD-2-Clause
"""Options of the commands that speak to libvirt."""

from typing import Annotated

from deploy.base.choices import argument, option

URI = "qemu:///system"

Connect = Annotated[str, option("--connect -c URI", "The libvirt host.", envvar="LIBVIRT_DEFAULT_URI")]
RunsUnder = Annotated[str | None, option("--connect -c URI", "RUN is the name of a deployment of this libvirt host.")]
Name = Annotated[str, argument("NAME", "A deployment, as skerry status lists it.")]
Cluster = Annotated[int | None, option("--cluster N", "Cluster whose output to use, with a domain for each cluster "
                                       "(default: 0).", 0)]
OptionalName = Annotated[str | None, argument("[NAME]", "A deployment; optional if there is only one.")]
