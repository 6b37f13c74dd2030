# SPDX-License-Identifier: BSD-2-Clause
"""Edge-triggered epoll of sockets: the same program in the machine and on this host's Linux.

Of sockets in a stack process `net/test/test-sockets-edges.c` tests the same.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from deploy.base.paths import BUILD
from deploy.deployment.reader import parse
from tests.boot.machine import machine

EDGES = BUILD / "tests" / "programs" / "edges"
DEPLOYMENT = f"""
shutdown = "when-done"
[machine]
sockets = 1
cores = 2
[[program]]
elf = "{EDGES}.elf"
name = "edges"
cpu = 1
network = true
heap = "64M"
"""


def said(console: str, name: str) -> list[str]:
    """The lines of a program."""
    mark = f"[{name}@"
    return [line.split("] ", 1)[1].strip() for line in console.splitlines() if line.startswith(mark)]


@pytest.mark.limit(150)
def test_edges(tmp_path: Path) -> None:
    """an edge-triggered epoll tells of sockets what Linux tells: more data, connections, room and ends"""
    linux = subprocess.run([f"{EDGES}-linux"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    with machine(parse(DEPLOYMENT, "edges.toml", tmp_path)) as run:
        run.wait_done()
        assert said(run.console, "edges") == linux
        assert all(end["status"] == 0 for end in run.events.of("exit"))
