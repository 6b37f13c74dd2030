# SPDX-License-Identifier: BSD-2-Clause
"""The terminal: its other screen while we draw, its keys as they are pressed, and as it was before when we go."""

import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from deploy.base.errors import Failure
from deploy.live.top.view import COLUMNS, INTERVALS, VIEWS, State

QUIT = "q"
_NAMES = {
    **{"\x1b[A": "up", "\x1b[B": "down", "\x1b[5~": "page-up", "\x1b[6~": "page-down", "\x1b[H": "home",
       "\x1b[F": "end"},
    **{"\x1bOA": "up", "\x1bOB": "down", "\x1bOH": "home", "\x1bOF": "end", "\x1b[1~": "home", "\x1b[4~": "end"},
    **{"k": "up", "j": "down", "\t": "v", " ": "p", "?": "h", "=": "+", "Q": "q"},
}
_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|[^\x1b]|\x1b")


def decode(text: str) -> list[str]:
    """Names of the keys in what a terminal sent."""
    return [_NAMES.get(key, key) for key in _KEY.findall(text)]


def press(state: State, key: str, rows: int, page: int) -> State:
    """`rows`: how many the view has; `page`: how many of them are seen. Keys that mean nothing do nothing."""
    last = max(0, rows - page)
    moves = {"up": -1, "down": 1, "page-up": -max(1, page), "page-down": max(1, page), "home": -rows, "end": rows}
    if key in moves:
        return replace(state, scroll=min(last, max(0, min(state.scroll, last) + moves[key])))
    if key == "h":
        return replace(state, help=not state.help, scroll=0)
    if key == "v":
        return state.with_view(VIEWS[(VIEWS.index(state.view) + 1) % len(VIEWS)])
    if len(key) == 1 and key in "1234":
        return state.with_view(VIEWS[int(key) - 1])
    if key == "s":
        column = (state.sorted_by + 1) % len(COLUMNS[state.view])
        return replace(state, sort=state.sort | {state.view: column}, reverse=False, scroll=0)
    if key == "r":
        return replace(state, reverse=not state.reverse, scroll=0)
    if key == "p":
        return replace(state, paused=not state.paused)
    if key == "+":
        return replace(state, interval=min((i for i in INTERVALS if i > state.interval), default=state.interval))
    if key == "-":
        return replace(state, interval=max((i for i in INTERVALS if i < state.interval), default=state.interval))
    return state


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
