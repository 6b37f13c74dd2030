# SPDX-License-Identifier: BSD-2-Clause
"""What `run` shows of the programs of a user's."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from deploy.commands import logs
from deploy.deployment import Deployment, Program, Redis
from deploy.expand import Plan, plan
from deploy.output import Output
from deploy.program_output import ConsoleText, ProgramOutput

CONSOLE = """\
skerry loader: 4 cores up, leaving
[manager 0] the run is over
[own@0] first
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
    console = "\x1b[H\x1b[J\x1b[1;1H  Booting `x'\r\n[own@0]\t\x1b[1;31mred\x1b[m [\x07\x1b]0;title\x1b"
    for seed in range(20):
        shown: list[str] = []
        console_shown, dice, at = ConsoleText(shown.append), random.Random(seed), 0
        while at < len(console):
            size = dice.randrange(1, 8)
            console_shown.feed(console[at:at + size])
            at += size
        console_shown.end()
        assert "".join(shown) == "  Booting `x'\n[own@0]\tred [??]0;title?"


def test_logs() -> None:
    """`logs` takes the same sequences out of a console that it reads as bytes"""
    assert logs.CONTROL.sub("", "\x1b[H\x1b[2Jup") == logs.CONTROL_BYTES.sub(b"", b"\x1b[H\x1b[2Jup").decode() == "up"


def test_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    """a line is printed as it is: no word between colons becomes a picture, none between brackets a colour"""
    Output().line("root:x:0:0 [bold]")
    assert capsys.readouterr().out == "root:x:0:0 [bold]\n"
