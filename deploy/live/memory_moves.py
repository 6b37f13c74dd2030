# SPDX-License-Identifier: BSD-2-Clause
"""The cluster of each piece of a running machine's memory, and orders to move some (memory_control.h, ledger.h)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from deploy.base.errors import Failure
from deploy.live import ledger
from deploy.live.ledger import Read, Write
from deploy.live.target import Target
from deploy.machine.events import Event, boots_of, losses
from topology.errors import InputError
from topology.units import LARGE_PAGE, format_size, parse_size

PIECE = LARGE_PAGE  # 1 << MEMORY_PIECE_BITS
HEADER = 64  # of struct memory_control
PAGE = 4096
NONE, OWNED, PARKED = range(3)  # enum memory_state
MOST = 1 << 28  # pieces in an order, exclusive
GIVEN, ADOPTED, RETURNED, TOO_LITTLE, DOWN, REFUSED = "given", "adopted", "returned", "too-little", "down", "refused"


@dataclass(frozen=True)
class Piece:
    """A run of pieces of one cluster that had one cluster at boot. `parked`: it is for the cluster, which has not taken
    it yet."""

    base: int
    size: int
    cluster: int
    home: int
    parked: bool = False


def pieces_of(events: Sequence[Event], read: Read) -> list[Piece]:
    """The map in force; nothing where no memory moves. Pieces that hold what clusters were booted from never move, and
    are left out."""
    boots = boots_of(events)
    address = next((int(boots[one]["memory_words"]) for one in sorted(boots) if boots[one].get("memory_words")), 0)
    if not address:
        return []
    of = min(boots)
    count = int.from_bytes(read(of, address + 8, 8), "little")
    if not 0 < count < MOST:
        raise Failure(f"the table of the machine's memory has {count} pieces: its memory is spoilt, or another "
                      f"Skerry's")
    size = (HEADER + count + PAGE - 1) // PAGE * PAGE
    return runs(read(of, address + HEADER, count), read(of, address + size, count))


def runs(words: bytes, homes: bytes) -> list[Piece]:
    pieces, number = [], 0
    for (word, home), group in groupby(zip(words, homes, strict=True)):
        length = len(list(group))
        state, cluster = word >> 6, word & 63
        if home and state not in (OWNED, PARKED):
            raise Failure(f"memory at {number * PIECE:#x}: its word {word:#x} is none: the machine's memory is spoilt, "
                          f"or another Skerry's")
        if home:
            pieces.append(Piece(number * PIECE, length * PIECE, cluster, home - 1, state == PARKED))
        number += length
    return pieces


def sums(pieces: Sequence[Piece]) -> dict[int, dict[str, int]]:
    """Sums for each cluster the bytes that it has, of them those that others had at boot, those parked for it, and
    those that it had at boot and has no longer."""
    result: dict[int, dict[str, int]] = {}

    def add(cluster: int, what: str, size: int) -> None:
        result.setdefault(cluster, dict.fromkeys(("has", "gained", "parked", "given"), 0))[what] += size

    for piece in pieces:
        add(piece.cluster, "parked" if piece.parked else "has", piece.size)
        if not piece.parked and piece.cluster != piece.home:
            add(piece.cluster, "gained", piece.size)
        if piece.parked or piece.cluster != piece.home:
            add(piece.home, "given", piece.size)
    return dict(sorted(result.items()))


def size_of(text: str) -> int:
    """In pieces. InputError where it is none, or no multiple of 2 MiB."""
    size = parse_size(text, "--memory")
    if size % PIECE or size // PIECE >= MOST:
        raise InputError(f"--memory {text}",
                         f"is not a multiple of {format_size(PIECE)}, less than {format_size(MOST * PIECE)}")
    return size // PIECE


def givers(events: Sequence[Event], pieces: Sequence[Piece], to: int, named: int | None) -> list[int]:
    """The clusters to be asked, in that order: the one that is named, or all others that live, that with the most
    memory first."""
    boots, gone = boots_of(events), losses(events)
    asked = [ledger.boot_of(boots, option, cluster) for option, cluster in (("--to", to), ("--from", named))
             if cluster is not None]
    if named == to:
        raise InputError(f"--from {named}", "is the cluster that is to get it")
    if lost := gone.get(to):
        raise Failure(f"cluster {to} is down: {lost.get('why')}")
    if barred := [boot["cluster"] for boot in asked if not boot.get("memory_words")]:
        raise Failure(f"memory does not move to or from cluster {barred[0]}: that is for clusters of one machine "
                      "with restart = \"on-failure\" under [clusters]")
    if named is not None:
        return [named]
    has = sums(pieces)
    others = [one for one, boot in boots.items() if one != to and boot.get("memory_words") and one not in gone]
    if not others:
        raise Failure("no other cluster lives; --from CLUSTER takes what is parked for one that is down")
    return sorted(others, key=lambda one: (-has.get(one, {}).get("has", 0), one))


def order(write: Write, boot: Event, pieces: int, to: int, number: int) -> None:
    """The manager of this boot report gives them, or where it is the one to get them takes what is parked, at its next
    tick."""
    if not 0 < pieces < MOST or not 0 <= to < 256:
        raise ValueError(f"an order of {pieces} pieces for cluster {to}")
    ledger.MEMORY.give(write, boot, pieces << 8 | to, number)


def parked_for(pieces: Sequence[Piece], cluster: int) -> int:
    """In pieces."""
    return sum(piece.size for piece in pieces if piece.parked and piece.cluster == cluster) // PIECE


def refusal(giver: int, pieces: int, report: Event) -> str:
    """Why nothing moves, in a line."""
    if report["what"] == TOO_LITTLE:
        return (f"cluster {giver} has {format_size(int(report['free']) * PIECE)} free in pieces of 2 MiB, not "
                f"{format_size(pieces * PIECE)}")
    if report["what"] == DOWN:
        return f"cluster {report['to']} is down, says cluster {giver}"
    if report["what"] == RETURNED:
        return (f"cluster {report['to']} has not taken the memory, and cluster {giver} has taken it back (error "
                f"{report['error']})")
    return f"cluster {giver} gives nothing (error {report['error']})"


PATIENCE = 40.0  # seconds of given time: for 20 of them the giver waits for the other cluster to take it


def move_memory(target: Target, pieces: int, to: int, named: int | None) -> dict[str, object]:
    """Has them moved to the cluster. Returns what the command's results have."""
    before = pieces_of(target.events(), target.read)
    ordered = time.monotonic()
    if named in losses(target.events()):
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
    report = target.wait(lambda: ledger.MEMORY.answered(target.events()[asked:], number, "taken", cluster=cluster),
                         PATIENCE)
    if not report:
        raise Failure(f"cluster {cluster} does not answer the order within {PATIENCE:g} s")
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
    """Waits until nothing is parked for the cluster."""

    def is_taken() -> bool:
        if not parked_for(pieces_of(target.events(), target.read), to):
            return True
        last = next((e for e in reversed(target.events()) if e.kind == "memory-moved" and e["cluster"] == giver), None)
        if last and last["what"] == RETURNED:
            raise Failure(refusal(giver, pieces, last))
        return False

    if not target.wait(is_taken, PATIENCE):
        raise Failure(f"cluster {to} has not taken the memory within {PATIENCE:g} s: it stays parked for it")
