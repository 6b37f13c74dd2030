# SPDX-License-Identifier: BSD-2-Clause
"""Options that `skerry model` and `skerry plan` have in common."""

from typing import Annotated

from deploy.base.choices import option

Lock = Annotated[str, option("--lock REGIME", "clh and mcs: machine repairman; ticket: Boyd-Wickizer.")]
Transfer = Annotated[float, option("--transfer CYCLES", "ticket: until one waiter has reloaded the lock's line.")]
Attempts = Annotated[int, option("--attempts N", "rtm: conflicts before an entry takes the lock.", 1, 100)]
