# SPDX-License-Identifier: BSD-2-Clause
"""Changes the locks of a running cluster's kernel, by its ledger (cluster-kernel/include/skerry/ledger.h)."""

from collections.abc import Sequence
from enum import Enum

from deploy.base.errors import Failure
from deploy.live import ledger
from deploy.live.ledger import Write
from deploy.machine.events import Event
from topology import regimes
from topology.errors import InputError
from topology.maps.clustermap import GRANULARITIES

Granularity = Enum("Granularity", {name: name for name in GRANULARITIES}, type=str)  # type: ignore[misc]


def check(events: Sequence[Event], cluster: int | None) -> list[Event]:
    """The boot reports of the cluster, or of all whose kernels can change; InputError or Failure where there is
    none."""
    boots = {int(event["cluster"]): event for event in events if event.kind == "boot"}
    if not boots:
        raise Failure("no cluster has started yet")
    if cluster is not None and cluster not in boots:
        raise InputError(f"--cluster {cluster}", f"is not one that has started: {', '.join(map(str, sorted(boots)))}")
    able = [boot for boot in boots.values() if str(boot["kernel"]).partition("+")[0] in regimes.names(regimes.SWITCHED)]
    chosen = able if cluster is None else [boot for boot in able if int(boot["cluster"]) == cluster]
    if not chosen:
        what = "no cluster's kernel" if cluster is None else f"cluster {cluster}'s kernel, {boots[cluster]['kernel']},"
        raise Failure(f"{what} can change its locks: that is for --lock "
                      f"{' and '.join(regimes.names(regimes.SWITCHED))}")
    if any(not boot.get("ledger") for boot in chosen):
        raise Failure("there is no ledger: the image was made by an older Skerry")
    return chosen


def order(write: Write, boot: Event, granularity: str, number: int) -> None:
    """The kernel of this boot report changes, at its manager's next tick."""
    ledger.GRANULARITY.give(write, boot, GRANULARITIES.index(granularity), number)


def done(events: Sequence[Event], cluster: int, number: int) -> Event | None:
    """Returns the manager's report on the order; None: nothing yet."""
    reports = (e for e in reversed(events) if e.kind == "granularity" and e["cluster"] == cluster
               and e["number"] == number)
    return next(reports, None)
