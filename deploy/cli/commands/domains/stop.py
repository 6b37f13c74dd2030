# SPDX-License-Identifier: BSD-2-Clause
"""`skerry stop`."""

from deploy.base.terminal import Json, Output, Quiet, version
from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.options import URI, Connect, Name


def stop(name: Name, connect: Connect = URI, quiet: Quiet = False, json: Json = None) -> None:
    """Switch a deployment off; it stays defined, and `skerry deploy` starts it again.

    It presses the power button: the managers report their last statistics and switch off. A machine that does not
    react is ended after five seconds. The data of programs is in memory only, and is lost.
    """
    output = Output(quiet, json)
    with Connection(connect) as host:
        one = deployed.pick(host, name)
        ran = any(member.is_active() for member in one.members)
        one.shut_down()
        one.stop()
    output.line(f"{one.name} is switched off" if ran else f"{one.name} did not run")
    output.results({"skerry": version(), "command": "stop", "connect": connect, "name": one.name, "ran": ran})
