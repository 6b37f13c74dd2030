# SPDX-License-Identifier: BSD-2-Clause
"""`skerry logs`."""

import codecs
import os
import sys
import time
from typing import Annotated, Any, BinaryIO

from deploy.base.choices import option
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.deployed import Deployed
from deploy.domains.options import URI, Cluster, Connect, OptionalName
from deploy.domains.storage import EVENTS, require
from deploy.machine.console import ConsoleText
from deploy.machine.events import EventStream
from topology.errors import InputError

POLL = 0.3  # seconds


def logs(
    name: OptionalName = None,
    connect: Connect = URI,
    cluster: Cluster = None,
    follow: Annotated[bool, option("--follow -f", "Go on until the machine ends, or Ctrl-C.")] = False,
    lines: Annotated[int | None, option("--lines -n N", "Only the last N lines.", 0)] = None,
    events: Annotated[bool, option("--events", "What the managers report, as JSON lines, not the console.")] = False,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Print what a deployment wrote to its console since it was started.

    --json writes its lines, or with --events the managers' reports; with --json - standard output has nothing else.
    """
    if events and cluster is not None:
        raise InputError("--cluster", "is for the console; the managers' reports are those of all clusters")
    output = Output(quiet, json)
    log: _Log | None = None
    try:
        with Connection(connect) as host:
            one = deployed.pick(host, name)
            require(one.storage)
            log = _Log(one, cluster, events, lines, output)
            log.print(follow)
    except KeyboardInterrupt:
        if not follow:
            raise
    except BrokenPipeError:  # head has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if log:
        output.results({"skerry": version(), "command": "logs", "connect": connect, "name": log.one.name, **log.data()})


class _Log:
    """A file that grows while it is printed."""

    def __init__(self, one: Deployed, cluster: int | None, events: bool, lines: int | None, output: Output) -> None:
        self.one = one
        self.events = events
        self.member = one.member(cluster)
        self._file = EVENTS if events else self.member.record.console
        self._lines = lines
        self._keep = output.json_to is not None
        self._to: BinaryIO = sys.stderr.buffer if output.json_to == "-" else sys.stdout.buffer
        self._told = b""
        self._shown: list[str] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character can come in two pieces
        self._text = ConsoleText(self._show)
        others = one.record.machines - 1
        if others and cluster is None and not events:
            output.step(f"Of cluster 0; --cluster 1{f' to {others}' if others > 1 else ''} has what the "
                        f"other{'s' * (others > 1)} wrote")

    def print(self, follow: bool) -> None:
        text = self.one.storage.read(self._file)
        lines = text.splitlines(keepends=True)
        self._write(b"".join(lines if self._lines is None else lines[max(0, len(lines) - self._lines) :]))
        if follow:
            self._follow(len(text))
        self._end()

    def _follow(self, offset: int) -> None:
        while True:
            running = self.member.is_active()  # before reading: what is read then is all of it
            size = self.one.storage.size(self._file)
            if size < offset:  # begun anew
                offset = 0
            fresh = self.one.storage.read(self._file, offset)
            self._write(fresh)
            offset += len(fresh)
            if not running:
                return
            time.sleep(POLL)

    def _write(self, text: bytes) -> None:
        if self._keep:
            self._told += text
        self._text.feed(self._decoder.decode(text))

    def _show(self, text: str) -> None:
        """Shows text with all that a terminal would obey made visible."""
        if self._keep:
            self._shown.append(text)
        self._to.write(text.encode())
        self._to.flush()

    def _end(self) -> None:
        self._text.feed(self._decoder.decode(b"", final=True))
        self._text.end()

    def data(self) -> dict[str, Any]:
        """An object for each event; of a console its lines."""
        if self.events:
            stream = EventStream()
            stream.feed(self._told)
            return {"events": [event.data for event in stream.events]}
        which = {"cluster": self.member.record.machine} if self.one.record.machines > 1 else {}
        return which | {"lines": "".join(self._shown).splitlines()}
