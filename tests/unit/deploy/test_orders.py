# SPDX-License-Identifier: BSD-2-Clause
"""Orders to a running cluster, and what status and top say of what has changed."""

import re
import socket
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.cli.main import main
from deploy.domains.deployed import write_word
from deploy.live import cores, granularity, kill, ledger as orders, memory_moves
from deploy.live.ledger import Order, Read
from deploy.live.lockstat import live
from deploy.live.memory_moves import (
    PIECE,
    Piece,
    givers,
    order,
    parked_for,
    pieces_of,
    refusal,
    runs,
    size_of,
    sums,
)
from deploy.live.top.sample import Sample
from deploy.live.top.view import plain
from deploy.machine import changes, gdb_remote
from deploy.machine.console_lines import By, Line
from deploy.machine.crashes import lost_reporter
from deploy.machine.events import Event
from topology.errors import InputError
from topology.headers import HeaderError
from topology.units import MIB

# ---- Orders to a running cluster: core and memory moves, ends. ----


# ---- Numbers of orders in ledgers ----


def event(kind: str, **data: object) -> Event:
    return Event(kind, {"event": kind, **data})


LEDGERS = {0: 0x7000, 1: 0x17000}
BOOTS = [event("boot", cluster=cluster, ledger=ledger) for cluster, ledger in LEDGERS.items()]
SMALL = Order("move", 0x6D6F7665 << 32, "core", shift=20, bits=2)


def test_words() -> None:
    """where each order's word is in struct ledger_kernel, and what it begins with"""
    assert [(one.offset, one.magic) for one in (orders.KILL, orders.GRANULARITY, orders.CORE, orders.MEMORY)] == [
        (128, 0x6B696C6C << 32), (136, 0x6772616E << 32), (144, 0x6D6F7665 << 32), (152, 0x6D65 << 48),
    ]
    with pytest.raises(HeaderError, match="has no field nothing"):
        Order("nothing", 0).offset  # noqa: B018


def answered(*numbers: int) -> list[Event]:
    return [event("core", cluster=0, cpu=5, number=number, what="left") for number in numbers]


def ledgers(numbering: Order, **words: int) -> Read:
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
        assert SMALL.unused(BOOTS, ledgers(SMALL, **{cluster: SMALL.magic | 1 << 20 | 5 << 8})) == 2


def test_all_are_used() -> None:
    """the oldest answer's number comes again, but for one that still stands in a ledger"""
    events = [*BOOTS, *answered(2, 1, 3, 2)]
    assert SMALL.unused(events, ledgers(SMALL)) == 1
    assert SMALL.unused(events, ledgers(SMALL, c1=1 << 20)) == 3
    assert SMALL.unused(events, ledgers(SMALL, c0=3 << 20, c1=1 << 20)) == 2


@pytest.mark.parametrize(
    ("numbering", "order"),
    [(orders.CORE, lambda write, number: cores.order(write, BOOTS[1], 0xFFF, 0xFF, number)),
     (orders.MEMORY, lambda write, number: memory_moves.order(write, BOOTS[1], memory_moves.MOST - 1, 0xFF, number)),
     (orders.GRANULARITY, lambda write, number: granularity.order(write, BOOTS[1], "fine", number))],
)
def test_orders(numbering: Order, order: Callable[..., None]) -> None:
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


# ---- `skerry move --memory`: the map in force as read from the words, what is refused, and the order ----

INCLUDE = ROOT / "cluster-kernel/include/skerry"
WORDS = 0x40000


def boots(*words: int) -> list[Event]:
    return [event("boot", cluster=i, ledger=0x5000 + 0x2000 * i, memory_words=word) for i, word in enumerate(words)]


BOOTS_MEMORY_MOVES = boots(WORDS, WORDS, WORDS)
OWNED = [memory_moves.OWNED << 6 | cluster for cluster in range(3)]
PARKED = [memory_moves.PARKED << 6 | cluster for cluster in range(3)]
# nothing, two of cluster 0, one of 0's that 1 has, one that is parked for 1, two of cluster 1's, nothing
TABLE = bytes([0, OWNED[0], OWNED[0], OWNED[1], PARKED[1], OWNED[1], OWNED[1], 0])
HOMES = bytes([0, 1, 1, 1, 1, 2, 2, 0])
PIECES = [Piece(PIECE, 2 * PIECE, 0, 0), Piece(3 * PIECE, PIECE, 1, 0), Piece(4 * PIECE, PIECE, 1, 0, True),
          Piece(5 * PIECE, 2 * PIECE, 1, 1)]


def test_constants() -> None:
    """they are those of the headers"""
    text = (INCLUDE / "memory_control.h").read_text()
    assert f"MEMORY_PIECE_BITS = {PIECE.bit_length() - 1}," in text
    assert ("enum memory_state { MEMORY_NONE, MEMORY_OWNED, MEMORY_PARKED };" in text
            and "(state << 6 | (cluster & 63))" in text)
    reports = (ROOT / "cluster-manager/root/run/reports.c").read_text()
    names = re.search(r"names\[MEMORY_EVENTS\] = \{ (.*?) \}", reports, re.DOTALL)
    assert names and {memory_moves.GIVEN, memory_moves.ADOPTED, memory_moves.RETURNED, memory_moves.TOO_LITTLE,
                      memory_moves.DOWN, memory_moves.REFUSED, "taken"} == set(re.findall(r'"(.*?)"', names[1]))


def test_map_in_force() -> None:
    """runs of one owner and one home, read from where the boot report says; sums of each cluster"""

    def read(cluster: int, address: int, size: int) -> bytes:
        memory = bytes(8) + len(TABLE).to_bytes(8, "little") + bytes(48) + TABLE
        memory += bytes(4096 - len(memory)) + HOMES
        assert cluster == 0 and WORDS <= address and address + size <= WORDS + len(memory)
        return memory[address - WORDS : address - WORDS + size]

    assert pieces_of(BOOTS_MEMORY_MOVES, read) == PIECES == runs(TABLE, HOMES)
    assert sums(PIECES) == {0: {"has": 2 * PIECE, "gained": 0, "parked": 0, "given": 2 * PIECE},
                            1: {"has": 3 * PIECE, "gained": PIECE, "parked": PIECE, "given": 0}}
    assert parked_for(PIECES, 1) == 1 and parked_for(PIECES, 0) == 0
    assert pieces_of(boots(0, 0), read) == []


@pytest.mark.parametrize("word", [0, 3 << 6, 1])
def test_spoilt_words(word: int) -> None:
    """a word that is none, where memory moves"""
    with pytest.raises(Failure, match="at 0x600000: its word"):
        runs(TABLE[:3] + bytes([word]) + TABLE[4:], HOMES)
    with pytest.raises(Failure, match="has 0 pieces"):
        pieces_of(BOOTS_MEMORY_MOVES, lambda _cluster, _address, size: bytes(size))


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
    assert givers(BOOTS_MEMORY_MOVES, PIECES, 2, 0) == [0]
    assert givers(BOOTS_MEMORY_MOVES, PIECES, 2, None) == [1, 0]
    lost = event("cluster-lost", cluster=1, why="its kernel panicked")
    assert givers([*BOOTS_MEMORY_MOVES, lost], PIECES, 2, None) == [0]
    with pytest.raises(Failure, match="cluster 1 is down: its kernel panicked"):
        givers([*BOOTS_MEMORY_MOVES, lost], PIECES, 1, 0)
    with pytest.raises(InputError, match="--from 2"):
        givers(BOOTS_MEMORY_MOVES, PIECES, 2, 2)
    with pytest.raises(InputError, match="--to 3"):
        givers(BOOTS_MEMORY_MOVES, PIECES, 3, None)
    with pytest.raises(Failure, match="to or from cluster 1"):
        givers(boots(WORDS, 0), PIECES, 0, 1)
    with pytest.raises(Failure, match="no other cluster lives"):
        givers([*BOOTS_MEMORY_MOVES[:2], lost], PIECES, 0, None)


def test_order() -> None:
    """one word in the giver's ledger"""
    written = {}
    order(written.__setitem__, BOOTS_MEMORY_MOVES[1], 0x1234567, 2, 5)
    assert written == {0x7000 + 152: 0x6D65_005_1234567_02}
    for pieces, to in ((0, 1), (1 << 28, 1), (1, 256), (1, -1)):
        with pytest.raises(ValueError, match="an order of"):
            order(written.__setitem__, BOOTS_MEMORY_MOVES[1], pieces, to, 1)
    report = event("memory-moved", cluster=1, number=4095, what="given", pieces=3, to=0)
    assert orders.MEMORY.answered([report], 4095, "taken", cluster=1) == report
    assert orders.MEMORY.answered([report], 4095, cluster=0) is None
    assert orders.MEMORY.answered([report], 4094, cluster=1) is None


@pytest.mark.parametrize(
    ("what", "words"),
    [("too-little", "cluster 1 has 6 MiB free in pieces of 2 MiB, not 64 MiB"),
     ("down", "cluster 0 is down, says cluster 1"),
     ("returned", "has not taken the memory"), ("refused", "gives nothing (error 9)")],
)  # fmt: skip
def test_refusals(what: str, words: str) -> None:
    """why nothing moves, in a line"""
    assert words in refusal(1, 32, event("memory-moved", what=what, free=3, to=0, error=9))


@pytest.mark.parametrize(("arguments", "words"),
                         [((), "exactly one of the two"), (("--core", "1", "--memory", "2M"), "exactly one of the two"),
                          (("--memory", "3M"), "multiple of 2 MiB"),
                          (("--core", "1", "--from", "1"), "a core has one cluster")])  # fmt: skip
def test_command_line(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """one line that names the option, and status 2"""
    assert main(["move", "--to", "0", *arguments]) == 2
    assert words in capsys.readouterr().err.replace("\n", " ")


# ---- `skerry kill`: what it refuses, and how it reaches a machine's memory ----

LEDGER = ROOT / "cluster-kernel/include/skerry/ledger.h"


BOOTS_KILL = [event("boot", cluster=i, cores=2, ledger=0x5000 + 0x2000 * i) for i in (0, 1)]
LOST = event("cluster-lost", cluster=1, why="its kernel panicked")


def test_orders_kill() -> None:
    """the ways are those of ledger.h, with its numbers"""
    text = LEDGER.read_text()
    names = re.findall(r"LEDGER_ORDER_(\w+),", text[text.index("enum ledger_order {") :])
    assert {name.lower().replace("_", "-"): i for i, name in enumerate(names) if i} == kill.ORDERS == {**kill.ORDERS}
    assert kill.DONE.keys() == {*kill.ORDERS, kill.DESTROY}


@pytest.mark.parametrize("cluster,how,core,words", [
    (2, "panic", None, "--cluster 2: is not one that has started: 0, 1"),
    (1, "fire", None, "--how fire: is not one of panic"),
    (1, "panic", 2, "--core 2: is not one of cluster 1's, 0 to 1"),
    (1, "hang", 0, "--core 0: is for --how panic and --how hang-core"),
])  # fmt: skip
def test_refused(cluster: int, how: str, core: int | None, words: str) -> None:
    """what is not there is named, and what is"""
    with pytest.raises(InputError, match=re.escape(words)):
        kill.check(BOOTS_KILL, cluster, how, core)


def test_lost_already() -> None:
    """a cluster is lost once, until it starts again"""
    with pytest.raises(Failure, match="cluster 1 is lost already: its kernel panicked"):
        kill.check([*BOOTS_KILL, LOST], 1, "hang")
    assert kill.check([*BOOTS_KILL, LOST, BOOTS_KILL[1]], 1, "hang") == BOOTS_KILL[1]
    with pytest.raises(Failure, match="no cluster has started"):
        kill.check([], 0, "panic")
    with pytest.raises(Failure, match="no ledger"):
        kill.check([event("boot", cluster=0, cores=1, ledger=0)], 0, "panic")


def test_order_kill() -> None:
    """the word is written where ledger.h has it"""
    written: list[tuple[int, int]] = []
    kill.order(lambda address, word: written.append((address, word)), BOOTS_KILL[1], "hang-core", 1)
    assert written == [(0x7000 + 128, 0x6B696C6C_00000103)]


class _Stub:
    """QEMU's debugger, as far as it is used."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers
        self.packets: list[str] = []
        self.commands: list[str] = []

    def human(self, line: str) -> str:
        self.commands.append(line)
        if match := re.match(r"gdbserver unix:([^,]+),", line):
            self._listen(socket.socket(socket.AF_UNIX), match[1])
        elif match := re.match(r"gdbserver tcp:127.0.0.1:(\d+),", line):
            self._listen(socket.socket(), ("127.0.0.1", int(match[1])))
        return ""

    def _listen(self, server: socket.socket, place: str | tuple[str, int]) -> None:
        server.bind(place)
        server.listen()
        threading.Thread(target=self._serve, args=(server,), daemon=True).start()

    def _serve(self, server: socket.socket) -> None:
        connection, _ = server.accept()
        with server, connection:
            while data := connection.recv(4096):
                for packet in re.findall(rb"\$([^#]*)#", data):
                    self.packets.append(packet.decode())
                    text = self.answers.get(packet[:1].decode(), "OK")
                    connection.sendall(f"+${text}#{sum(text.encode()) & 0xFF:02x}".encode())


@pytest.mark.parametrize("write", [gdb_remote.write_word, gdb_remote.write_word_by_port], ids=["socket", "port"])
def test_write(write: Callable[[gdb_remote.Human, int, int], None]) -> None:
    """physical memory, little-endian, and the machine goes on"""
    stub = _Stub({"?": "T05thread:01;"})
    write(stub.human, 0x7080, 0x0102030405060708)
    assert stub.packets == ["?", "Qqemu.PhyMemMode:1", "M7080,8:0807060504030201", "D"]
    assert stub.commands[-1] == "gdbserver none"


def test_write_refused() -> None:
    """an answer that is none is a line"""
    stub = _Stub({"?": "S05", "M": "E22"})
    with pytest.raises(Failure, match="answers E22 to M7080,8"):
        gdb_remote.write_word(stub.human, 0x7080, 0)
    assert stub.commands[-1] == "gdbserver none"


def test_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """wrong usage is one line"""
    monkeypatch.setattr(live, "running", list)
    assert main(["kill", "--cluster", "1"]) == 1
    assert capsys.readouterr().err == "skerry: no machine runs here; skerry run DEPLOYMENT --keep starts one\n"
    assert main(["kill"]) == 2
    assert "--cluster" in capsys.readouterr().err
    assert main(["kill", "--cluster", "1", "--how", "fire"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_remote_host() -> None:
    """a libvirt host that is another machine is refused before anything is written"""
    host = SimpleNamespace(uri="qemu+ssh://elsewhere/system", is_local=False)
    with pytest.raises(InputError, match="elsewhere.*on the host itself only"):
        write_word(SimpleNamespace(host=host), 1, 0x7080, 1)  # type: ignore[arg-type]


def test_lost_reporter() -> None:
    """of the first cluster's loss the others tell on the console, with whatever stands before"""
    lines = [Line(By.MANAGER, "[manager 0] cluster 1 is gone: its kernel panicked"),
             Line(By.MANAGER, "[manager 1] cluster 0 is")]
    hangs = [*lines, Line(By.MANAGER, "[manager 1] cluster 0 is gone: its core 1 hangs"), Line(By.ANYBODY, "y")]
    assert not lost_reporter(lines)
    assert lost_reporter(hangs) == "cluster 0, which reports for all, is lost: its core 1 hangs"
    assert not lost_reporter([Line(by, hangs[2].text) for by in (By.ANYBODY, By.KERNEL)])
    again = "[manager 1] cluster 0 stays down: it was started again 5 times in 60 s"
    down = [Line(By.MANAGER, "[manager 1] cluster 0 is gone: x"), Line(By.MANAGER, again)]
    assert not lost_reporter(down[:1], True) and lost_reporter(down,
                                                               True).endswith("is lost: it was started again 5 times "
                                                                              "in 60 s")


# ---- Tests what status and top say of clusters that were started again, and of what has moved. ----


def event_of(kind: str, **data: Any) -> Event:
    return Event(kind, {"event": kind, **data})


def memory(cluster: int, what: str, pieces: int) -> Event:
    return event_of("memory-moved", cluster=cluster, what=what, pieces=pieces, to=0)


def joined(cpu: int, cluster: int) -> Event:
    return event_of("core", what="joined", cpu=cpu, cluster=cluster)


def test_nothing() -> None:
    """a machine as its map says it is"""
    refused = [event_of("core", what="busy", cpu=3, cluster=0), event_of("core", what="left", cpu=3, cluster=0),
               memory(0, "too-little", 5)]
    assert changes.words([]) == changes.words(refused) == []


def test_restarts() -> None:
    """how often, and why the last time; the reason may be that of a loss that is not over"""
    lost = [event_of("cluster-lost", cluster=1, why=why) for why in ("its kernel panicked", "core 3 hangs")]
    back = [event_of("cluster-restarted", cluster=1, restarts=n) for n in (1, 2)]
    assert changes.words([lost[0], back[0]]) == ["cluster 1 was started again, once; lost last: its kernel panicked"]
    assert changes.words([lost[0], back[0], lost[1],
                          back[1]]) == ["cluster 1 was started again, 2 times; lost last: core 3 hangs"]
    assert changes.words([back[1]]) == ["cluster 1 was started again, 2 times"]


def test_cores() -> None:
    """where each core is now, and how often it has moved, in the order of their numbers"""
    events = [joined(5, 0), joined(3, 0), joined(5, 1)]
    assert changes.moved_cores(events) == {3: (0, 1), 5: (1, 2)}
    assert changes.words(events) == ["core 3 is cluster 0's; it has moved once",
                                     "core 5 is cluster 1's; it has moved 2 times"]
    late = [*events, event_of("cluster-restarted", cluster=1, restarts=1), joined(5, 1)]
    assert changes.moved_cores(late) == {3: (0, 1), 5: (1, 2)}  # it was late when its cluster was started again


@pytest.mark.parametrize("back", ["taken", "returned", "adopted"])
def test_memory(back: str) -> None:
    """what is given is less, what is taken, taken back or adopted is more; there and back is nothing"""
    there = [memory(1, "given", 32), memory(0, "taken", 30)]
    assert changes.moved_memory(there) == {0: 60 * MIB, 1: -64 * MIB}
    assert changes.words(there) == ["cluster 0 has 60 MiB of memory more than at boot",
                                    "cluster 1 has 64 MiB of memory less than at boot"]
    assert changes.moved_memory([*there, memory(0, "given", 30), memory(1, back, 32)]) == {}


def test_top() -> None:
    """each in a line of its own, and nothing of theirs reaches a terminal as a control"""
    lines = plain("x", True, Sample(1.0, 1.0,
                                    changes=("core 5 is cluster 0's; it has moved once", "cluster 1: \x1b[2J")))
    assert "* core 5 is cluster 0's; it has moved once" in lines and "* cluster 1: ?[2J" in lines
