# SPDX-License-Identifier: BSD-2-Clause
"""What `run` shows of the programs of a user's."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from deploy.base.terminal import Output
from deploy.cli.commands.domains import logs
from deploy.deployment import Deployment, Program, Redis
from deploy.deployment.planner import Plan, plan
from deploy.machine.console import ConsoleText, ProgramOutput

CONSOLE = """\
skerry loader: 4 cores up, leaving
[manager 0] the run is over
[own@0] fir\x02kernel: thread stopped
st
[redis@2] * Ready to accept connections
[own@0]   indented \x1b[31mred
[own@0x] is nobody
[other@1] [own@0] second-hand
own@0] no mark
[own@0] without an end"""


@pytest.fixture
def what(tmp_path: Path) -> Plan:
    (tmp_path / "own.elf").write_bytes(b"\x7fELF")
    own = Program("own", 0, elf=tmp_path / "own.elf", name="own", barrier=False)
    return plan(Deployment(redis=Redis(), programs=(own, Program("crash", 1, args=("null",), name="other"))))


def test_lines(what: Plan) -> None:
    """lines of own programs are said whole and once, however the console comes, without what a terminal would obey"""
    own = next(a.name for a in what.cluster_map.applications if a.base_name == "own")
    console = CONSOLE.replace("own@0]", f"{own}]")
    for seed in range(20):
        said: list[str] = []
        spoken, dice, at = ProgramOutput(what, said.append), random.Random(seed), 0
        while at < len(console):
            size = dice.randrange(1, 30)
            spoken.feed(console[at:at + size])
            at += size
        spoken.end()
        assert said == [f"[{own}] first", f"[{own}]   indented ?[31mred", f"[{own}] without an end"]


def test_console() -> None:
    """the whole console is shown without what a terminal would obey, however it comes: nothing clears the screen"""
    console = "\x1b[H\x1b[J\x1b[1;1H\x01  Boo\x02ting `x'\r\n[own@0]\t\x1b[1;31mred\x1b[m [\x07\x1b]0;title\x1b"
    for seed in range(20):
        shown: list[str] = []
        console_shown, dice, at = ConsoleText(shown.append), random.Random(seed), 0
        while at < len(console):
            size = dice.randrange(1, 8)
            console_shown.feed(console[at:at + size])
            at += size
        console_shown.end()
        assert "".join(shown) == "  Booting `x'\n[own@0]\tred [??]0;title?"


class Grows:
    """A deployment whose console grows by a piece at each look, and then ends."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces, self.text = pieces, b""
        self.storage = self.record = self
        self.machines, self.console = 1, "console.log"

    def member(self, cluster: int | None) -> Grows:
        return self

    def is_active(self) -> bool:
        return bool(self.pieces)

    def read(self, name: str, offset: int = 0) -> bytes:
        self.text += self.pieces.pop(0) if self.pieces else b""
        return self.text[offset:]

    def size(self, name: str) -> int:
        return len(self.text)


@pytest.mark.parametrize("seed", range(10))
def test_logs(seed: int, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`logs` has the filter of `run -v`: what a client lets a program log cannot set the terminal's title or clipboard"""
    console = "\x1b[H\x1b[2Jup\r\n[redis@2] \x1b]0;title\x1b\\\x1b]52;c;aGk=\x07\x1bP1$r\x1b\\\x1bc\x9b1mü\n[own] \x1b[31mend".encode()
    dice, pieces = random.Random(seed), []
    while console:
        size = dice.randrange(1, 9)
        pieces.append(console[:size])
        console = console[size:]
    monkeypatch.setattr(logs, "POLL", 0)
    log = logs._Log(Grows(pieces), None, False, None, Output(json_to=str(tmp_path / "told")))  # type: ignore[arg-type]
    log.print(follow=True)
    shown = "up\n[redis@2] ?]0;title?\\?]52;c;aGk=??P1$r?\\?c?1mü\n[own] end"
    assert capsysbinary.readouterr().out.decode() == shown
    assert log.data() == {"lines": shown.split("\n")}


def test_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    """a line is printed as it is: no word between colons becomes a picture, none between brackets a colour"""
    Output().line("root:x:0:0 [bold]")
    assert capsys.readouterr().out == "root:x:0:0 [bold]\n"
