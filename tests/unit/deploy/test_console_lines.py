# SPDX-License-Identifier: BSD-2-Clause
"""Lines of a console, and which of them a program could have written."""

from __future__ import annotations

import random
import re
import tracemalloc
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.deployment import Deployment, Program, Redis
from deploy.deployment.planner import plan
from deploy.machine import backtrace
from deploy.machine.console_lines import By, ConsoleLines, Line, lines, lines_by
from deploy.machine.crashes import death, lost_reporter, telling
from deploy.machine.events import Event

GONE = "[manager 0] cluster 0 is gone: forged"
SOH, STX = By.MANAGER.value, By.KERNEL.value
KERNEL = f"{STX}kernel: thread without fault handler stopped: fault 1 rip 0x0\n"
FORGED = (
    f"[evil@1] {GONE}\n"
    f"[evil@1] x\r{GONE}\n"  # never written so: managers replace control characters
    f"[evil@1] x\u2028{GONE}\n[evil@1] x\x85{GONE}\n"  # ends of lines to str.splitlines()
    f"[evil@1] x{KERNEL}{GONE}\n"  # a kernel's line within, which the program brings about
    f"[evil@1] x{KERNEL}[redis@2] forged\n"
    f"[evil@1] x{STX}\n{KERNEL}kernel panic: cluster 0 core 0: forged\n"
    f"[evil@1] x{STX}{GONE}\nkernel: thread stopped\n"  # another cluster's kernel is interrupted behind its mark
    f"[evil@1] x{STX}kernel panic: cluster 0 core 0: forged\nkernel: thread stopped\n"
    "[evil@1] kernel panic: cluster 0 core 0: forged\n"
)


def test_lines_of_a_long_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """a console is read piece by piece, wherever it is cut, and takes little room beside its text"""
    whole = list(lines(FORGED * 20))
    monkeypatch.setattr("deploy.machine.console_lines._PIECE", 7)
    assert list(lines(FORGED * 20)) == whole
    monkeypatch.setattr("deploy.machine.console_lines._PIECE", 1000)
    text = "\n" * 50_000
    tracemalloc.start()
    assert sum(1 for _ in lines(text)) == len(text)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < len(text)


def pieces(text: str, seed: int) -> list[str]:
    dice, found = random.Random(seed), []
    while text:
        size = dice.randrange(1, 20)
        found.append(text[:size])
        text = text[size:]
    return found


def test_mark() -> None:
    """the marks are those that managers and kernels write, and no program's byte becomes one"""
    header = (ROOT / "cluster-kernel/include/skerry/console.h").read_text()
    found = dict(re.findall(r"#define CONSOLE_(\w+) '\\x(\w\w)'", header))
    assert {name: chr(int(value, 16)) for name, value in found.items()} == {"MANAGER": SOH, "KERNEL": STX}
    assert "(c < 0x20 && c != '\\t') || c == 0x7f ? '?'" in (ROOT / "cluster-manager/root/output/console.c").read_text()


def test_whole_lines() -> None:
    """a line goes on behind what another writer has put into it, however the text comes"""
    text = f"loader\n{SOH}[manager 0] al{STX}kernel: a\nl\r\n[a@1] be{STX}kernel: b\nfore\n{STX}last"
    wanted = [
        Line(By.ANYBODY, "loader", 1), Line(By.KERNEL, "kernel: a", 2), Line(By.MANAGER, "[manager 0] all", 3), Line(By.KERNEL, "kernel: b", 4),
        Line(By.ANYBODY, "[a@1] before", 5), Line(By.KERNEL, "last", 6),
    ]
    assert list(lines(text)) == wanted
    for seed in range(20):
        reader = ConsoleLines()
        assert [line for piece in pieces(text, seed) for line in reader.feed(piece)] + list(reader.end()) == wanted


def test_cut_off() -> None:
    """writers that were cut off cost the lines that they stood in, no memory, and no program gets a line of theirs"""
    reader = ConsoleLines()
    for number in range(1000):
        found = list(reader.feed(f"[a@1] {number}{STX}kernel: cut"))
        assert not found and len(reader._open) <= 8
    found = list(reader.feed("\n" * 8 + "[b@1] whole\n"))
    assert found[-1] == Line(By.ANYBODY, "[b@1] whole", 9)


def test_forged() -> None:
    """nothing that a program writes, or has a kernel write, is taken for a kernel's or a manager's"""
    assert not lines_by(By.MANAGER, FORGED) and not lost_reporter(lines(FORGED)) and not backtrace.explain(FORGED, {0: Path("kernel")})
    lost = f"{FORGED}{SOH}[manager 1] cluster 0 is gone: its core 1 hangs\n"
    assert lost_reporter(lines(lost)).endswith("is lost: its core 1 hangs")
    assert telling(FORGED, "redis@2") == []


@pytest.mark.parametrize("mark, said", [(SOH, "its heap (error 3)"), ("[own@1] ", "error 7")], ids=["manager", "program"])
def test_failed(mark: str, said: str) -> None:
    """why a program could not be started is what its manager says of it"""
    what = plan(Deployment(redis=Redis(), programs=(Program("crash", 1, args=("null",)),)))
    name = next(a.name for a in what.cluster_map.applications if a.base_name == "crash")
    console = f"{mark}[manager 0] {name} cannot be started: its heap (error 3)\n"
    assert str(death(Event("failed", {"app": name, "error": 7}), what, console)) == f"{name} could not be started: {said}"


def test_panic() -> None:
    """a kernel's panic is told with its backtrace, whatever line it came into"""
    console = f"[a@1] wo{STX}\n{STX}kernel panic: cluster 1 core 2: why\n{STX}  core 0: idle\n{STX}  backtrace: 0x{1:016x}\nrd\n"
    assert backtrace.explain(console, {1: Path("none")}) == ["kernel panic in cluster 1, core 2: why"]
    assert list(lines(console))[-1] == Line(By.ANYBODY, "[a@1] word", 5)
