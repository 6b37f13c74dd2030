# SPDX-License-Identifier: BSD-2-Clause
"""`skerry console`."""

from typing import Annotated

import typer

from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.console import Console
from deploy.domains.options import URI, Connect, OptionalName
from deploy.errors import Failure
from deploy.output import Output, Quiet

Force = Annotated[bool, typer.Option("--force", help="Take it from whoever else has it.")]


def console(name: OptionalName = None, connect: Connect = URI, force: Force = False, quiet: Quiet = False) -> None:
    """Attach to a deployment's console; Ctrl-] leaves. `skerry logs` has what was said before."""
    output = Output(quiet)
    with Connection(connect) as host:
        one = deployed.pick(host, name)
        state = one.state()
        if not state.is_running:
            raise Failure(f"{one.name} does not run ({state.word}); skerry logs {one.name} prints what it said")
        Console(one, force).attach(lambda: output.step(f"Console of {one.name}; Ctrl-] leaves"))
        output.step("")
