# SPDX-License-Identifier: BSD-2-Clause
"""`skerry undeploy`."""

from deploy.base.terminal import Json, Output, Quiet, version
from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.options import URI, Connect, Name


def undeploy(name: Name, connect: Connect = URI, quiet: Quiet = False, json: Json = None) -> None:
    """End a deployment and remove all of it from the host: domain, image, logs."""
    output = Output(quiet, json)
    with Connection(connect) as host:
        one = deployed.pick(host, name)
        left = one.remove()
    output.line(f"{one.name} is gone")
    for path in left:
        output.line(f"libvirt's own log stays: {path}")
    output.results({"skerry": version(), "command": "undeploy", "connect": connect, "name": one.name, "left": left})
