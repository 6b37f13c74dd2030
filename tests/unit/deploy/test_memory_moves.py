# SPDX-License-Identifier: BSD-2-Clause
"""`skerry move --memory`: the map in force as read from the words, what is refused, and the order."""

from __future__ import annotations

import re

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.cli.main import main
from deploy.live import memory_moves
from deploy.live.memory_moves import PIECE, Piece, givers, order, parked_for, pieces_of, refusal, runs, size_of, sums
from deploy.machine.events import Event
from topology.errors import InputError

INCLUDE = ROOT / "cluster-kernel/include/skerry"
WORDS = 0x40000


def event(kind: str, **data: object) -> Event:
    return Event(kind, {"event": kind, **data})


def boots(*words: int) -> list[Event]:
    return [event("boot", cluster=i, ledger=0x5000 + 0x2000 * i, memory_words=word) for i, word in enumerate(words)]


BOOTS = boots(WORDS, WORDS, WORDS)
OWNED = [memory_moves.OWNED << 6 | cluster for cluster in range(3)]
PARKED = [memory_moves.PARKED << 6 | cluster for cluster in range(3)]
# nothing, two of cluster 0, one of 0's that 1 has, one that is parked for 1, two of cluster 1's, nothing
TABLE = bytes([0, OWNED[0], OWNED[0], OWNED[1], PARKED[1], OWNED[1], OWNED[1], 0])
HOMES = bytes([0, 1, 1, 1, 1, 2, 2, 0])
PIECES = [Piece(PIECE, 2 * PIECE, 0, 0), Piece(3 * PIECE, PIECE, 1, 0), Piece(4 * PIECE, PIECE, 1, 0, True), Piece(5 * PIECE, 2 * PIECE, 1, 1)]


def test_constants() -> None:
    """they are those of the headers"""
    text = (INCLUDE / "memory_control.h").read_text()
    assert f"MEMORY_PIECE_BITS = {PIECE.bit_length() - 1}," in text
    assert "enum memory_state { MEMORY_NONE, MEMORY_OWNED, MEMORY_PARKED };" in text and "(state << 6 | (cluster & 63))" in text
    ledger = (INCLUDE / "ledger.h").read_text()
    assert f"LEDGER_MEMORY_MAGIC 0x{memory_moves.MAGIC:016x}ull" in ledger
    assert re.search(r"_Atomic uint64_t move; .*\n\t_Atomic uint64_t memory;", ledger)
    names = re.search(r"names\[MEMORY_EVENTS\] = \{ (.*) \}", (ROOT / "cluster-manager/root/run/reports.c").read_text())
    assert names and {memory_moves.GIVEN, memory_moves.ADOPTED, memory_moves.RETURNED, memory_moves.TOO_LITTLE, memory_moves.DOWN,
                      memory_moves.REFUSED, "taken"} == set(names[1].replace('"', "").split(", "))  # fmt: skip


def test_map_in_force() -> None:
    """runs of one owner and one home, read from where the boot report says; sums of each cluster"""

    def read(cluster: int, address: int, size: int) -> bytes:
        memory = bytes(8) + len(TABLE).to_bytes(8, "little") + bytes(48) + TABLE
        memory += bytes(4096 - len(memory)) + HOMES
        assert cluster == 0 and WORDS <= address and address + size <= WORDS + len(memory)
        return memory[address - WORDS : address - WORDS + size]

    assert pieces_of(BOOTS, read) == PIECES == runs(TABLE, HOMES)
    assert sums(PIECES) == {
        0: {"has": 2 * PIECE, "gained": 0, "parked": 0, "given": 2 * PIECE},
        1: {"has": 3 * PIECE, "gained": PIECE, "parked": PIECE, "given": 0},
    }
    assert parked_for(PIECES, 1) == 1 and parked_for(PIECES, 0) == 0
    assert pieces_of(boots(0, 0), read) == []


@pytest.mark.parametrize("word", [0, 3 << 6, 1])
def test_spoilt_words(word: int) -> None:
    """a word that is none, where memory moves"""
    with pytest.raises(Failure, match="at 0x600000: its word"):
        runs(TABLE[:3] + bytes([word]) + TABLE[4:], HOMES)
    with pytest.raises(Failure, match="has 0 pieces"):
        pieces_of(BOOTS, lambda _cluster, _address, size: bytes(size))


@pytest.mark.parametrize(("text", "pieces"), [("2M", 1), ("64M", 32), ("1G", 512), ("2048K", 1), ("4194304", 2)])
def test_sizes(text: str, pieces: int) -> None:
    """bytes, K, M, G"""
    assert size_of(text) == pieces


@pytest.mark.parametrize("text", ["3M", "1", "2047K", "0", "-2M", "all", "512T", "99999999999999G"])
def test_bad_sizes(text: str) -> None:
    """what is no multiple of 2 MiB, or more than a machine has"""
    with pytest.raises(InputError, match="--memory"):
        size_of(text)


def test_givers() -> None:
    """the one that is named; else all others that live, that with the most memory first"""
    assert givers(BOOTS, PIECES, 2, 0) == [0]
    assert givers(BOOTS, PIECES, 2, None) == [1, 0]
    lost = event("cluster-lost", cluster=1, why="its kernel panicked")
    assert givers([*BOOTS, lost], PIECES, 2, None) == [0]
    with pytest.raises(Failure, match="cluster 1 is down: its kernel panicked"):
        givers([*BOOTS, lost], PIECES, 1, 0)
    with pytest.raises(InputError, match="--from 2"):
        givers(BOOTS, PIECES, 2, 2)
    with pytest.raises(InputError, match="--to 3"):
        givers(BOOTS, PIECES, 3, None)
    with pytest.raises(Failure, match="to or from cluster 1"):
        givers(boots(WORDS, 0), PIECES, 0, 1)
    with pytest.raises(Failure, match="no other cluster lives"):
        givers([*BOOTS[:2], lost], PIECES, 0, None)


def test_order() -> None:
    """one word in the giver's ledger"""
    written = {}
    order(written.__setitem__, BOOTS[1], 0x1234567, 2, 5)
    assert written == {0x7000 + memory_moves.OFFSET: 0x6D65_005_1234567_02}
    for pieces, to in ((0, 1), (1 << 28, 1), (1, 256), (1, -1)):
        with pytest.raises(ValueError, match="an order of"):
            order(written.__setitem__, BOOTS[1], pieces, to, 1)
    said = event("memory-moved", cluster=1, number=4095, what="given", pieces=3, to=0)
    assert memory_moves.answer([said], 1, 4095) == said
    assert memory_moves.answer([said], 0, 4095) is None and memory_moves.answer([said], 1, 4094) is None


@pytest.mark.parametrize(
    ("what", "words"),
    [("too-little", "cluster 1 has 6 MiB free in pieces of 2 MiB, not 64 MiB"), ("down", "cluster 0 is down, says cluster 1"),
     ("returned", "has not taken the memory"), ("refused", "gives nothing (error 9)")],
)  # fmt: skip
def test_refusals(what: str, words: str) -> None:
    """why nothing moves, in a line"""
    assert words in refusal(1, 32, event("memory-moved", what=what, free=3, to=0, error=9))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "exactly one of the two"), (("--core", "1", "--memory", "2M"), "exactly one of the two"), (("--memory", "3M"), "multiple of 2 MiB"),
     (("--core", "1", "--from", "1"), "a core has one cluster")],
)  # fmt: skip
def test_command_line(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """one line that names the option, and status 2"""
    assert main(["move", "--to", "0", *arguments]) == 2
    assert words in capsys.readouterr().err.replace("\n", " ")
