# SPDX-License-Identifier: BSD-2-Clause
"""Keys of the view."""

import re
from dataclasses import replace

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
