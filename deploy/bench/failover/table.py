# SPDX-License-Identifier: BSD-2-Clause
"""The table of `skerry bench failover`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.table import Table

from deploy.bench.failover.measure import Measured


def failover_table(found: Sequence[Measured], node_timeout: int) -> Table:
    table = Table(title=f"Until a shard whose master has ended is written to again; node-timeout {node_timeout} ms")
    for name in ("system", "how", "ends", "writes again, ms", "worst", "whole again, ms", "other shards' stall, ms",
                 "their errors", "acknowledged", "lost"):
        table.add_column(name, justify="left" if name in ("system", "how") else "right")
    for one in found:
        for how in dict.fromkeys(fate.how for fate in one.fates):
            fates = one.of(how)
            table.add_row(one.system, how, str(len(fates)), f"{median(fate.write_ms for fate in fates):.0f}",
                          f"{max(fate.write_ms for fate in fates):.0f}",
                          f"{median(fate.whole_ms for fate in fates):.0f}",
                          f"{max(fate.stall_ms for fate in fates):.0f}", str(sum(fate.errors for fate in fates)),
                          str(one.acknowledged), str(len(one.lost)))
    return table
