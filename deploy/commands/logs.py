# SPDX-License-Identifier: BSD-2-Clause
"""`skerry logs`."""

import os
import re
import sys
import time
from typing import Annotated

import typer

from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.deployed import Deployed
from deploy.domains.options import URI, Connect, OptionalName
from deploy.domains.storage import CONSOLE, EVENTS, require

Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on until the machine ends, or Ctrl-C.")]
Lines = Annotated[int | None, typer.Option("--lines", "-n", metavar="N", min=0, help="Only the last N lines.")]
Events = Annotated[bool, typer.Option("--events", help="What the managers report, as JSON lines, not the console.")]

POLL = 0.3  # seconds
CONTROL = re.compile(rb"\x1b\[[0-9;=?]*[A-Za-z]")  # firmware and GRUB clear the screen


def logs(
    name: OptionalName = None, connect: Connect = URI, follow: Follow = False, lines: Lines = None, events: Events = False
) -> None:
    """Print what a deployment wrote to its console since it was started."""
    try:
        _print(name, connect, follow, lines, EVENTS if events else CONSOLE)
    except KeyboardInterrupt:
        if not follow:
            raise
    except BrokenPipeError:  # head has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print(name: str | None, connect: str, follow: bool, lines: int | None, file: str) -> None:
    with Connection(connect) as host:
        one = deployed.pick(host, name)
        require(one.storage)
        text = one.storage.read(file)
        _write(text if lines is None else b"".join(text.splitlines(keepends=True)[-lines:] if lines else []))
        if follow:
            _follow(one, file, len(text))


def _follow(one: Deployed, file: str, offset: int) -> None:
    while True:
        running = one.raw.isActive()  # before reading: what is read then is all of it
        size = one.storage.size(file)
        if size < offset:  # begun anew
            offset = 0
        fresh = one.storage.read(file, offset)
        _write(fresh)
        offset += len(fresh)
        if not running:
            return
        time.sleep(POLL)


def _write(text: bytes) -> None:
    sys.stdout.buffer.write(CONTROL.sub(b"", text))
    sys.stdout.buffer.flush()
