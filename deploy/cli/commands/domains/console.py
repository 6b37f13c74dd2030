# SPDX-License-Identifier: BSD-2-Clause
"""`skerry console`."""

from typing import Annotated

from deploy.base.choices import option
from deploy.base.errors import Failure
from deploy.base.terminal import Output, Quiet
from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.console import Console
from deploy.domains.options import URI, Cluster, Connect, OptionalName

Force = Annotated[bool, option("--force", "Take the console from another client.")]


def console(
    name: OptionalName = None, connect: Connect = URI, cluster: Cluster = None, force: Force = False,
    quiet: Quiet = False
) -> None:
    """Attach to a deployment's console; Ctrl-] leaves. `skerry logs` has earlier output."""
    output = Output(quiet)
    with Connection(connect) as host:
        one = deployed.pick(host, name)
        member = one.member(cluster)
        if not member.is_active():
            word = member.word(one.events())
            raise Failure(f"{member.domain} does not run ({word}); skerry logs {one.name} prints its output")
        which = f"cluster {member.record.machine} of {one.name}" if member.record.machines > 1 else one.name
        Console(member, force).attach(lambda: output.step(f"Console of {which}; Ctrl-] leaves"))
        output.step("")
