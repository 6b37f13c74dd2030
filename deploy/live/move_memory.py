# SPDX-License-Identifier: BSD-2-Clause
"""Moves memory of a running machine from one cluster to another, and waits until the other has taken it."""

import time

from deploy.base.errors import Failure
from deploy.base.timeouts import slowness
from deploy.live import ledger
from deploy.live.cores import boots_of
from deploy.live.kill import loss
from deploy.live.memory_moves import (
    ADOPTED,
    GIVEN,
    PIECE,
    RETURNED,
    TOO_LITTLE,
    Piece,
    answer,
    givers,
    order,
    parked_for,
    pieces_of,
    refusal,
)
from deploy.live.target import Target
from deploy.machine.events import Event
from topology.units import format_size

PATIENCE = 40.0  # seconds of given time: for 20 of them the giver waits for the other cluster to take it
_POLL = 0.05


def move_memory(target: Target, pieces: int, to: int, named: int | None) -> dict[str, object]:
    """Has them moved to the cluster. Returns what the command's results have."""
    before = pieces_of(target.events(), target.read)
    ordered = time.monotonic()
    if named is not None and loss(target.events(), named):
        moved, giver = _adopt(target, before, pieces, to, named), named
    else:
        moved, giver = _give(target, givers(target.events(), before, to, named), pieces, to)
    _taken(target, to, giver, pieces)
    return {"from": giver, "to": to, "bytes": moved * PIECE, "seconds": round(time.monotonic() - ordered, 3)}


def _ask(target: Target, cluster: int, pieces: int, to: int) -> Event:
    """The order's answer."""
    number = ledger.MEMORY.unused(target.events(), target.read)
    asked = len(target.events())
    order(target.write(cluster), boots_of(target.events())[cluster], pieces, to, number)
    most = target.clock.look() + PATIENCE * slowness()
    while not (report := answer(target.events()[asked:], cluster, number)):
        if target.clock.look() > most:
            raise Failure(f"cluster {cluster} does not answer the order within {PATIENCE:g} s")
        time.sleep(_POLL)
    return report


def _give(target: Target, asked: list[int], pieces: int, to: int) -> tuple[int, int]:
    refusals = []
    for cluster in asked:
        report = _ask(target, cluster, pieces, to)
        if report["what"] == GIVEN:
            return int(report["pieces"]), cluster
        refusals.append(refusal(cluster, pieces, report))
        if report["what"] != TOO_LITTLE:
            break
    raise Failure("; ".join(refusals))


def _adopt(target: Target, before: list[Piece], pieces: int, to: int, lost: int) -> int:
    """Gives the memory that is parked for a cluster that is down to the one that is asked. Returns the pieces of memory
    adopted."""
    givers(target.events(), before, to, lost)
    if parked_for(before, lost) < pieces:
        raise Failure(f"cluster {lost} is down, and {format_size(parked_for(before, lost) * PIECE)} are parked for it, "
                      f"not {format_size(pieces * PIECE)}: "
                      "what it has already stays its own")  # fmt: skip
    report = _ask(target, to, pieces, to)
    if report["what"] != ADOPTED or report["pieces"] != pieces:
        raise Failure(f"cluster {to} has taken {format_size(int(report['pieces']) * PIECE)} of it (error "
                      f"{report['error']})")
    return pieces


def _taken(target: Target, to: int, giver: int, pieces: int) -> None:
    """Until nothing is parked for the cluster."""
    most = target.clock.look() + PATIENCE * slowness()
    while parked_for(pieces_of(target.events(), target.read), to):
        last = next((e for e in reversed(target.events()) if e.kind == "memory-moved" and e["cluster"] == giver), None)
        if last and last["what"] == RETURNED:
            raise Failure(refusal(giver, pieces, last))
        if target.clock.look() > most:
            raise Failure(f"cluster {to} has not taken the memory within {PATIENCE:g} s: it stays parked for it")
        time.sleep(_POLL)
