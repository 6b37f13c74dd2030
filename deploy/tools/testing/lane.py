# SPDX-License-Identifier: BSD-2-Clause
"""A process that runs tests for lanes.py: its own folders, then what it is given, an order a line on its input.

Arguments: the descriptor for what it says, the process that it works for, how nice components' tests are, the word of
--only, the folders.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deploy.base.process import end_with, heed_signals
from deploy.tools.testing import meson_tests, pytest_tests
from deploy.tools.testing.result import Result

report, master, nice = (int(word) for word in sys.argv[1:4])
only, *folders = sys.argv[4:]


def say(event: str, **what: Any) -> None:
    rest = json.dumps({"event": event, **what}).encode() + b"\n"
    while rest:
        rest = rest[os.write(report, rest):]


def started(name: str) -> None:
    say("start", name=name)


def ordered() -> Generator[Result, None, None]:
    while True:
        say("idle")
        line = sys.stdin.readline()
        if not line:
            return
        order = json.loads(line)
        if files := order.get("files"):
            yield from pytest_tests.run([Path(file) for file in files], only, started)
            continue
        test = meson_tests.MesonTest(**order["component"])
        started(test.name)
        yield meson_tests.run_one(test, nice)


def main() -> None:
    heed_signals()
    end_with(master, signal.SIGTERM)
    os.set_inheritable(report, False)
    for source in (pytest_tests.run([Path(word) for word in folders], only, started), ordered()):
        with closing(source) as results:  # ends what it has started
            for result in results:
                say("result", **asdict(result))


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(f"ended: {sys.exc_info()[1]!r}")
