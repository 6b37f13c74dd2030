# SPDX-License-Identifier: BSD-2-Clause
"""Options that `skerry model` and `skerry plan` have in common."""

from typing import Annotated

import typer

Lock = Annotated[
    str, typer.Option("--lock", metavar="REGIME", help="clh and mcs: machine repairman; ticket: Boyd-Wickizer.")
]
Transfer = Annotated[
    float, typer.Option("--transfer", metavar="CYCLES", help="ticket: until one waiter has reloaded the lock's line.")
]
Attempts = Annotated[
    int, typer.Option("--attempts", metavar="N", min=1, max=100, help="rtm: conflicts before an entry takes the lock.")
]
