# SPDX-License-Identifier: BSD-2-Clause
"""A terminal on a domain's console, until Ctrl-] or the machine's end."""

import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from deploy.domains.connection import explained
from deploy.domains.member import Member

LEAVE = b"\x1d"  # Ctrl-]
CHUNK = 4096
TICK_MS = 200  # how late a vanished domain is noticed


class Console:
    """`force` takes the console from whoever has it."""

    def __init__(self, domain: Member, force: bool = False) -> None:
        self._lib = domain.host.lib
        self._raw = domain.raw
        self._force = force
        self._stream: Any = None
        self._to_send = b""
        self._open = True

    def attach(self, opened: Callable[[], None]) -> None:
        """Calls `opened` when nothing that the machine says can be missed any more."""
        lib = self._lib
        with explained(f"{self._raw.name()}: console"):
            self._stream = self._raw.connect().newStream(lib.VIR_STREAM_NONBLOCK)
            self._raw.openConsole(None, self._stream, lib.VIR_DOMAIN_CONSOLE_FORCE if self._force else 0)
        opened()
        self._stream.eventAddCallback(lib.VIR_STREAM_EVENT_READABLE, self._on_stream, None)
        watch = lib.virEventAddHandle(sys.stdin.fileno(), lib.VIR_EVENT_HANDLE_READABLE, self._on_key, None)
        timer = lib.virEventAddTimeout(TICK_MS, self._on_tick, None)
        try:
            with _raw_terminal():
                while self._open:
                    lib.virEventRunDefaultImpl()
        finally:
            lib.virEventRemoveTimeout(timer)
            lib.virEventRemoveHandle(watch)
            self._finish()

    def _finish(self) -> None:
        for end in (self._stream.eventRemoveCallback, self._stream.abort):
            try:
                end()
            except self._lib.libvirtError:
                pass  # the domain was faster

    def _on_stream(self, stream: Any, events: int, _: object) -> None:
        lib = self._lib
        try:
            if events & lib.VIR_STREAM_EVENT_WRITABLE:
                self._send()
            if events & lib.VIR_STREAM_EVENT_READABLE:
                data = stream.recv(CHUNK)
                if data == b"":
                    self._open = False
                elif data != -2:  # -2: nothing there after all
                    os.write(sys.stdout.fileno(), data)
        except lib.libvirtError:
            self._open = False
        if events & (lib.VIR_STREAM_EVENT_ERROR | lib.VIR_STREAM_EVENT_HANGUP):
            self._open = False

    def _on_key(self, watch: int, _: int, __: int, ___: object) -> None:
        data = os.read(sys.stdin.fileno(), CHUNK)
        before, leave, _rest = data.partition(LEAVE)
        if leave or not data:
            self._open = False
        self._to_send += before
        self._send()

    def _send(self) -> None:
        """Sends what fits now; the rest follows when the stream says that it can."""
        lib = self._lib
        try:
            while self._to_send:
                count = self._stream.send(self._to_send)
                if count == -2:
                    break
                self._to_send = self._to_send[count:]
        except lib.libvirtError:
            self._open = False
            return
        more = lib.VIR_STREAM_EVENT_WRITABLE if self._to_send else 0
        self._stream.eventUpdateCallback(lib.VIR_STREAM_EVENT_READABLE | more)

    def _on_tick(self, _: int, __: object) -> None:
        try:
            self._open = self._open and bool(self._raw.isActive())
        except self._lib.libvirtError:
            self._open = False


@contextmanager
def _raw_terminal() -> Iterator[None]:
    """Keys go through as they are; where there is no terminal, so does what stands in for it."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
