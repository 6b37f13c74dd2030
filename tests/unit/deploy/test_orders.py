# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of orders in ledgers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deploy.live import cores, granularity, memory_moves
from deploy.live.orders import Numbering, Read
from deploy.machine.events import Event
from tests.unit.deploy.test_kill import event

LEDGERS = {0: 0x7000, 1: 0x17000}
BOOTS = [event("boot", cluster=cluster, ledger=ledger) for cluster, ledger in LEDGERS.items()]
SMALL = Numbering("core", 144, shift=20, bits=2)


def answered(*numbers: int) -> list[Event]:
    return [event("core", cluster=0, cpu=5, number=number, what="left") for number in numbers]


def ledgers(numbering: Numbering, **words: int) -> Read:
    """`words`: the order that stands in a cluster's ledger, by "cN"."""

    def read(cluster: int, address: int, size: int) -> bytes:
        assert (address, size) == (LEDGERS[cluster] + numbering.offset, 8)
        return words.get(f"c{cluster}", 0).to_bytes(8, "little")

    return read


def test_unused() -> None:
    """the first number that no answer has; 0 is none"""
    read = ledgers(SMALL)
    assert SMALL.unused(BOOTS, read) == 1
    assert SMALL.unused([*BOOTS, *answered(1, 3)], read) == 2
    assert SMALL.unused([*BOOTS, event("boot", cluster=2), *answered(1)], read) == 2  # a cluster without a ledger


def test_answer_is_lost() -> None:
    """an order stands in a ledger and in no event: its number is not used again, whichever cluster is asked"""
    for cluster in ("c0", "c1"):
        assert SMALL.unused(BOOTS, ledgers(SMALL, **{cluster: cores.MAGIC | 1 << 20 | 5 << 8})) == 2


def test_all_are_used() -> None:
    """the oldest answer's number comes again, but for one that still stands in a ledger"""
    events = [*BOOTS, *answered(2, 1, 3, 2)]
    assert SMALL.unused(events, ledgers(SMALL)) == 1
    assert SMALL.unused(events, ledgers(SMALL, c1=1 << 20)) == 3
    assert SMALL.unused(events, ledgers(SMALL, c0=3 << 20, c1=1 << 20)) == 2


@pytest.mark.parametrize(
    ("numbering", "order"),
    [
        (cores.NUMBERING, lambda write, number: cores.order(write, BOOTS[1], 0xFFF, 0xFF, number)),
        (memory_moves.NUMBERING, lambda write, number: memory_moves.order(write, BOOTS[1], memory_moves.MOST - 1, 0xFF, number)),
        (granularity.NUMBERING, lambda write, number: granularity.order(write, BOOTS[1], "fine", number)),
    ],
)
def test_orders(numbering: Numbering, order: Callable[..., None]) -> None:
    """each kind of order holds its number where its numbering looks for it, the largest one too"""
    for number in (1, (1 << numbering.bits) - 1):
        written: dict[int, int] = {}
        order(written.__setitem__, number)
        (address,), (word,) = written.keys(), written.values()
        assert address == LEDGERS[1] + numbering.offset and word < 1 << 64
        assert numbering.unused(BOOTS, ledgers(numbering, c1=word)) == (2 if number == 1 else 1)
        assert word >> numbering.shift & (1 << numbering.bits) - 1 == number
    for number in (-1, 1 << numbering.bits):
        with pytest.raises(ValueError, match=f"number {number}"):
            order({}.__setitem__, number)
