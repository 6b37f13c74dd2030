# SPDX-License-Identifier: BSD-2-Clause
"""Has a cluster of a running machine end in one way or another, by its ledger
(cluster-kernel/include/skerry/ledger.h)."""

from collections.abc import Iterable, Sequence
from enum import Enum

from deploy.base.errors import Failure
from deploy.live import ledger
from deploy.live.ledger import Write
from deploy.machine.events import Event
from topology import headers
from topology.errors import InputError

# enum ledger_order, and what happens
ORDERS = {
    name: headers.constant(ledger.HEADER, f"LEDGER_ORDER_{name.upper().replace('-', '_')}")
    for name in ("panic", "hang", "hang-core", "init", "manager", "garbage")
}
DESTROY = "destroy"  # the emulator of its domain is ended; nothing in the machine takes part
DONE = {
    "panic": "its kernel panics", "hang": "its cores loop, interrupts off",
    "hang-core": "one of its cores loops, interrupts off",
    "init": "its cores are reset", "manager": "its manager stops", "garbage": "its manager overwrites what it shares",
    DESTROY: "its domain is destroyed",
}  # fmt: skip
How = Enum("How", {name.replace("-", "_"): name for name in DONE}, type=str)  # type: ignore[misc]
OF_A_CORE = ("panic", "hang-core")


def loss(events: Iterable[Event], cluster: int) -> Event | None:
    """Why a cluster is lost; None: it is not, or has started again."""
    last: Event | None = None
    for event in events:
        if event.kind == "cluster-lost" and event["cluster"] == cluster:
            last = event
        elif event.kind == "boot" and event["cluster"] == cluster:
            last = None
    return last


def check(events: Sequence[Event], cluster: int, how: str, core: int | None = None) -> Event:
    """The boot report of a cluster that lives; InputError or Failure where it cannot be killed so."""
    boots = {int(event["cluster"]): event for event in events if event.kind == "boot"}
    if how not in DONE:
        raise InputError(f"--how {how}", f"is not one of {', '.join(DONE)}")
    if core is not None and how not in OF_A_CORE:
        raise InputError(f"--core {core}", f"is for --how {' and --how '.join(OF_A_CORE)}")
    if not boots:
        raise Failure("no cluster has started yet")
    if cluster not in boots:
        raise InputError(f"--cluster {cluster}", f"is not one that has started: {', '.join(map(str, sorted(boots)))}")
    cores = int(boots[cluster]["cores"])
    if not 0 <= (core or 0) < cores:
        raise InputError(f"--core {core}", f"is not one of cluster {cluster}'s, 0 to {cores - 1}")
    if lost := loss(events, cluster):
        raise Failure(f"cluster {cluster} is lost already: {lost.get('why')}")
    if how in ORDERS and not boots[cluster].get("ledger"):
        raise Failure(f"cluster {cluster} has no ledger: its image was made by an older Skerry")
    return boots[cluster]


def order(write: Write, boot: Event, how: str, core: int | None = None) -> None:
    """The cluster of this boot report ends so, within a beat of its cores or a tick of its manager."""
    ledger.KILL.give(write, boot, (core or 0) << 8 | ORDERS[how])
