# SPDX-License-Identifier: BSD-2-Clause
"""Tests what commands print, and their warnings."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import BUILD, ROOT
from deploy.base.terminal import Output
from deploy.cli.commands.machine.run import addresses
from deploy.emulator.machine_file import chosen
from deploy.machine.qemu import Forward
from deploy.setup import build, packages
from deploy.setup.needs import Needs
from deploy.tools import doctor
from topology.errors import InputError

# ---- Where a command's words go, and that a terminal shows them whole ----

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
    with subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, stdin=child, stdout=child,
                          stderr=child) as process:
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
    forwards = [Forward(name, "10.0.2.1", 6379, port)
                for name, port in (("redis@10", 5), ("redis@3", 4), ("redis@4", 3), ("redis@2", 2))]
    assert addresses(forwards, {"redis@4"}) == ["  redis@2: 127.0.0.1:2", "  redis@3: 127.0.0.1:4",
                                                "  redis@10: 127.0.0.1:5"]


def test_in_brief() -> None:
    """an emulator's last words fit a row of doctor, and say where all of them are"""
    assert doctor.in_brief("it booted\n  both clusters") == "it booted both clusters"
    said = doctor.in_brief("qemu: " + 100 * "kvm_init failed ")
    assert len(said.partition(" (all of it: ")[0]) == 120 and "build/log" in said


@pytest.mark.parametrize("option", ["--cores", "--sockets"])
def test_fewer_cores_of_a_modelled_machine(option: str) -> None:
    """that a modelled machine's cores are in its file is said with what to do"""
    with pytest.raises(InputError, match="copy emulator/machines/xeon-e5-2683v3.toml, change sockets or "
                       "cores_per_cluster, and name the copy"):
        chosen("xeon-e5-2683v3", False, {option: 4})


# ---- Compilers' warnings are errors where it is asked for ----

def test_warnings_are_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a build is configured anew for warnings to be errors, once; a build that has them stays so"""
    ran: list[list[str]] = []

    def run(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0)

    def meson_says(value: bool) -> None:
        (tmp_path / "meson-info" / "intro-buildoptions.json").write_text(
            json.dumps([{"name": "werror", "value": value}]))

    for folder, file in (("", "build.ninja"), ("meson-private", "coredata.dat")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).touch()
    (tmp_path / "meson-info").mkdir()
    monkeypatch.setattr(build.subprocess, "run", run)
    monkeypatch.setattr(packages, "present", lambda: set())
    for name in ("BUILD", "LOGS"):
        monkeypatch.setattr(build, name, tmp_path)
    monkeypatch.setattr(build, "CONFIGURED", tmp_path / "configured")
    build.CONFIGURED.write_text("")
    meson_says(False)
    build.configure(Output(quiet=True), Needs())
    assert ran == []
    build.configure(Output(quiet=True), Needs(), werror=True)
    assert ran == [["meson", "setup", "--reconfigure", str(tmp_path), str(ROOT), "-Dwerror=true"]]
    meson_says(True)
    for werror in (True, False):
        build.configure(Output(quiet=True), Needs(), werror)
    assert len(ran) == 1


def test_every_command_warns() -> None:
    """what Meson does not know to be a compiler gets the same warnings, and has them as errors where Meson's have"""
    found = [path for path in ROOT.rglob("meson.build") if not path.is_relative_to(BUILD)]
    assert [str(path) for path in found if path.parent != ROOT
            and re.search("'-(Wall|Wextra|Werror)'", path.read_text())] == []
    assert sum("warning_args" in path.read_text() for path in found) > 3
