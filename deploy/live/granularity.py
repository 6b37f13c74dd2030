# SPDX-License-Identifier: BSD-2-Clause
"""Changes the locks of a running cluster's kernel, by its ledger (cluster-kernel/include/skerry/ledger.h)."""

from collections.abc import Sequence
from enum import Enum

from deploy.base.errors import Failure
from deploy.live import ledger
from deploy.live.ledger import Write
from deploy.machine.events import Event, boots_of
from topology import regimes
from topology.maps.clustermap import GRANULARITIES

Granularity = Enum("Granularity", {name: name for name in GRANULARITIES}, type=str)  # type: ignore[misc]


def check(events: Sequence[Event], cluster: int | None) -> list[Event]:
    """The boot reports of the cluster, or of all whose kernels can change; InputError or Failure where there is
    none."""
    boots = boots_of(events)
    asked = boots.values() if cluster is None else [ledger.boot_of(boots, "--cluster", cluster)]
    chosen = [boot for boot in asked if str(boot["kernel"]).partition("+")[0] in regimes.names(regimes.SWITCHED)]
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
