# SPDX-License-Identifier: BSD-2-Clause
"""The terminal: its other screen while we draw, its keys as they are pressed, and as it was before when we go."""

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from deploy.base.errors import Failure

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"  # the other screen, no cursor
_LEAVE = "\x1b[?25h\x1b[?1049l"
_CHUNK = 1024
_UNKNOWN = 80, 24


def is_one() -> bool:
    """Whether there is somebody to look and to press keys."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Terminal:
    def size(self) -> tuple[int, int]:
        """Columns and lines, as of now; what the environment says of them is of before."""
        try:
            width, height = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            width = height = 0
        return (width, height) if width and height else _UNKNOWN

    def draw(self, lines: Sequence[str]) -> None:
        """Draws as many lines as fit. Each line is emptied before it is written: behind its last column some terminals
        would take the last character along; and no line feed follows the last, which would scroll."""
        text = "\r\n".join(f"\x1b[K{line}" for line in lines)
        _write(f"\x1b[H{text}")

    def keys(self, seconds: float) -> str | None:
        """Returns what was typed within that time, "" for nothing; None when the terminal is gone."""
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, seconds))
        if not ready:
            return ""
        try:
            data = os.read(sys.stdin.fileno(), _CHUNK)
        except OSError:
            return None
        return data.decode("utf-8", "replace") or None


def _write(text: str) -> None:
    data = text.encode("ascii", "replace")
    try:
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]
    except OSError as error:
        raise Failure(f"the terminal is gone: {error.strerror}") from error


@contextmanager
def opened() -> Iterator[Terminal]:
    """Whatever ends it, the terminal is what it was."""
    sys.stdout.flush()
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    suspend = signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # a shell would find our screen and our keys
    try:
        tty.setcbreak(file)
        _write(_ENTER)
        yield Terminal()
    finally:
        try:
            _write(_LEAVE)
        except Failure:
            pass
        try:
            termios.tcsetattr(file, termios.TCSADRAIN, before)
        except termios.error:
            pass  # it is gone
        signal.signal(signal.SIGTSTP, suspend)
