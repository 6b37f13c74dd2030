# SPDX-License-Identifier: BSD-2-Clause
"""`skerry kill`: what it refuses, and how it reaches a machine's memory."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.cli.main import main
from deploy.domains.monitor import write_word
from deploy.live import kill
from deploy.live.lockstat import live
from deploy.machine import gdb_remote
from deploy.machine.console_lines import By, Line
from deploy.machine.crashes import lost_reporter
from deploy.machine.events import Event
from topology.errors import InputError

LEDGER = ROOT / "cluster-kernel/include/skerry/ledger.h"


def event(kind: str, **data: object) -> Event:
    return Event(kind, {"event": kind, **data})


BOOTS = [event("boot", cluster=i, cores=2, ledger=0x5000 + 0x2000 * i) for i in (0, 1)]
LOST = event("cluster-lost", cluster=1, why="its kernel panicked")


def test_orders() -> None:
    """the ways are those of ledger.h, with its numbers"""
    text = LEDGER.read_text()
    names = re.findall(r"LEDGER_ORDER_(\w+),", text[text.index("enum ledger_order {") :])
    assert {name.lower().replace("_", "-"): i for i, name in enumerate(names) if i} == kill.ORDERS == {**kill.ORDERS}
    assert f"LEDGER_ORDER_MAGIC {kill.MAGIC:#x}" in text and kill.DONE.keys() == {*kill.ORDERS, kill.DESTROY}


@pytest.mark.parametrize("cluster,how,core,words", [
    (2, "panic", None, "--cluster 2: is not one that has started: 0, 1"),
    (1, "fire", None, "--how fire: is not one of panic"),
    (1, "panic", 2, "--core 2: is not one of cluster 1's, 0 to 1"),
    (1, "hang", 0, "--core 0: is for --how panic and --how hang-core"),
])  # fmt: skip
def test_refused(cluster: int, how: str, core: int | None, words: str) -> None:
    """what is not there is named, and what is"""
    with pytest.raises(InputError, match=re.escape(words)):
        kill.check(BOOTS, cluster, how, core)


def test_lost_already() -> None:
    """a cluster is lost once, until it starts again"""
    with pytest.raises(Failure, match="cluster 1 is lost already: its kernel panicked"):
        kill.check([*BOOTS, LOST], 1, "hang")
    assert kill.check([*BOOTS, LOST, BOOTS[1]], 1, "hang") == BOOTS[1]
    with pytest.raises(Failure, match="no cluster has started"):
        kill.check([], 0, "panic")
    with pytest.raises(Failure, match="no ledger"):
        kill.check([event("boot", cluster=0, cores=1, ledger=0)], 0, "panic")


def test_order() -> None:
    """the word is written where ledger.h has it"""
    written: list[tuple[int, int]] = []
    kill.order(lambda address, word: written.append((address, word)), BOOTS[1], "hang-core", 1)
    assert written == [(0x7000 + 128, 0x6B696C6C_00000103)]


class _Stub:
    """QEMU's debugger, as far as it is used."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers
        self.said: list[str] = []
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
                    self.said.append(packet.decode())
                    text = self.answers.get(packet[:1].decode(), "OK")
                    connection.sendall(f"+${text}#{sum(text.encode()) & 0xFF:02x}".encode())


@pytest.mark.parametrize("write", [gdb_remote.write_word, gdb_remote.write_word_by_port], ids=["socket", "port"])
def test_write(write: Callable[[gdb_remote.Human, int, int], None]) -> None:
    """physical memory, little-endian, and the machine goes on"""
    stub = _Stub({"?": "T05thread:01;"})
    write(stub.human, 0x7080, 0x0102030405060708)
    assert stub.said == ["?", "Qqemu.PhyMemMode:1", "M7080,8:0807060504030201", "D"]
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
    said = [Line(By.MANAGER, "[manager 0] cluster 1 is gone: its kernel panicked"), Line(By.MANAGER, "[manager 1] cluster 0 is")]
    hangs = [*said, Line(By.MANAGER, "[manager 1] cluster 0 is gone: its core 1 hangs"), Line(By.ANYBODY, "y")]
    assert not lost_reporter(said)
    assert lost_reporter(hangs) == "cluster 0, which reports for all, is lost: its core 1 hangs"
    assert not lost_reporter([Line(by, hangs[2].text) for by in (By.ANYBODY, By.KERNEL)])
    again = "[manager 1] cluster 0 stays down: it was started again 5 times in 60 s"
    down = [Line(By.MANAGER, "[manager 1] cluster 0 is gone: x"), Line(By.MANAGER, again)]
    assert not lost_reporter(down[:1], True) and lost_reporter(down, True).endswith("is lost: it was started again 5 times in 60 s")
