# SPDX-License-Identifier: BSD-2-Clause
"""What one test came to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from deploy.base.paths import LOGS

TAIL = 12  # lines of a failed test's log that are shown


@dataclass(frozen=True)
class Result:
    name: str
    outcome: str  # passed, failed or skipped
    seconds: float
    detail: str = ""  # of a failure: everything it printed; of a skip, or where it passed before: why

    @property
    def log(self) -> Path:
        return LOGS / "tests" / (re.sub(r"[^A-Za-z0-9.+-]+", "-", self.name).strip("-")[:120] + ".log")

    def keep_log(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text(self.detail + "\n")

    def tail(self) -> list[str]:
        return self.detail.rstrip().splitlines()[-TAIL:]
