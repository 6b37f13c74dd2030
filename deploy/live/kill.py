# SPDX-License-Identifier: BSD-2-Clause
"""Has a cluster of a running machine end in one way or another, by its ledger
(cluster-kernel/include/skerry/ledger.h)."""

from collections.abc import Sequence
from enum import Enum

from deploy.base.errors import Failure
from deploy.live import ledger
from deploy.live.ledger import Write
from deploy.machine.events import Event, boots_of, losses
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


def check(events: Sequence[Event], cluster: int, how: str, core: int | None = None) -> Event:
    """The boot report of a cluster that lives; InputError or Failure where it cannot be killed so."""
    if how not in DONE:
        raise InputError(f"--how {how}", f"is not one of {', '.join(DONE)}")
    if core is not None and how not in OF_A_CORE:
        raise InputError(f"--core {core}", f"is for --how {' and --how '.join(OF_A_CORE)}")
    boot = ledger.boot_of(boots_of(events), "--cluster", cluster)
    cores = int(boot["cores"])
    if not 0 <= (core or 0) < cores:
        raise InputError(f"--core {core}", f"is not one of cluster {cluster}'s, 0 to {cores - 1}")
    if lost := losses(events).get(cluster):
        raise Failure(f"cluster {cluster} is lost already: {lost.get('why')}")
    if how in ORDERS and not boot.get("ledger"):
        raise Failure(f"cluster {cluster} has no ledger: its image was made by an older Skerry")
    return boot


def order(write: Write, boot: Event, how: str, core: int | None = None) -> None:
    """The cluster of this boot report ends so, within a beat of its cores or a tick of its manager."""
    ledger.KILL.give(write, boot, (core or 0) << 8 | ORDERS[how])
