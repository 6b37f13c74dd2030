# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts on each command that the long campaign runs (tests/long/pages.py), kept in tests/long/pages.txt.

A verdict is of the words of a command, less those that change only what is written (`Command.work`). A line of the file
has a verdict, its date and its reason, and then each command that has these, behind its seconds.
"""

from dataclasses import dataclass
from pathlib import Path

from deploy.base.paths import ROOT
from tests import verdict_file
from tests.pages.ways import Command

FILE = ROOT / "tests/long/pages.txt"
PASSED, FAILED, NOT_RUN = "passed", "FAILED", "not run"


@dataclass(frozen=True)
class Verdict:
    verdict: str
    date: str = ""    # of the run
    seconds: int = 0  # on whatever host
    why: str = ""     # it was not run

    @property
    def passed(self) -> bool:
        return self.verdict == PASSED

    @property
    def shown(self) -> str:
        return f"{self.verdict} {self.date}".strip()


def read(path: Path = FILE) -> dict[str, Verdict]:
    return {work: Verdict(verdict, date, int(seconds), why)
            for verdict, date, why, *commands in verdict_file.read(path)
            for seconds, _, work in (command.partition(" ") for command in commands)}


def write(command: Command, verdict: Verdict, path: Path = FILE) -> None:
    lines: dict[tuple[str, str, str], list[str]] = {}
    for work, one in sorted((read(path) | {command.work: verdict}).items()):
        lines.setdefault((one.verdict, one.date, one.why), []).append(f"{one.seconds} {work}")
    verdict_file.write(path, ([*key, *commands] for key, commands in sorted(lines.items())))
