# SPDX-License-Identifier: BSD-2-Clause
"""Verdicts on each command that the long campaign runs (tests/long/pages.py), kept in tests/long/pages.json.

A verdict is of the words of a command, less those that change only what is written (`Command.work`). The file has a
line for each, in the order of the words, so that versions can be compared and merged.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.base.paths import ROOT
from tests.pages.ways import Command

FILE = ROOT / "tests/long/pages.json"
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
    def told(self) -> str:
        return f"{self.verdict} {self.date}".strip()


def read(path: Path = FILE) -> dict[str, Verdict]:
    data = json.loads(path.read_text()) if path.exists() else {"verdicts": []}
    return {entry.pop("command"): Verdict(**entry) for entry in data["verdicts"]}


def write(command: Command, verdict: Verdict, path: Path = FILE) -> None:
    found = read(path) | {command.work: verdict}
    lines = [json.dumps({"command": text} | {k: v for k, v in asdict(found[text]).items() if v != ""},
                        ensure_ascii=False) for text in sorted(found)]
    new = path.with_suffix(".new")
    new.write_text('{"verdicts": [\n' + ",\n".join(lines) + "\n]}\n")
    new.replace(path)
