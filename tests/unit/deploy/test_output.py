# SPDX-License-Identifier: BSD-2-Clause
"""Where a command's words go, and that a terminal shows them whole."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from deploy.base.paths import ROOT
from deploy.cli.commands.machine.run import addresses
from deploy.emulator.machine_file import chosen
from deploy.machine.qemu import Forward
from deploy.tools import doctor
from topology.errors import InputError

PROGRAM = """
from rich.table import Table
from deploy.base.terminal import Output
output = Output()
with output.progress("Booting", total=2) as update:
    for number in range(20):
        update(completed=number % 2)
        output.line(f"redis@{number} serves at 127.0.0.1:34931")
    output.prose("a paragraph")
    table = Table("a column")
    table.add_row("a row")
    output.table(table)
output.line("the last line")
"""


def test_results_and_progress_share_a_terminal() -> None:
    """a line, a paragraph and a table stand whole above the bar, whose line is erased first"""
    parent, child = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, stdin=child, stdout=child, stderr=child) as process:
        os.close(child)
        text = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
        assert process.wait() == 0, text
    os.close(parent)
    for words in (*(b"redis@%d serves at 127.0.0.1:34931\r\n" % number for number in range(20)), b"a paragraph\r\n"):
        before, found, _ = text.partition(words)
        assert found and before.endswith((b"\x1b[2K", b"\n")), (words, before[-60:])
    assert b"Booting" in text and text.rstrip().endswith(b"the last line")


def test_addresses() -> None:
    """addresses stand in the order of the programs' numbers, without those that wait or have no port of the host"""
    forwards = [Forward(name, "10.0.2.1", 6379, port) for name, port in (("redis@10", 5), ("redis@3", 4), ("redis@4", 3), ("redis@2", 2))]
    assert addresses(forwards, {"redis@4"}) == ["  redis@2: 127.0.0.1:2", "  redis@3: 127.0.0.1:4", "  redis@10: 127.0.0.1:5"]


def test_in_brief() -> None:
    """an emulator's last words fit a row of doctor, and say where all of them are"""
    assert doctor.in_brief("it booted\n  both clusters") == "it booted both clusters"
    said = doctor.in_brief("qemu: " + 100 * "kvm_init failed ")
    assert len(said.partition(" (all of it: ")[0]) == 120 and "build/log" in said


@pytest.mark.parametrize("option", ["--cores", "--sockets"])
def test_fewer_cores_of_a_modelled_machine(option: str) -> None:
    """that a modelled machine's cores are in its file is said with what to do"""
    with pytest.raises(InputError, match="copy emulator/machines/xeon-e5-2683v3.toml, change sockets or cores_per_cluster, and name the copy"):
        chosen("xeon-e5-2683v3", False, {option: 4})
