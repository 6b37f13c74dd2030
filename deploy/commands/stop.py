# SPDX-License-Identifier: BSD-2-Clause
"""`skerry stop`."""

from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.options import URI, Connect, Name
from deploy.output import Json, Output, version


def stop(name: Name, connect: Connect = URI, json: Json = None) -> None:
    """Switch a deployment off; it stays defined, and `skerry deploy` starts it again.

    Nothing in the machine outlives it, so there is nothing to be written out first: it is switched off at once.
    """
    output = Output(json_to=json)
    with Connection(connect) as host:
        one = deployed.pick(host, name)
        ran = one.stop()
    output.line(f"{one.name} is switched off" if ran else f"{one.name} did not run")
    output.results({"skerry": version(), "command": "stop", "connect": connect, "name": one.name, "ran": ran})
